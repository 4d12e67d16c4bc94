"""The register of credentials over HTTP: what is listed, minted and revoked, and by whom."""

from typing import Any

import httpx
import pytest

from app.domain import limits
from app.runtime.credential_uses import write_uses
from app.services.access.revocations import USE_MS
from app.services.access.scopes import EVERY_SCOPE, CredentialWanted
from tests.support.problem_shape import assert_problem
from tests.support.service import Service
from tests.support.tables import insert_rows, rows_of

UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
DAY = 24 * 3600


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def mint(service: Service, headers: dict[str, str] | None = None, **wanted: Any) -> httpx.Response:
    return await service.client.post("/credentials", json=wanted, headers=headers or service.credential(admin=True))


async def minted(service: Service, **wanted: Any) -> dict[str, Any]:
    answer = await mint(service, **wanted)
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def listed(service: Service, tenant: str = "acme", **asked: Any) -> list[dict[str, Any]]:
    """All credentials that a listing gives, page by page; the uses of credentials until now are written before."""
    await write_uses(service.runtime.backends)
    found: list[dict[str, Any]] = []
    headers, cursor = service.credential(tenant, admin=True), ""
    while True:
        answer = await service.client.get("/credentials", params={**asked, "cursor": cursor}, headers=headers)
        assert answer.status_code == 200, answer.text
        found += answer.json()["credentials"]
        cursor = answer.json().get("cursor", "")
        if not cursor:
            return found


def operator(service: Service, **wanted: Any) -> dict[str, str]:
    """An administrator's credential as an operator mints it, narrower in some respect."""
    wanted = {"scopes": EVERY_SCOPE, **wanted}
    token, _ = service.runtime.credentials.mint("acme", CredentialWanted(**wanted), service.runtime.backends.clock())
    return bearer(token)


async def test_a_minted_credential_does_what_was_asked_and_is_listed_without_its_token(service: Service) -> None:
    await service.store("Ann drinks tea.")
    wanted: dict[str, Any] = {"agent_id": "bot", "scopes": ["read"], "speakers": ["Ann"], "ttl_seconds": 3600}
    answer = await mint(service, **wanted, requests_per_minute=100)
    told, token = answer.json()["credential"], answer.json()["token"]
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    memories = await service.client.get("/memories", headers=bearer(token))
    assert [memory["content"] for memory in memories.json()["memories"]] == ["Ann drinks tea."]
    assert_problem(
        await service.client.post("/store", json={"agent_id": "bot", "content": "x"}, headers=bearer(token)),
        *(403, "forbidden"),
    )
    (found,) = [each for each in await listed(service) if each["id"] == told["id"]]
    used = found.pop("last_used_at")
    assert found == told
    assert used >= told["minted_at"]
    assert {name: told[name] for name in ("agent_id", "scopes", "speakers", "requests_per_minute", "channel")} == {
        "agent_id": "bot",
        "scopes": ["read"],
        "speakers": ["ann"],
        "requests_per_minute": 100,
        "channel": "http",
    }
    rows = await rows_of(service.runtime, "credential")
    assert rows
    assert all(token.rpartition(".")[2] not in str(row) for row in rows)


async def test_a_credential_holds_as_long_as_was_asked(service: Service) -> None:
    body = await minted(service, ttl_seconds=60)
    service.later(59)
    assert (await service.client.get("/tools", headers=bearer(body["token"]))).status_code == 200
    service.later(1)
    assert_problem(await service.client.get("/tools", headers=bearer(body["token"])), 401, "unauthenticated")
    (found,) = [each for each in await listed(service) if each["id"] == body["credential"]["id"]]
    assert found["expires_at"] == body["credential"]["expires_at"]


async def test_a_credential_without_further_words_reads_and_writes_for_all_agents_for_90_days(service: Service) -> None:
    told = (await minted(service))["credential"]
    assert (told["scopes"], "agent_id" in told, "speakers" in told) == (["read", "write"], False, False)
    assert told["expires_at"] > told["minted_at"]
    service.later(90 * DAY - 60)
    service.later(120)
    assert told["expires_at"] < (await minted(service))["credential"]["minted_at"]


@pytest.mark.parametrize(
    ("by", "wanted", "said"),
    [
        ({"speakers": ["Ann"]}, {"speakers": ["Ben"]}, "speakers"),
        ({"speakers": ["Ann"]}, {"speakers": ["Ann", "system"]}, "speakers"),
        ({"requests_per_minute": 9}, {"requests_per_minute": 10}, "requests_per_minute"),
        ({"agent_id": "bot"}, {}, "one agent alone"),
        ({"agent_id": "bot"}, {"agent_id": "bot"}, "one agent alone"),
        ({"scopes": ["read", "write"]}, {"scopes": ["read"]}, "memory admin"),
    ],
)
async def test_nobody_mints_what_reaches_further_than_the_own_credential(
    service: Service, by: dict[str, Any], wanted: dict[str, Any], said: str
) -> None:
    problem = assert_problem(await mint(service, operator(service, **by), **wanted), 403, "forbidden")
    assert said in problem["detail"]
    assert [each for each in await listed(service) if each.get("channel") == "http"] == []


async def test_the_limits_of_the_own_credential_pass_on_to_what_it_mints(service: Service) -> None:
    headers = operator(service, speakers=["Ann", "Ben"], requests_per_minute=50)
    told = (await mint(service, headers)).json()["credential"]
    assert (told["speakers"], told["requests_per_minute"]) == (["ann", "ben"], 50)
    told = (await mint(service, headers, speakers=[" ANN"], requests_per_minute=5)).json()["credential"]
    assert (told["speakers"], told["requests_per_minute"]) == (["ann"], 5)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["delete"]}, "scopes.0"),
        ({"scopes": "read"}, "scopes"),
        ({"scopes": ["read"] * 4}, "scopes"),
        ({"agent_id": "a/b"}, "agent_id"),
        ({"agent_id": "a" * 65}, "agent_id"),
        ({"speakers": []}, "speakers"),
        ({"speakers": ["x"] * 21}, "speakers"),
        ({"speakers": ["x" * 101]}, "speakers.0"),
        ({"ttl_seconds": 59}, "ttl_seconds"),
        ({"ttl_seconds": 366 * DAY + 1}, "ttl_seconds"),
        ({"ttl_seconds": "60"}, "ttl_seconds"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"requests_per_minute": 10**9}, "requests_per_minute"),
        ({"tenant": "globex"}, "tenant"),
        ({"id": UNKNOWN}, "id"),
    ],
)
async def test_a_field_that_is_out_of_bounds_is_named(
    shared_service: Service, wanted: dict[str, Any], field: str
) -> None:
    problem = assert_problem(await mint(shared_service, **wanted), 422, "invalid_request")
    assert [error["field"] for error in problem["errors"]] == [field]


async def test_a_revoked_credential_is_refused_at_once_and_listed_as_revoked(service: Service) -> None:
    body = await minted(service)
    id_, headers = body["credential"]["id"], service.credential(admin=True)
    assert (await service.client.get("/tools", headers=bearer(body["token"]))).status_code == 200
    answer = await service.client.delete(f"/credentials/{id_}", headers=headers)
    revoked = answer.json()
    assert (answer.status_code, revoked["id"], revoked["recorded"]) == (200, id_, True)
    assert_problem(await service.client.get("/tools", headers=bearer(body["token"])), 401, "unauthenticated")
    assert (await service.client.delete(f"/credentials/{id_}", headers=headers)).json() == revoked
    (found,) = [each for each in await listed(service) if each["id"] == id_]
    assert found["revoked_at"] == revoked["revoked_at"]


async def test_a_credential_that_nobody_knows_is_revoked_all_the_same(service: Service) -> None:
    token, principal = service.runtime.credentials.mint("acme", CredentialWanted(), service.runtime.backends.clock())
    answer = await service.client.delete(
        f"/credentials/{principal.credential_id}", headers=service.credential(admin=True)
    )
    assert (answer.status_code, answer.json()["recorded"]) == (200, False)
    assert_problem(await service.client.get("/tools", headers=bearer(token)), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("id_", "status"), [("a" * 64, 200), ("a" * 65, 422), ("a%2Fb", 404), ("%00", 422), ("é", 422)]
)
async def test_an_id_of_odd_form_is_refused(shared_service: Service, id_: str, status: int) -> None:
    answer = await shared_service.client.delete(f"/credentials/{id_}", headers=shared_service.credential(admin=True))
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"agent_id": "a" * 10_000}, "agent_id"),
        ({"minted_by": "a" * 10_000}, "minted_by"),
        ({"minted_by": "a\x00b"}, "minted_by"),
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"tenant": "globex"}, "tenant"),
    ],
)
async def test_a_listing_that_asks_for_what_cannot_be_names_the_field(
    shared_service: Service, asked: dict[str, str], field: str
) -> None:
    headers = shared_service.credential(admin=True)
    answer = await shared_service.client.get("/credentials", params=asked, headers=headers)
    assert [error["field"] for error in assert_problem(answer, 422, "invalid_request")["errors"]] == [field]


async def test_credentials_that_were_revoked_together_are_listed_as_revoked(service: Service) -> None:
    old = (await minted(service))["credential"]["id"]
    service.later(60)
    now = service.runtime.backends.clock()
    service.later(60)
    await service.runtime.services("acme").credentials.revoke_issued_before(now)
    new = (await minted(service))["credential"]["id"]
    told = {each["id"]: "revoked_at" in each for each in await listed(service)}
    assert (told[old], told[new]) == (True, False)


async def test_a_listing_goes_page_by_page_and_by_agent_and_by_who_minted(service: Service) -> None:
    by = service.credential(admin=True)
    for number in range(5):
        service.later(1)
        assert (await mint(service, by, agent_id=f"bot-{number % 2}")).status_code == 201
    everything = await listed(service, limit=2)
    assert len({each["id"] for each in everything}) == len(everything) >= 6
    times = [each["minted_at"] for each in everything]
    assert times == sorted(times, reverse=True)
    assert [each["agent_id"] for each in await listed(service, agent_id="bot-0", limit=2)] == ["bot-0"] * 3
    (minter,) = {each["minted_by"] for each in everything if "minted_by" in each}
    assert len(await listed(service, minted_by=minter, limit=2)) == 5
    assert await listed(service, minted_by=UNKNOWN) == []
    assert [each["agent_id"] for each in await listed(service, minted_by=minter, agent_id="bot-1")] == ["bot-1"] * 2


async def test_a_cursor_is_good_for_its_own_listing_alone(service: Service) -> None:
    for _ in range(3):
        await minted(service, agent_id="bot")
    headers = service.credential(admin=True)
    page = await service.client.get("/credentials?limit=1&agent_id=bot", headers=headers)
    cursor = page.json()["cursor"]
    for path in (f"/credentials?cursor={cursor}", f"/audit?cursor={cursor}"):
        assert_problem(await service.client.get(path, headers=headers), 400, "invalid_cursor")
    other = await service.client.get(
        f"/credentials?agent_id=bot&cursor={cursor}", headers=service.credential("globex", admin=True)
    )
    assert_problem(other, 400, "invalid_cursor")


async def test_a_credential_is_of_its_tenant_alone(service: Service) -> None:
    body = await minted(service)
    id_ = body["credential"]["id"]
    assert id_ not in {each["id"] for each in await listed(service, "globex")}
    answer = await service.client.delete(f"/credentials/{id_}", headers=service.credential("globex", admin=True))
    assert answer.json()["recorded"] is False
    assert (await service.client.get("/tools", headers=bearer(body["token"]))).status_code == 200


@pytest.mark.parametrize("credential", [{}, {"agent": "bot", "admin": True}, {"scopes": ["read"]}])
async def test_only_an_administrator_of_all_agents_looks_after_credentials(
    shared_service: Service, credential: dict[str, Any]
) -> None:
    headers, client = shared_service.credential(**credential), shared_service.client
    for answer in (
        await client.get("/credentials", headers=headers),
        await client.post("/credentials", json={}, headers=headers),
        await client.delete(f"/credentials/{UNKNOWN}", headers=headers),
    ):
        assert_problem(answer, 403, "forbidden")


async def test_one_that_was_minted_elsewhere_is_listed_from_its_first_use_on(service: Service) -> None:
    wanted = CredentialWanted("bot", frozenset({"read"}), ["Ann"], None, 7)
    token, principal = service.runtime.credentials.mint("acme", wanted, service.runtime.backends.clock())
    assert principal.credential_id not in {each["id"] for each in await listed(service)}
    assert (await service.client.get("/memories", headers=bearer(token))).status_code == 200
    (found,) = [each for each in await listed(service) if each["id"] == principal.credential_id]
    assert "last_used_at" in found
    assert {name: value for name, value in found.items() if not name.endswith("_at")} == {
        "id": principal.credential_id,
        "agent_id": "bot",
        "scopes": ["read"],
        "speakers": ["ann"],
        "requests_per_minute": 7,
    }
    assert "expires_at" not in found


async def test_a_use_is_noted_once_an_hour(service: Service) -> None:
    body = await minted(service)
    seen = []
    for seconds in (0, USE_MS // 1000 - 1, 2):
        service.later(seconds)
        await service.client.get("/tools", headers=bearer(body["token"]))
        (found,) = [each for each in await listed(service) if each["id"] == body["credential"]["id"]]
        seen.append(found["last_used_at"])
    assert seen[0] == seen[1] < seen[2]


async def test_no_more_than_so_many_are_minted_and_revoked_in_a_minute(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.turns.admission.CREDENTIAL_CHANGES", 3)
    headers = service.credential(admin=True)
    for _ in range(3):
        answer = await service.client.delete(f"/credentials/{UNKNOWN}", headers=headers)
        assert answer.status_code == 200
    for answer in (
        await mint(service, headers),
        await service.client.delete(f"/credentials/{UNKNOWN}", headers=headers),
    ):
        assert_problem(answer, 429, "quota_exceeded")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.headers["quota-warning"].startswith("credential_changes_per_minute;scope=tenant")
    other = await service.client.post("/credentials", json={}, headers=service.credential("globex", admin=True))
    assert other.status_code == 201
    service.later(60)
    assert (await mint(service, headers)).status_code == 201


async def test_a_register_that_is_full_takes_none_until_one_expires(
    service: Service,
) -> None:
    most = limits.MAX_CREDENTIALS
    now = service.runtime.backends.clock()
    row = {"tenant_id": "acme", "scopes": '["read"]', "minted_at": now}
    await insert_rows(
        service.runtime,
        "credential",
        *({**row, "id": f"c-{number}", "expires_at": now + (90_000 if number else 30_000)} for number in range(most)),
    )
    answer = await mint(service)
    assert_problem(answer, 429, "quota_exceeded")
    assert answer.headers["quota-warning"] == f"credentials;scope=tenant;used={most};limit={most}"
    assert "retry-after" not in answer.headers
    service.later(31)
    assert (await mint(service)).status_code == 201
    assert_problem(await mint(service), 429, "quota_exceeded")


async def test_the_names_of_speakers_go_with_the_tenant_and_its_credentials_stay(service: Service) -> None:
    await service.store("Ann drinks tea.")
    token = (await minted(service, speakers=["Ann"]))["token"]
    headers = service.credential(admin=True)
    erased = await service.client.delete("/tenant?confirm=acme", headers=headers)
    path = f"/operations/{erased.json()['id']}"
    while (await service.client.get(path, headers=headers)).json()["status"] != "done":
        service.later(300)
        await service.runtime.indexer.round()
    assert (await service.client.get("/tools", headers=bearer(token))).status_code == 200
    (found,) = [each for each in await listed(service) if "speakers" in each]
    assert (found["speakers"], found["scopes"]) == ([], ["read", "write"])
