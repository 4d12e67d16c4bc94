"""How many requests a credential may make in a minute: by its own claim, else by the settings, over every interface."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import QuotaExceeded
from app.services.access.scopes import EVERY_SCOPE, CredentialWanted
from app.services.turns.admission import CredentialRates
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving
from tests.support.tokens import CLAIMS, sign

MINUTE = 60_000


def admitted(rates: CredentialRates, *credentials: str, own: int | None = None, now: int = MINUTE) -> list[str]:
    told = []
    for credential in credentials:
        try:
            rates.admit("acme", credential, own, now)
            told.append("")
        except QuotaExceeded as error:
            told.append(f"{error.reached} {error.retry_after}")
    return told


def test_a_credential_may_make_so_many_requests_in_a_minute_and_others_still_may() -> None:
    rates = CredentialRates(2)
    reached = "requests_per_minute;scope=credential;used=2;limit=2 60"
    assert admitted(rates, "a", "a", "a", "b") == ["", "", reached, ""]
    assert admitted(rates, "a", now=2 * MINUTE - 1) == [reached.replace(" 60", " 1")]
    assert admitted(rates, "a", now=2 * MINUTE) == [""]


def test_its_own_limit_holds_in_the_place_of_the_settings() -> None:
    rates = CredentialRates(1)
    assert [bool(told) for told in admitted(rates, *"aaaa", own=3)] == [False, False, False, True]
    assert [bool(told) for told in admitted(CredentialRates(), *"aa", own=1)] == [False, True]
    assert admitted(CredentialRates(), *"a" * 50) == [""] * 50


def test_credentials_of_two_tenants_with_one_id_are_counted_apart() -> None:
    rates = CredentialRates(1)
    rates.admit("acme", "a", None, MINUTE)
    rates.admit("globex", "a", None, MINUTE)
    with pytest.raises(QuotaExceeded):
        rates.admit("globex", "a", None, MINUTE)


def bearer(service: Service, **wanted: Any) -> dict[str, str]:
    token, _ = service.runtime.credentials.mint("acme", CredentialWanted(**wanted), service.runtime.backends.clock())
    return {"Authorization": f"Bearer {token}"}


async def over_http(service: Service, headers: dict[str, str]) -> httpx.Response:
    return await service.client.post("/recall", json={"agent_id": "bot", "query": "tea"}, headers=headers)


async def listing_tools(service: Service, headers: dict[str, str]) -> httpx.Response:
    return await service.client.get("/tools", headers=headers)


async def over_mcp(service: Service, headers: dict[str, str]) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json", "X-Agent-Id": "bot"}
    return await service.client.post("/mcp", json=message, headers=headers | accept)


async def as_agent_memory(service: Service, headers: dict[str, str]) -> httpx.Response:
    return await service.client.get("/client/v4/accounts/a/agent-memory/namespaces", headers=headers)


@pytest.mark.parametrize("ask", [over_http, listing_tools, over_mcp, as_agent_memory])
async def test_a_request_over_the_limit_is_answered_429_with_when_to_come_again(
    tmp_path: Path, ask: Callable[[Service, dict[str, str]], Any]
) -> None:
    async with serving(tmp_path, credential_requests_per_minute=2) as service:
        one, other = bearer(service, scopes=EVERY_SCOPE), bearer(service, scopes=EVERY_SCOPE)
        assert [(await ask(service, one)).status_code for _ in range(2)] == [200, 200]
        answer = await ask(service, one)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "2 requests that it may make in a minute" in answer.text
        assert (await ask(service, other)).status_code == 200
        service.later(60)
        assert (await ask(service, one)).status_code == 200


async def test_a_request_over_the_limit_is_refused_before_anything_else_is_looked_at(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        headers = bearer(service, requests_per_minute=1) | {"Content-Type": "application/json"}
        await over_http(service, headers)
        problem = assert_problem(
            await service.client.post("/store", content=b"{", headers=headers), 429, "quota_exceeded"
        )
        assert problem["advice"].startswith("Wait ")
        assert "quota-warning" in (await over_http(service, headers)).headers


@pytest.mark.parametrize("requests", [0, -1, True, "5", 1.5, [5]])
async def test_a_claim_that_is_no_number_of_requests_does_not_hold(tmp_path: Path, requests: Any) -> None:
    async with serving(tmp_path) as service:
        headers = {"Authorization": f"Bearer {sign(CLAIMS | {'requests_per_minute': requests})}"}
        assert_problem(await over_http(service, headers), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("own", "usual", "minted"), [(9, None, 9), (9, 10, 9), (10, 10, None), (50, 10, None), (None, 10, None)]
)
async def test_a_new_credential_has_the_rate_of_the_settings_unless_that_of_its_minter_is_lower(
    tmp_path: Path, own: int | None, usual: int | None, minted: int | None
) -> None:
    async with serving(tmp_path, credential_requests_per_minute=usual) as service:
        headers = bearer(service, scopes=EVERY_SCOPE, requests_per_minute=own)
        answer = await service.client.post("/credentials", json={}, headers=headers)
        assert answer.json()["credential"].get("requests_per_minute") == minted


async def test_a_new_credential_may_not_ask_more_often_than_the_settings_let_the_one_that_mints_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, credential_requests_per_minute=100) as service:
        headers = service.credential(admin=True)
        for requests, status in ((100, 201), (101, 403), (None, 201)):
            body = {} if requests is None else {"requests_per_minute": requests}
            assert (await service.client.post("/credentials", json=body, headers=headers)).status_code == status
