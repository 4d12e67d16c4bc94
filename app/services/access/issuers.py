"""Those who let in callers beside this service's own credentials: an OpenID Connect issuer, and Cloudflare Access."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from app.domain.urls import authority_of
from app.services.access.credentials import Credentials, Principal, refused
from app.services.access.issuer_keys import IssuerKeys
from app.services.access.issuer_sign_in import IssuerSignIn
from app.services.access.issuer_tokens import IssuerTokens

ASSERTION_HEADER = "cf-access-jwt-assertion"
"""The header in which Cloudflare Access says who is calling, in lower case."""


@dataclass(frozen=True, slots=True)
class Issuers:
    """The issuers that the settings name."""

    oidc: IssuerTokens | None = None
    access: IssuerTokens | None = None
    sign_in: IssuerSignIn | None = None
    """Sign-in of people at the OpenID Connect issuer; None where the settings name no client for it."""

    async def principal(self, credentials: Credentials, headers: Callable[[str], Sequence[str]], now: int) -> Principal:
        """Return the principal of a call.

        The ``Authorization`` header counts first, where it has a credential of this service or a token of the issuer.
        What else stands in it, such as the token that Access itself took, does not count beside Access's assertion. The
        assertion counts for no request that a page of another site has a browser send.

        Raises:
            Unauthenticated: there is no credential that holds.
            Forbidden: the credential holds, but not for memories, or a token maps to no tenant.
            IssuerUnavailable: the issuer of a token does not answer, and its key is not known.
        """
        authorization = headers("authorization")
        if len(authorization) <= 1 and credentials.seen(authorization) is None:
            token = _bearer(authorization)
            if token is not None and self.oidc is not None and self.oidc.takes(token):
                return _noted(await self.oidc.verify(token, now))
            assertions = headers(ASSERTION_HEADER) if self.access is not None else ()
            if assertions and (token is None or not credentials.is_own(token)):
                if _is_of_another_site(headers):
                    raise refused("a page of another site has sent it: Access adds its assertion to that, too")
                return await self.asserted(assertions, now)
        return credentials.verify_header(authorization, now)

    async def asserted(self, assertions: Sequence[str], now: int) -> Principal:
        """Return the principal that Cloudflare Access's assertion names; raises as ``principal`` does."""
        if self.access is None or len(assertions) != 1:
            raise refused("there is not exactly one assertion of Cloudflare Access")
        return _noted(await self.access.verify(assertions[0], now))

    def all_keys(self) -> list[tuple[str, IssuerKeys]]:
        """Return the keys of each issuer, with its name for operators."""
        named = (("issuer", self.oidc), ("Cloudflare Access", self.access))
        return [(name, tokens.keys) for name, tokens in named if tokens is not None]

    def seen(self, authorization: Sequence[str]) -> Principal | None:
        """Return the principal of a header's token, which may have expired; None if it was not verified before."""
        token = _bearer(authorization)
        return None if token is None or self.oidc is None else self.oidc.seen(token)


def _noted(principal: Principal) -> Principal:
    """Name the token in the log: its subject stands there as the credential, and has many tokens."""
    structlog.contextvars.bind_contextvars(token=principal.token_id)
    return principal


def _is_of_another_site(headers: Callable[[str], Sequence[str]]) -> bool:
    """Tell whether a browser says that a page of another site made the request.

    Browsers send the first header over https, older ones the second one with whatever may change something.
    """
    if site := headers("sec-fetch-site"):
        return not {"same-origin", "none"}.issuperset(site)
    hosts = {host.lower() for host in headers("host")}
    return any(authority_of(origin) not in hosts for origin in headers("origin"))


def _bearer(authorization: Sequence[str]) -> str | None:
    scheme, _, token = "".join(authorization).partition(" ")
    return token if token and scheme.lower() == "bearer" else None
