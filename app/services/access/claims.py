"""Maps the claims of an issuer's token to a tenant, an agent and scopes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Forbidden
from app.domain.limits import is_id
from app.services.access.scopes import AccessScope

ANY = "*"
"""Stands in a table for every token."""
_EMAIL = "email"
_NAMES = (_EMAIL, "common_name")
"""The claims that name somebody: what stands between spaces in one is no name of its own."""
_RESERVED = ("memory-gateway.", "memory-gateway:")
"""What the names of the service's own tenants begin with: no claim leads into them."""
_ESCAPED = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class ClaimMapping:
    """Where the claims stand, and what their values mean here. Of several names of a claim the first that is there.

    A table has values, ``@example.com`` for e-mail addresses, and ``ANY``.
    """

    tenant: Sequence[str]
    scope: Sequence[str]
    scopes: Mapping[str, frozenset[AccessScope]]
    tenants: Mapping[str, str] | None = None
    """None: the claim's value itself is the tenant."""
    agent: Sequence[str] = ()
    """Without a name, every token is for all agents of its tenant."""
    verified_email: bool = True
    """Whether an address counts only where ``email_verified`` is true; not where the issuer has verified each."""

    def tenant_of(self, claims: Mapping[str, Any]) -> str:
        """Return the tenant; raises ``Forbidden`` unless the claim maps to exactly one."""
        name, value = _first(claims, self.tenant)
        values = _texts(value)
        if self.tenants is None:
            named = {text for text in values if is_id(text) and not text.startswith(_RESERVED)}
            named = named if len(values) == 1 else set()
        else:
            named = {tenant for text in values if (tenant := self._tenant(claims, name, text)) is not None}
            if not named and ANY in self.tenants:
                named = {self.tenants[ANY]}
        if len(named) != 1:
            several = "several tenants" if named else "no tenant"
            raise Forbidden(f"The token holds, but its claim '{name}' maps to {several} of this service.")
        return named.pop()

    def agent_of(self, claims: Mapping[str, Any]) -> str | None:
        """Return the only agent that the token is good for, or None for all; raises ``Forbidden`` where none is named.

        Characters that no agent's id may have, and colons, stand in the id as a colon and their UTF-8 bytes in
        hexadecimal digits: no two values are one agent.
        """
        if not self.agent:
            return None
        name, value = _first(claims, self.agent)
        (text, *others) = _texts(value) or [""]
        if name == _EMAIL:
            text = _lower(text) if self._is_verified(claims) else ""
        agent_id = _ESCAPED.sub(lambda match: "".join(f":{byte:02x}" for byte in match[0].encode()), text)
        if others or not is_id(agent_id):
            raise Forbidden(f"The token holds, but its claim '{name}' names no agent.")
        return agent_id

    def scopes_of(self, claims: Mapping[str, Any]) -> frozenset[AccessScope]:
        """Return what the token allows: of ``read``, ``write`` and ``admin``, possibly nothing."""
        name, value = _first(claims, self.scope)
        words = value.split(" ") if isinstance(value, str) and name not in _NAMES else _texts(value)
        keys = {ANY}.union(*(self._keys(claims, name, word) for word in words))
        return frozenset[AccessScope]().union(*(self.scopes[key] for key in keys if key in self.scopes))

    def _is_verified(self, claims: Mapping[str, Any]) -> bool:
        return not self.verified_email or claims.get("email_verified") is True

    def _tenant(self, claims: Mapping[str, Any], name: str, text: str) -> str | None:
        tenants = self.tenants or {}
        return next((tenants[key] for key in self._keys(claims, name, text) if key in tenants), None)

    def _keys(self, claims: Mapping[str, Any], name: str, text: str) -> Iterator[str]:
        """Give the keys of a table under which a value may stand, the narrowest first."""
        if name != _EMAIL:
            yield text
        elif self._is_verified(claims):
            address = _lower(text)
            yield address
            yield f"@{address.rpartition('@')[2]}"


def _lower(address: str) -> str:
    """Return an address in lower case; as it is where it has letters that are not ASCII: of some, that would be ASCII.

    The Kelvin sign is one, and its lower case the letter k: another person's address.
    """
    return address.lower() if address.isascii() else address


def _first(claims: Mapping[str, Any], names: Sequence[str]) -> tuple[str, object]:
    """Return the first claim that is there, with its name; the last name and None where none is."""
    for name in names:
        if (value := _claim(claims, name)) not in (None, ""):
            return name, value
    return names[-1], None


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """Return a claim of this name or, where there is none, what its dots lead to."""
    if name in claims:
        return claims[name]
    value: object = claims
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _texts(value: object) -> list[str]:
    """Return the texts of a claim, which has one or a list of them; nothing where it has anything else."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)] if all(isinstance(v, str) for v in values) else []
