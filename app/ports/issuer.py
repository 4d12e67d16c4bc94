"""An issuer of tokens: its public keys, and where people sign in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

MAX_KEYS = 64
"""Keys that an issuer may publish: more are refused as a whole."""
MAX_DOCUMENT_BYTES = 256 * 1024
"""Bytes of a document of an issuer: a longer one is not read to its end."""
READ_SECONDS = 5.0
"""How long an issuer has for each document."""

Jwk = Mapping[str, Any]
"""A key as the issuer publishes it (RFC 7517)."""


@dataclass(frozen=True, slots=True)
class IssuerDocument:
    """The part of what an issuer publishes about itself that this service reads."""

    keys: Sequence[Jwk]
    authorization_endpoint: str | None = None
    """The URL where a person signs in; None where the issuer has no such page for this service."""
    token_endpoint: str | None = None
    """The URL where a code is redeemed."""
    takes_basic: bool = True
    """Whether the token endpoint takes a client's secret as HTTP Basic; else it takes it in the form."""


@dataclass(frozen=True, slots=True)
class CodeGrant:
    """A code of the issuer, and what proves that this service asked for it (RFC 6749, RFC 7636)."""

    code: str
    redirect_uri: str
    verifier: str
    client_id: str
    client_secret: str | None = None


class CodeRefused(Exception):
    """The issuer does not redeem the code: it is wrong, used or too old."""


class Issuer(Protocol):
    """Reads what one issuer publishes. It keeps nothing: ``app.services.access.issuer_keys`` does."""

    @property
    def url(self) -> str:
        """The issuer as its tokens name it in ``iss``."""
        ...

    async def read(self) -> IssuerDocument:
        """Read the issuer's document and its keys anew.

        Redirects are not followed, and no URL is called but over https or on this machine.

        Raises:
            Unavailable: the issuer does not answer in time, or its answer is too long, is not understood, names another
                issuer, or holds more than ``MAX_KEYS`` keys.
        """
        ...

    async def redeem(self, document: IssuerDocument, grant: CodeGrant) -> Mapping[str, Any]:
        """Redeem a code once, and return the token endpoint's answer.

        Raises:
            CodeRefused: the issuer refuses the code or the client.
            Unavailable: the issuer does not answer in time, or its answer is not understood.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
