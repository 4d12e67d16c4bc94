"""Administrative acts over HTTP: each leaves a row before it is done, and refused attempts are counted."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.acts import ACTS
from app.domain.errors import DatabaseUnavailable
from app.domain.request_note import RequestNote
from app.interfaces.http.dependencies import Administrator, CredentialFirst, ReadCaller
from app.interfaces.http.router import Router
from app.ports.database import Row, Statement
from app.runtime.backends import Backends
from app.runtime.entry import admit, principal_of
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving
from tests.support.tables import count_of, delete_rows, rows_of, set_rows

ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
SET = {"long_term_enabled": True}
_ACTS = "administrative_act"
_IDS = {"memory_id": ID, "archive_id": ID, "item_id": ID, "blob_id": ID, "version": "1"}
_LINE = b'{"type":"header","format":"memory-gateway","version":1}\n'
SENT: dict[str, dict[str, Any]] = {
    "DELETE /memories/{memory_id}": {"params": {"agent_id": "bot"}},
    "PATCH /memories/{memory_id}": {"params": {"agent_id": "bot"}, "json": {"metadata": {"k": 1}}},
    "POST /deletions": {"json": {"agent_id": "bot", "dry_run": True}},
    "DELETE /tenant": {"params": {"confirm": "other"}},
    "POST /undo": {"json": {"credential_id": ID, "dry_run": True}},
    "POST /import": {"content": _LINE, "headers": {"Content-Type": "application/x-ndjson"}},
    "POST /consolidations/dry-run": {"json": {"agent_id": "bot"}},
    "POST /consolidations/undo": {"json": {"consolidation_id": ID, "dry_run": True}},
    "POST /credentials": {"json": {"agent_id": "bot"}},
    "PUT /agents/{agent_id}": {"json": {"long_term_enabled": True}},
    "PUT /workflows/{workflow_id}": {"json": {"spec": {"steps": []}, "agent_type": "a", "task_type": "t"}},
    "PUT /context/{name}": {"json": {"content": "hello"}},
    "PUT /configuration": {"json": {"values": {}}},
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces": {"json": {"name": "notes"}},
}
"""What a request of a route has, where its path is not enough; the others name what is not there."""


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


def routes_of(service: Service) -> Iterator[tuple[str, str, str]]:
    """Yield the method, the path and the act of each route that does one."""
    for route in service.app.routes:
        act = getattr(getattr(route, "endpoint", None), "act", None)
        if isinstance(route, CredentialFirst) and act is not None:
            (method,) = sorted(route.methods or ())
            yield method, route.path_format, act


async def sent(service: Service, method: str, path: str, *, headers: dict[str, str]) -> httpx.Response:
    given = SENT.get(f"{method} {path}", {})
    for name in (part.split("}")[0] for part in path.split("{")[1:]):
        path = path.replace(f"{{{name}}}", _IDS.get(name, "bot"))
    return await service.client.request(method, path, **given | {"headers": headers | given.get("headers", {})})


async def listed(service: Service, tenant: str = "acme", **query: Any) -> list[dict[str, Any]]:
    answer = await service.client.get("/audit/acts", params=query, headers=service.credential(tenant, admin=True))
    assert answer.status_code == 200, answer.text
    acts: list[dict[str, Any]] = answer.json()["acts"]
    return acts


async def lines(service: Service, tenant: str = "acme") -> list[dict[str, Any]]:
    answer = await service.client.get("/audit/acts/export", headers=service.credential(tenant, admin=True))
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_every_route_that_is_an_administrators_and_does_something_leaves_a_row(service: Service) -> None:
    await service.store("a fox")
    routes = list(routes_of(service))
    assert {act for *_, act in routes} < set(ACTS)
    assert len(routes) > 20
    for method, path, act in routes:
        answer = await sent(service, method, path, headers=service.credential(admin=True))
        assert answer.status_code != 422 or path == "/tenant", (path, answer.text)
        row, *_ = await listed(service)
        assert (row["act"], row["outcome"]) == (act, "done" if answer.status_code < 400 else "failed"), path
        assert ("code" in row) == (answer.status_code >= 400)


def test_a_route_that_is_an_administrators_and_does_something_cannot_be_made_without_an_act() -> None:
    async def administers(caller: Administrator) -> None:
        """Do something."""

    async def reads(caller: ReadCaller) -> None:
        """Read something."""

    router = Router("test")
    for declare in (router.post, router.put, router.patch, router.delete):
        with pytest.raises(ValueError, match="declares no act"):
            declare("/test")(administers)
    with pytest.raises(ValueError, match="not an administrator's"):
        router.post("/test", act="agent.set")(reads)
    assert router.routes == []


class Deaf:
    """A database that does not answer where the rows of acts are written."""

    def __init__(self, inner: Any, refuses: Callable[[Statement], bool]) -> None:
        self._inner, self._refuses = inner, refuses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if any(self._refuses(statement) for statement in statements):
            raise DatabaseUnavailable("It does not answer.")
        rows: list[list[Row]] = await self._inner.run(statements)
        return rows


def deaf_to(word: str, heard: list[bool]) -> Callable[[Backends], Backends]:
    def refuses(statement: Statement) -> bool:
        return not heard and _ACTS in statement.sql and statement.sql.lstrip().startswith(word)

    return lambda backends: replace(backends, database=Deaf(backends.database, refuses))


async def test_an_act_whose_row_cannot_be_written_is_not_done_even_if_it_only_reads(tmp_path: Path) -> None:
    heard: list[bool] = []
    async with serving(tmp_path, change=deaf_to("INSERT", heard)) as service:
        await service.store("a fox")
        admin = service.credential(admin=True)
        assert_problem(await service.client.get("/export", headers=admin), 503, "database_unavailable")
        answer = await service.client.delete("/agents/bot", headers=admin)
        assert_problem(answer, 503, "database_unavailable")
        assert await service.contents("fox") == ["a fox"]
        assert await count_of(service, "erasure") == 0
        heard.append(True)
        assert (await service.client.delete("/agents/bot", headers=admin)).status_code == 202
        assert [act["act"] for act in await listed(service)] == ["agent.erase"]


async def test_an_outcome_that_cannot_be_written_is_written_later_and_until_then_the_act_has_only_begun(
    tmp_path: Path,
) -> None:
    heard: list[bool] = []
    async with serving(tmp_path, change=deaf_to("UPDATE", heard)) as service:
        admin = service.credential(admin=True)
        assert (await service.client.put("/agents/bot", json=SET, headers=admin)).status_code == 200
        (act,) = await listed(service)
        assert (act["outcome"], "signature" in act, "ended_at" in act) == ("begun", False, False)
        assert [each["id"] for each in await listed(service, outcome="begun")] == [act["id"]]
        with pytest.raises(DatabaseUnavailable):
            await service.shards.write_acts()
        heard.append(True)
        await service.shards.write_acts()
        assert [each["outcome"] for each in await listed(service)] == ["done"]


async def test_a_row_tells_who_did_what_and_how_much_it_concerned_and_no_content(service: Service) -> None:
    await service.store("a fox whose name is Xq0451z", session_id="a session that says Xq0451z")
    admin = service.credential(admin=True)
    answer = await service.client.get("/export", headers=admin)
    assert answer.text.count('"type":"memory"') == 1
    answer = await service.client.post(
        "/undo", json={"session_id": "a session that says Xq0451z", "agent_id": "bot"}, headers=admin
    )
    assert answer.json()["dry_run"] is True
    undone, exported = await listed(service)
    assert (exported["act"], exported["outcome"], exported["counts"]) == ("memories.export", "done", {"memories": 1})
    assert {"credential_id", "request_id"} <= exported.keys()
    assert exported["channel"] == "http"
    assert undone["subject"] == {"agent_id": "bot", "session_id": None}
    assert undone["counts"]["dry_run"] == 1
    assert undone["counts"]["memories"] == 1
    rows = await rows_of(service, _ACTS)
    assert "Xq0451z" not in json.dumps([dict(row) for row in rows])


async def test_refused_attempts_are_counted_by_credential_and_act_however_many_there_are(service: Service) -> None:
    agents, other = service.credential(agent="bot"), service.credential(agent="bot")
    for _ in range(30):
        assert (await service.client.delete("/agents/bot", headers=agents)).status_code == 403
    assert (await service.client.delete("/agents/bot", headers=other)).status_code == 403
    answer = await service.client.post("/store", json={"agent_id": "x", "content": "a"}, headers=agents)
    assert answer.status_code == 403
    assert await listed(service) == []
    await service.shards.write_acts()
    await service.shards.write_acts()
    rows = {(act["act"], act["attempts"]) for act in await listed(service, outcome="refused")}
    assert rows == {("agent.erase", 30), ("agent.erase", 1), ("access", 1)}
    await service.client.delete("/agents/bot", headers=agents)
    await service.shards.write_acts()
    acts = await listed(service, act="agent.erase")
    assert sorted(act["attempts"] for act in acts) == [1, 31]
    assert {(act["code"], act["outcome"]) for act in acts} == {("forbidden", "refused")}


async def test_a_credential_that_has_expired_is_told_to_its_tenant_and_a_forged_one_to_none(service: Service) -> None:
    runtime = service.runtime
    token = runtime.credentials.issue("acme", now=runtime.backends.clock() - 10_000, seconds=1, admin=True)
    for forged in (token, "forged", token[:-2]):
        answer = await service.client.get("/export", headers={"Authorization": f"Bearer {forged}"})
        assert answer.status_code == 401
    await service.shards.write_acts()
    (act,) = await listed(service)
    assert (act["act"], act["code"], act["attempts"]) == ("access", "unauthenticated", 1)
    (row,) = await rows_of(service, _ACTS, tenant_id="")
    assert (row["attempts"], row["credential_id"]) == (2, None)


async def test_more_kinds_of_attempts_than_a_process_counts_are_counted_under_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.acts.MOST_KINDS", 3)
    async with serving(tmp_path) as service:
        for _ in range(10):
            await service.client.delete("/agents/bot", headers=service.credential(agent="bot"))
        await service.shards.write_acts()
        assert await count_of(service, _ACTS) == 4
        (row,) = await rows_of(service, _ACTS, tenant_id="")
        assert (row["code"], row["attempts"]) == ("too_many", 7)


async def test_what_no_agent_has_left_of_acts_stays_behind_its_erasure(service: Service) -> None:
    await service.store("a fox")
    admin = service.credential(admin=True)
    assert (await service.client.delete("/agents/bot", headers=admin)).status_code == 202
    assert (await service.client.delete("/tenant", params={"confirm": "acme"}, headers=admin)).status_code == 202
    for _ in range(3):
        await service.runtime.indexer.round()
    assert [act["act"] for act in await listed(service)] == ["tenant.erase", "agent.erase"]


async def test_a_page_goes_on_where_the_last_one_ended_and_filters_leave_out_what_they_say(service: Service) -> None:
    admin = service.credential(admin=True)
    for name in ("a", "b", "c"):
        await service.client.put(f"/agents/{name}", json=SET, headers=admin)
    await service.client.delete("/workflows/look", headers=service.credential(admin=True))
    first = (await service.client.get("/audit/acts", params={"limit": 3}, headers=admin)).json()
    more = {"limit": 3, "cursor": first["cursor"]}
    second = (await service.client.get("/audit/acts", params=more, headers=admin)).json()
    assert [act["number"] for act in [*first["acts"], *second["acts"]]] == [4, 3, 2, 1]
    assert "cursor" not in second
    (deleted,) = await listed(service, act="workflow.delete")
    assert [act["number"] for act in await listed(service, credential_id=deleted["credential_id"])] == [4]
    assert [act["number"] for act in await listed(service, outcome="done", act="agent.set")] == [3, 2, 1]
    at = deleted["begun_at"]
    assert [act["number"] for act in await listed(service, after=at)] == []
    assert 4 not in [act["number"] for act in await listed(service, before=at)]
    other = await service.client.get("/audit/acts", params=more | {"act": "agent.set"}, headers=admin)
    assert_problem(other, 400, "invalid_cursor")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"act": "x" * 10_000}, "act"),
        ({"act": "An Act"}, "act"),
        ({"outcome": "'; --"}, "outcome"),
        ({"limit": 0}, "limit"),
    ],
)
async def test_a_filter_that_is_no_filter_is_refused_by_its_name(
    service: Service, query: dict[str, Any], field: str
) -> None:
    answer = await service.client.get("/audit/acts", params=query, headers=service.credential(admin=True))
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


async def test_acts_are_an_administrators_of_all_agents(service: Service) -> None:
    for path in ("/audit/acts", "/audit/acts/export"):
        for credential in (
            service.credential(),
            service.credential(agent="bot"),
            service.credential(agent="bot", admin=True),
        ):
            assert_problem(await service.client.get(path, headers=credential), 403, "forbidden")


async def test_a_check_finds_rows_that_were_changed_or_are_missing(service: Service) -> None:
    admin = service.credential(admin=True)
    for name in ("a", "b", "c", "d"):
        await service.client.put(f"/agents/{name}", json=SET, headers=admin)
    await service.client.delete("/agents/a", headers=service.credential())
    await service.shards.write_acts()
    acts, keys = service.runtime.services("acme").acts, service.shards.act_keys()
    whole = await acts.verify(keys)
    assert (whole.acts, whole.first, whole.flaws) == (5, 1, 0)
    assert (await acts.verify([b"another secret"])).flaws == 5
    await set_rows(service, _ACTS, {"credential_id": "another"}, number=2)
    await delete_rows(service, _ACTS, number=3)
    found = await acts.verify(keys)
    assert found.flaws == 2
    assert [example.split(",")[0] for example in found.examples] == [
        "number 2 was changed",
        "1 rows before number 4 are missing",
    ]


async def test_an_export_whose_caller_goes_away_has_failed(service: Service) -> None:
    await service.store("a fox")
    principal = await principal_of(service.shards, httpx.Headers(service.credential(admin=True)).get_list)
    entry = (await admit(service.shards, principal, RequestNote())).within("admin")
    begun = await entry.begin("memories.export")
    await begun.end(GeneratorExit())
    assert [act["outcome"] for act in await listed(service)] == ["begun"]
    await service.shards.write_acts()
    assert [(act["outcome"], act["code"]) for act in await listed(service)] == [("failed", "GeneratorExit")]
