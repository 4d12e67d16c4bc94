"""Settings of sign-in by others: an OpenID Connect issuer, Cloudflare Access, and the public URL of this service."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_validator
from pydantic_settings import NoDecode

from app.domain.limits import is_id
from app.domain.urls import is_secure
from app.settings.forms import PRINTABLE, BaseUrl, Key

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""An algorithm with a public key. A secret that the service and the issuer share is never taken for a key."""
SCOPES = frozenset({"read", "write", "admin"})
"""What a principal may do."""
_TEAM_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.cloudflareaccess\.com")
_MOST = 1000
"""Entries of one table of a setting."""


def _secure(url: str) -> str:
    if not is_secure(url):
        raise ValueError("must be https, or http on this machine alone")
    return url


def _read_list(value: object) -> object:
    """Read ``value,value``."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _read_table(value: object) -> object:
    """Read ``value=name,value=name``; the last equals sign of a part separates."""
    if not isinstance(value, str):
        return value
    pairs = [part.strip().rpartition("=") for part in value.split(",") if part.strip()]
    table = {key.strip(): name.strip() for key, _, name in pairs}
    if "" in table or len(table) < len(pairs):
        raise ValueError("write each value once, as value=name")
    return table


def _check_tenants(value: dict[str, str]) -> dict[str, str]:
    if len(value) > _MOST:
        raise ValueError(f"has more than {_MOST} entries")
    for number, tenant_id in enumerate(value.values(), 1):
        if not is_id(tenant_id):
            raise ValueError(f"entry {number}: a tenant is 1 to 64 of A-Z a-z 0-9 . _ : -")
    return value


def _check_scopes(value: dict[str, str]) -> dict[str, str]:
    if len(value) > _MOST:
        raise ValueError(f"has more than {_MOST} entries")
    for number, scopes in enumerate(value.values(), 1):
        if not scopes or not SCOPES.issuperset(scopes.split("+")):
            raise ValueError(f"entry {number}: write read, write, admin, or several of them with + between")
    return value


SecureUrl = Annotated[BaseUrl, AfterValidator(_secure)]
Values = Annotated[list[str], NoDecode, BeforeValidator(_read_list)]
TenantTable = Annotated[dict[str, str], NoDecode, BeforeValidator(_read_table), AfterValidator(_check_tenants)]
ScopeTable = Annotated[dict[str, str], NoDecode, BeforeValidator(_read_table), AfterValidator(_check_scopes)]
ClaimName = Annotated[str, Field(min_length=1, max_length=200)]


class IssuerSettings(BaseModel):
    """Settings of sign-in by others: an OpenID Connect issuer, Cloudflare Access, and this service's public URL."""

    public_url: SecureUrl | None = Field(
        None,
        description=(
            "URL under which callers reach this service, https or on this machine. It is announced to MCP clients, and "
            "sign-in comes back to it; without it neither is done, since a Host header is its sender's word."
        ),
    )
    oidc_issuer: SecureUrl | None = Field(
        None,
        description=(
            "The OpenID Connect issuer whose tokens are taken beside this service's own credentials, as its tokens "
            "write it in `iss` (docs/sign-in.md)."
        ),
    )
    oidc_audience: Values = Field(
        default_factory=list,
        description=(
            "What `aud` of a token has to name, values separated by commas, one of which is enough. Empty: PUBLIC_URL "
            "and PUBLIC_URL with `/mcp`."
        ),
    )
    oidc_tenant_claim: ClaimName = Field(
        "tenant",
        description=(
            "The claim that names the tenant. Dots lead into objects, where no claim has the whole name; so too in the "
            "other names of claims."
        ),
    )
    oidc_tenants: TenantTable = Field(
        default_factory=dict,
        description=(
            "Tenants by the values of that claim, `value=tenant` separated by commas; `@example.com` is for verified "
            "e-mail addresses, `*` for every other value, and none. Empty: the value itself is the tenant."
        ),
    )
    oidc_agent_claim: ClaimName | None = Field(
        None,
        description=(
            "The claim that names the only agent that a token is good for, such as `sub`. Not set: tokens are for all "
            "agents of the tenant."
        ),
    )
    oidc_scope_claim: ClaimName = Field(
        "scope", description="The claim that has the scopes: words with spaces between, or a list, such as of roles."
    )
    oidc_scopes: ScopeTable = Field(
        default_factory=dict,
        description=(
            "What the values of that claim allow, `value=read+write+admin` separated by commas; `*` is for every "
            "token. Empty: `memory:read=read,memory:write=write,memory:admin=admin`."
        ),
    )
    oidc_algorithms: Annotated[list[Algorithm], NoDecode, BeforeValidator(_read_list)] = Field(
        default_factory=list,
        description=(
            "Algorithms that sign tokens, separated by commas: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, "
            "ES512, EdDSA. Empty: RS256 and ES256."
        ),
    )
    oidc_clock_skew_seconds: Annotated[int, Field(ge=0, le=300)] = Field(
        60, description="How far the issuer's clock may be from this machine's, at most 300."
    )
    oidc_keys_seconds: Annotated[int, Field(ge=600, le=7 * 24 * 3600)] = Field(
        24 * 3600,
        description=(
            "How long known keys of an issuer, or of Cloudflare Access, hold while it does not answer, from 600 to "
            "604800; then its tokens get 503."
        ),
    )
    oidc_client_id: str | None = Field(
        None, description="The issuer's client for people who sign in to the console; it needs PUBLIC_URL."
    )
    oidc_client_secret: Key = Field(None, description="Secret of that client, where it is no public one.", repr=False)
    cf_access_team_domain: str | None = Field(
        None,
        description=(
            "Team domain of Cloudflare Access, `<team>.cloudflareaccess.com`: its header `Cf-Access-Jwt-Assertion` is "
            "taken (docs/sign-in.md)."
        ),
    )
    cf_access_audience: Values = Field(
        default_factory=list,
        description="Application audience (AUD) tags of the Access applications in front, separated by commas.",
    )
    cf_access_tenants: TenantTable = Field(
        default_factory=dict,
        description=(
            "Tenants by e-mail address or by a service token's Client ID, `value=tenant` separated by commas; "
            "`@example.com` is for addresses, `*` for everybody else whom Access lets in."
        ),
    )
    cf_access_scopes: ScopeTable = Field(
        default_factory=dict,
        description=(
            "What they may do, `value=read+write+admin` separated by commas, with the same values. What several values "
            "allow adds up. Empty: `*=read+write`."
        ),
    )
    cf_access_own_agents: bool = Field(
        default=False,
        description=(
            "Whether each person, and each service token, is an agent alone; else they reach all agents of the tenant."
        ),
    )

    @field_validator("oidc_audience", "cf_access_audience")
    @classmethod
    def _check_audience(cls, value: list[str]) -> list[str]:
        if not all(PRINTABLE.fullmatch(audience) for audience in value):
            raise ValueError("each must be printable ASCII without spaces")
        return value

    @field_validator("oidc_client_id")
    @classmethod
    def _check_client_id(cls, value: str | None) -> str | None:
        client_id = (value or "").strip()
        if client_id and not PRINTABLE.fullmatch(client_id):
            raise ValueError("must be printable ASCII without spaces")
        return client_id or None

    @field_validator("cf_access_team_domain")
    @classmethod
    def _check_team_domain(cls, value: str | None) -> str | None:
        """Take the domain with or without its scheme."""
        domain = (value or "").strip().lower().removeprefix("https://").rstrip("/")
        if domain and not _TEAM_DOMAIN.fullmatch(domain):
            raise ValueError("must be <team>.cloudflareaccess.com")
        return domain or None

    @property
    def audiences(self) -> list[str]:
        """What a token of the issuer may name as its audience."""
        if self.oidc_audience or self.public_url is None:
            return self.oidc_audience
        base = self.public_url.rstrip("/")
        return [base, f"{base}/mcp"]
