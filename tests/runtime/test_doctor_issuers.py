"""The doctor reads what an issuer publishes, and says what is wrong with it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.runtime.doctor import Check, diagnose
from tests.support.issuer_server import DISCOVERY, IssuerServer, issuer_server
from tests.support.issuers import jwk_of
from tests.support.service import serving


@dataclass
class Doctor:
    """A service with an issuer, and the server of the issuer."""

    folder: Path
    server: IssuerServer

    async def look(self, **settings: Any) -> list[Check]:
        given: dict[str, Any] = {"oidc_issuer": self.server.url, "oidc_audience": ["memory"]} | settings
        async with serving(self.folder, **given) as service:
            return [check for check in await diagnose(service.runtime) if check.name in {"issuer", "Cloudflare Access"}]


@pytest.fixture
async def doctor(tmp_path: Path) -> AsyncIterator[Doctor]:
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(issuer_server())
        server.set(DISCOVERY, server.document())
        server.set("/keys", {"keys": [jwk_of("one"), jwk_of("two"), jwk_of("three", "EdDSA")]})
        yield Doctor(tmp_path, server)


async def test_an_issuer_that_answers_is_named_with_its_keys(doctor: Doctor) -> None:
    assert await doctor.look() == [Check("issuer", ok=True, finding=f"{doctor.server.url}, 2 keys")]


async def test_without_an_issuer_nothing_is_looked_at(doctor: Doctor) -> None:
    assert await doctor.look(oidc_issuer=None, oidc_audience=[]) == []
    assert doctor.server.asked == []


async def test_an_issuer_that_says_it_is_another_is_found(doctor: Doctor) -> None:
    doctor.server.set(DISCOVERY, doctor.server.document(issuer="https://another.example"))
    (check,) = await doctor.look()
    assert not check.ok
    assert "names another issuer than OIDC_ISSUER" in check.finding


async def test_an_issuer_that_does_not_answer_is_found(doctor: Doctor) -> None:
    doctor.server.replies.clear()
    (check,) = await doctor.look()
    assert not check.ok
    assert "answered 404" in check.finding


async def test_an_issuer_whose_keys_are_of_other_algorithms_is_found(doctor: Doctor) -> None:
    (check,) = await doctor.look(oidc_algorithms=["RS512"])
    assert not check.ok
    assert "no key of the set algorithms" in check.finding


async def test_access_is_looked_at_beside_the_issuer(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.bootstrap.issuers.certs_of", lambda team: f"{doctor.server.url}/certs/{team}")
    doctor.server.set("/certs/acme.cloudflareaccess.com", {"keys": [jwk_of("one")], "public_certs": []})
    access = {
        "cf_access_team_domain": "acme.cloudflareaccess.com",
        "cf_access_audience": ["tag"],
        "cf_access_tenants": {"*": "acme"},
    }
    issuer, team = await doctor.look(**access)
    doctor.server.set("/certs/acme.cloudflareaccess.com", {}, status=500)
    assert "Check CF_ACCESS_TEAM_DOMAIN" in (await doctor.look(**access))[1].finding
    assert (issuer.ok, team) == (
        True,
        Check("Cloudflare Access", ok=True, finding="https://acme.cloudflareaccess.com, 1 keys"),
    )
