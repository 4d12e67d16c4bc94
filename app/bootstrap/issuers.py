"""Builds those who let in callers beside this service's own credentials."""

from collections.abc import Mapping

from app.adapters.http.issuer import HttpIssuer
from app.bootstrap.account import Close
from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.services.access.claims import ANY, ClaimMapping
from app.services.access.delegation import Delegation
from app.services.access.issuer_keys import IssuerKeys
from app.services.access.issuer_sign_in import IssuerSignIn
from app.services.access.issuer_tokens import IssuerTokens
from app.services.access.issuers import Issuers
from app.services.access.scopes import ACCESS_SCOPES, AccessScope
from app.settings import Settings

_ALGORITHMS = ("RS256", "ES256")
_ACCESS_ALGORITHMS = ("RS256", "ES256")
_SCOPES = {"memory:read": "read", "memory:write": "write", "memory:admin": "admin"}
_ACCESS_SCOPES = {ANY: "read+write"}
_ACCESS_NAMES = ("email", "common_name")
"""The claims that name a person, and a service token (https://developers.cloudflare.com/cloudflare-one/)."""
_SCOPE_CLAIMS = {"scope", "scp"}
"""Claims whose values a client can ask for; another one has roles."""


def build_issuers(settings: Settings, metrics: Metrics, closers: list[Close]) -> Issuers | None:
    """Choose the issuers; None where the settings name none. What closes them is added to ``closers``.

    Raises:
        ConfigurationError: a setting that an issuer needs is missing, or two of them contradict each other.
    """
    _check(settings)
    oidc = None if settings.oidc_issuer is None else _oidc(settings, settings.oidc_issuer, metrics)
    team = settings.cf_access_team_domain
    access = None if team is None else _access(settings, team, metrics)
    closers.extend(tokens.keys.close for tokens in (oidc, access) if tokens is not None)
    if oidc is None and access is None:
        return None
    return Issuers(oidc, access, None if oidc is None else _sign_in(settings, oidc))


def build_delegation(settings: Settings) -> Delegation:
    """Return what callers without a credential are told of the public URL and of the issuer.

    Without a public URL they are told of no issuer: a client could not check that it asks for this service's tokens.
    """
    url = None if settings.public_url is None else settings.public_url.rstrip("/")
    if url is None or settings.oidc_issuer is None:
        return Delegation(url)
    words: dict[AccessScope, str] = {}
    if settings.oidc_scope_claim in _SCOPE_CLAIMS:
        for value, scopes in sorted(_scopes(settings.oidc_scopes or _SCOPES).items(), key=lambda item: len(item[1])):
            if value != ANY:
                words = dict.fromkeys(scopes, value) | words
    return Delegation(url, settings.oidc_issuer, words)


def certs_of(team: str) -> str:
    """Return where a team domain of Cloudflare Access publishes its keys."""
    return f"https://{team}/cdn-cgi/access/certs"


def _check(settings: Settings) -> None:
    needs: Mapping[str, Mapping[str, object]] = {
        "OIDC_ISSUER": {"OIDC_AUDIENCE, or PUBLIC_URL": settings.audiences} if settings.oidc_issuer else {},
        "OIDC_AUDIENCE": {"OIDC_ISSUER": settings.oidc_issuer} if settings.oidc_audience else {},
        "OIDC_CLIENT_ID": {"OIDC_ISSUER": settings.oidc_issuer, "PUBLIC_URL": settings.public_url}
        if settings.oidc_client_id
        else {},
        "CF_ACCESS_TEAM_DOMAIN": {
            "CF_ACCESS_AUDIENCE": settings.cf_access_audience,
            "CF_ACCESS_TENANTS": settings.cf_access_tenants,
        }
        if settings.cf_access_team_domain
        else {},
        "CF_ACCESS_AUDIENCE": {"CF_ACCESS_TEAM_DOMAIN": settings.cf_access_team_domain}
        if settings.cf_access_audience
        else {},
    }
    for name, needed in needs.items():
        for lacking, value in needed.items():
            if not value:
                raise ConfigurationError(f"{name} is set, and needs {lacking}, which is not set.")
    if settings.oidc_client_id in settings.oidc_audience:
        raise ConfigurationError(
            "OIDC_AUDIENCE names OIDC_CLIENT_ID: the ID tokens of that client would be taken for access tokens. Give "
            "the console a client of its own."
        )


def _oidc(settings: Settings, url: str, metrics: Metrics) -> IssuerTokens:
    algorithms = settings.oidc_algorithms or _ALGORITHMS
    mapping = ClaimMapping(
        tenant=(settings.oidc_tenant_claim,),
        tenants=_lower(settings.oidc_tenants) or None,
        agent=() if settings.oidc_agent_claim is None else (settings.oidc_agent_claim,),
        scope=(settings.oidc_scope_claim,),
        scopes=_scopes(settings.oidc_scopes or _SCOPES),
    )
    keys = IssuerKeys(HttpIssuer(url, metrics), algorithms, max_age_seconds=settings.oidc_keys_seconds)
    return IssuerTokens(
        keys,
        mapping,
        audiences=settings.audiences,
        algorithms=algorithms,
        skew_seconds=settings.oidc_clock_skew_seconds,
    )


def _access(settings: Settings, team: str, metrics: Metrics) -> IssuerTokens:
    url = f"https://{team}"
    mapping = ClaimMapping(
        tenant=_ACCESS_NAMES,
        tenants=_lower(settings.cf_access_tenants),
        agent=_ACCESS_NAMES if settings.cf_access_own_agents else (),
        scope=_ACCESS_NAMES,
        scopes=_scopes(settings.cf_access_scopes or _ACCESS_SCOPES),
        verified_email=False,
    )
    issuer = HttpIssuer(url, metrics, keys_url=certs_of(team))
    return IssuerTokens(
        IssuerKeys(issuer, _ACCESS_ALGORITHMS, max_age_seconds=settings.oidc_keys_seconds),
        mapping,
        audiences=settings.cf_access_audience,
        algorithms=_ACCESS_ALGORITHMS,
        skew_seconds=settings.oidc_clock_skew_seconds,
        kind="access",
    )


def _sign_in(settings: Settings, tokens: IssuerTokens) -> IssuerSignIn | None:
    if settings.oidc_client_id is None or settings.public_url is None:
        return None
    every = [value for value in (settings.oidc_scopes or _SCOPES) if value != ANY]
    return IssuerSignIn(
        tokens,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        public_url=settings.public_url,
        scopes=" ".join(every) if settings.oidc_scope_claim in _SCOPE_CLAIMS else "",
    )


def _lower(table: Mapping[str, str]) -> dict[str, str]:
    """Return a table whose e-mail addresses are in lower case, as they are looked up."""
    return {key.lower() if "@" in key else key: value for key, value in table.items()}


def _scopes(table: Mapping[str, str]) -> dict[str, frozenset[AccessScope]]:
    names = {key: scopes.split("+") for key, scopes in _lower(table).items()}
    return {key: frozenset(scope for scope in ACCESS_SCOPES if scope in given) for key, given in names.items()}
