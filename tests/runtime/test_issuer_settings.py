"""What the settings of issuers come to: the verifiers, what callers are told, and settings that need each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap.issuers import build_delegation, build_issuers, certs_of
from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.settings import load_settings
from tests.support.service import settings_for

URL = "https://issuer.example/realms/a"
ISSUER = {"OIDC_ISSUER": URL, "OIDC_AUDIENCE": "memory"}
HERE = "https://a.example"
TEAM = {
    "CF_ACCESS_TEAM_DOMAIN": "acme.cloudflareaccess.com",
    "CF_ACCESS_AUDIENCE": "tag",
    "CF_ACCESS_TENANTS": "*=acme",
}


def issuers_of(monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str]) -> Any:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return build_issuers(load_settings(), Metrics(), [])


def test_without_settings_there_are_no_issuers(tmp_path: Path) -> None:
    assert build_issuers(settings_for(tmp_path), Metrics(), []) is None


def test_each_issuer_has_what_its_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    further = {"PUBLIC_URL": f"{HERE}/", "OIDC_CLIENT_ID": "console", "OIDC_SCOPES": "reader=read,boss=read+admin"}
    issuers = issuers_of(monkeypatch, ISSUER | TEAM | further)
    assert issuers.oidc.keys.issuer.url == URL
    assert issuers.access.keys.issuer.url == "https://acme.cloudflareaccess.com"
    assert issuers.oidc.mapping.scopes == {"reader": {"read"}, "boss": {"read", "admin"}}
    assert issuers.oidc.mapping.tenants is None
    assert issuers.access.mapping.tenants == {"*": "acme"}
    assert issuers.sign_in is not None


def test_access_has_its_keys_where_cloudflare_puts_them() -> None:
    assert certs_of("acme.cloudflareaccess.com") == "https://acme.cloudflareaccess.com/cdn-cgi/access/certs"


def test_a_team_domain_may_be_written_as_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    issuers = issuers_of(monkeypatch, TEAM | {"CF_ACCESS_TEAM_DOMAIN": "https://Acme.cloudflareaccess.com/"})
    assert issuers.access.keys.issuer.url == "https://acme.cloudflareaccess.com"


def test_the_audience_is_the_public_url_where_none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_ISSUER", URL)
    monkeypatch.setenv("PUBLIC_URL", f"{HERE}/")
    assert load_settings().audiences == [HERE, f"{HERE}/mcp"]
    monkeypatch.setenv("OIDC_AUDIENCE", "one, two")
    assert load_settings().audiences == ["one", "two"]


USUAL = {"read": "memory:read", "write": "memory:write", "admin": "memory:admin"}
SCOPES = {"OIDC_SCOPES": "all=read+write+admin,look=read,*=read"}
ROLES = {"OIDC_SCOPE_CLAIM": "realm_access.roles"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, (None, None, {})),
        (ISSUER, (None, None, {})),
        ({"PUBLIC_URL": f"{HERE}/"}, (HERE, None, {})),
        (ISSUER | {"PUBLIC_URL": HERE}, (HERE, URL, USUAL)),
        (ISSUER | {"PUBLIC_URL": HERE} | SCOPES, (HERE, URL, {"read": "look", "write": "all", "admin": "all"})),
        (ISSUER | {"PUBLIC_URL": HERE} | ROLES, (HERE, URL, {})),
    ],
    ids=range(6),
)
def test_callers_are_told_of_the_issuer_only_beside_a_public_url(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str], told: Any
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    delegation = build_delegation(load_settings())
    assert (delegation.public_url, delegation.issuer, delegation.words) == told


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"OIDC_ISSUER": URL}, "OIDC_ISSUER is set, and needs OIDC_AUDIENCE, or PUBLIC_URL, which is not set"),
        ({"OIDC_AUDIENCE": "memory"}, "OIDC_AUDIENCE is set, and needs OIDC_ISSUER, which is not set"),
        (ISSUER | {"OIDC_CLIENT_ID": "console"}, "OIDC_CLIENT_ID is set, and needs PUBLIC_URL, which is not set"),
        ({"OIDC_CLIENT_ID": "console"}, "OIDC_CLIENT_ID is set, and needs OIDC_ISSUER, which is not set"),
        (
            ISSUER | {"OIDC_CLIENT_ID": "memory", "PUBLIC_URL": HERE},
            "OIDC_AUDIENCE names OIDC_CLIENT_ID: the ID",
        ),
        *((TEAM | {name: ""}, f"needs {name}, which") for name in ("CF_ACCESS_AUDIENCE", "CF_ACCESS_TENANTS")),
        (TEAM | {"CF_ACCESS_TEAM_DOMAIN": ""}, "CF_ACCESS_AUDIENCE is set, and needs CF_ACCESS_TEAM_DOMAIN, which"),
    ],
    ids=range(8),
)
def test_settings_that_need_each_other_are_named(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str], said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        issuers_of(monkeypatch, settings)
    assert said in refused.value.detail


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *(("OIDC_ISSUER", url, "https") for url in ("http://a.example", "a.example", "ftp://a", "https://a?b=c")),
        *(("PUBLIC_URL", url, "http") for url in ("http://a.example", "https://user@a.example", "https://a#b")),
        *(("OIDC_ALGORITHMS", name, "must be") for name in ("HS256", "none", "RS256,HS512", "rs256")),
        ("OIDC_TENANTS", "acme", "as value=name"),
        ("OIDC_TENANTS", "a=x,a=y", "as value=name"),
        ("OIDC_TENANTS", "a=x/y", "entry 1: a tenant is 1 to 64"),
        ("OIDC_SCOPES", "a=everything", "entry 1: write read, write, admin"),
        ("OIDC_SCOPES", "a=", "entry 1"),
        ("OIDC_AUDIENCE", "a b", "printable ASCII without spaces"),
        ("OIDC_CLOCK_SKEW_SECONDS", "301", "at most 300"),
        ("OIDC_KEYS_SECONDS", "599", "at least 600"),
        ("OIDC_CLIENT_ID", "a b", "printable ASCII without spaces"),
        *(("CF_ACCESS_TEAM_DOMAIN", team, "must be <team>") for team in ("acme", "a.cloudflareaccess.com.example")),
    ],
)
def test_a_setting_of_an_issuer_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as refused:
        load_settings()
    assert refused.value.detail.startswith(name)
    assert said in refused.value.detail


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://127.0.0.1:1/realms/a", "http://[::1]", URL])
def test_an_issuer_on_this_machine_needs_no_https(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OIDC_ISSUER", url)
    assert load_settings().oidc_issuer == url


def test_a_secret_of_the_client_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_CLIENT_SECRET", "very-secret")
    assert "very-secret" not in repr(load_settings())
