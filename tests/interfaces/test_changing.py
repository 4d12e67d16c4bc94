"""A memory's metadata, moment and end are changed in place; memories that pass a filter are counted, then deleted."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record
from tests.interfaces.cli.line import Line
from tests.support import migrated
from tests.support.backends import Backend
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

MAY, JUNE = "2026-05-01T10:00:00.000Z", "2026-06-01T10:00:00.000Z"
FAR = "2999-01-01T00:00:00.000Z"


@pytest.fixture
async def service(tmp_path: Path, backend: Backend) -> Any:
    async with serving(tmp_path, on=backend) as service:
        yield service


async def stored(service: Service, content: str, **fields: Any) -> str:
    await service.store(content, **fields)
    return str(next(each for each in await listed(service) if each["content"] == content)["id"])


async def listed(service: Service, **query: Any) -> list[dict[str, Any]]:
    answer = await service.client.get("/memories", params=query, headers=service.credential(admin=True))
    memories: list[dict[str, Any]] = answer.json()["memories"]
    return memories


async def change(service: Service, memory_id: str, body: Any, agent_id: str = "bot", **who: Any) -> httpx.Response:
    headers = service.credential(**({"admin": True} | who))
    return await service.client.patch(f"/memories/{memory_id}?agent_id={agent_id}", json=body, headers=headers)


async def delete(service: Service, who: Any = None, **body: Any) -> httpx.Response:
    headers = service.credential(**({"admin": True} | (who or {})))
    return await service.client.post("/deletions", json={"agent_id": "bot", **body}, headers=headers)


async def test_metadata_keys_are_set_and_taken_away_and_recalls_filter_by_them(service: Service) -> None:
    id_ = await stored(service, "Ann likes tea", metadata={"of": "Ann", "draft": True, "n": 1})
    answer = await change(service, id_, {"metadata": {"draft": None, "n": 2, "list": [1, None]}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"] == {"of": "Ann", "n": 2, "list": [1, None]}
    (memory,) = await listed(service)
    assert (memory["id"], memory["content"], memory["metadata"]) == (id_, "Ann likes tea", answer.json()["metadata"])
    assert [entry["id"] for entry in await service.recall("tea", filter={"metadata": {"n": 2}})] == [id_]
    assert await service.recall("tea", filter={"metadata": {"n": 1}}) == []
    again = await change(service, id_, {"metadata": {"draft": None, "n": 2, "list": [1, None]}})
    assert again.json() == answer.json()


async def test_an_end_is_set_and_taken_away_whatever_the_agent_is_set_to(service: Service) -> None:
    id_ = await stored(service, "Ann likes tea")
    await service.client.put("/agents/bot", json={"retention_days": 1}, headers=service.credential(admin=True))
    assert "expires_at" not in (await change(service, id_, {"metadata": {"k": 1}})).json()
    assert (await change(service, id_, {"expires_at": FAR})).json()["expires_at"] == FAR
    assert (await change(service, id_, {"metadata": {"k": 2}})).json()["expires_at"] == FAR
    assert "expires_at" not in (await change(service, id_, {"expires_at": None})).json()
    assert_problem(await change(service, id_, {"expires_at": MAY}), 422, "invalid_request")


async def test_a_moment_is_another_one_and_recalls_of_days_go_by_it(service: Service) -> None:
    id_ = await stored(service, "Delivered the desks", occurred_at=MAY, session_id="s")
    answer = await change(service, id_, {"occurred_at": JUNE})
    assert (answer.status_code, answer.json()["occurred_at"], answer.json()["id"]) == (200, JUNE, id_)
    (found,) = await service.recall("the desks")
    assert (found["id"], found["occurred_at"]) == (id_, JUNE)
    await service.store("Delivered the desks", occurred_at=MAY, session_id="s")
    assert len(await listed(service)) == 2, "the moment of before is free"
    refused = await change(service, id_, {"occurred_at": MAY})
    assert named_fields(assert_problem(refused, 409, "conflict")) == {"occurred_at"}
    assert "occurred_at" not in (await change(service, id_, {"occurred_at": None})).json()


async def test_what_a_moment_decides_is_decided_anew(service: Service) -> None:
    for city, moment in (("Rome", MAY), ("Oslo", JUNE)):
        fact = {"agent_id": "bot", "subject": "user", "predicate": "lives in", "object": city, "single": True}
        assert (await service.post("/facts", fact | {"occurred_at": moment})).status_code == 201

    async def holding() -> list[str]:
        answer = await service.client.get("/facts", params={"agent_id": "bot"}, headers=service.credential())
        return [fact["object"] for fact in answer.json()["facts"]]

    assert await holding() == ["Oslo"]
    oslo = next(each["id"] for each in await listed(service) if "Oslo" in each["content"])
    answer = await change(service, oslo, {"occurred_at": "2026-04-01T10:00:00Z"})
    assert answer.status_code == 200, answer.text
    assert await holding() == ["Rome"]


async def test_what_cannot_be_changed_is_said_by_its_name(service: Service) -> None:
    id_ = await stored(service, "Ann likes tea")
    problem = assert_problem(await change(service, id_, {"content": "Ann likes coffee"}), 422, "invalid_request")
    assert named_fields(problem) == {"content"}
    assert "`POST /store`" in problem["detail"]
    for body, fields in (({}, {"body"}), ({"metadata": None}, {"metadata"}), ({"agent_id": "x"}, {"agent_id"})):
        assert named_fields(assert_problem(await change(service, id_, body), 422, "invalid_request")) == fields
    assert_problem(await change(service, "01K2Z4M1V7Q8T3B5N6C7D8E9FA", {"metadata": {}}), 404, "not_found")
    assert_problem(await change(service, id_, {"metadata": {"k": "x" * 20_000}}), 422, "invalid_request")
    await service.client.post(f"/profiles/bot/memories/{id_}/forget", headers=service.credential())
    assert_problem(await change(service, id_, {"metadata": {"k": 1}}), 409, "conflict")


async def test_only_an_administrator_of_the_agent_changes_or_deletes_many(service: Service) -> None:
    id_ = await stored(service, "Ann likes tea")
    for who, status in (({"admin": False}, 403), ({"agent": "other"}, 403), ({"tenant": "globex"}, 404)):
        assert (await change(service, id_, {"metadata": {"k": 1}}, **who)).status_code == status
    assert (await delete(service, who={"admin": False})).status_code == 403
    assert (await delete(service, who={"agent": "other"})).status_code == 403
    assert (await delete(service, who={"tenant": "globex"})).json()["memories"] == 0
    assert (await listed(service))[0]["metadata"] == {}


async def test_memories_that_pass_a_filter_are_counted_and_deleted_by_their_number(service: Service) -> None:
    for number in range(5):
        await service.store(f"note {number}", metadata={"of": "call" if number % 2 else "mail"})
    await service.store("note 9", agent_id="other", metadata={"of": "call"})
    where = {"filter": {"metadata": {"of": "call"}}}
    counted = (await delete(service, **where)).json()
    assert (counted["dry_run"], counted["memories"], counted["left"], counted["at_least"]) == (True, 2, 2, False)
    assert len(counted["memory_ids"]) == 2
    assert len(await listed(service)) == 6
    refused = await delete(service, dry_run=False, confirm=3, **where)
    assert named_fields(assert_problem(refused, 409, "conflict")) == {"confirm"}
    assert named_fields(assert_problem(await delete(service, dry_run=False, **where), 422, "invalid_request"))
    assert len(await listed(service)) == 6
    done = (await delete(service, dry_run=False, confirm=2, **where)).json()
    assert done == {"dry_run": False, "memories": 2, "left": 0}
    assert sorted(each["content"] for each in await listed(service)) == ["note 0", "note 2", "note 4", "note 9"]
    assert all(each != "note 1" for each in await service.contents("note"))
    acts = (await service.client.get("/audit/acts", headers=service.credential(admin=True))).json()["acts"]
    assert [(act["act"], act["outcome"], act["counts"].get("memories")) for act in acts[:1]] == [
        ("memories.delete", "done", 2)
    ]


async def test_times_and_writers_are_conditions_too_and_an_unknown_one_is_refused(service: Service) -> None:
    await service.store("old")
    service.later(3600)
    await service.store("new")
    new = next(each for each in await listed(service) if each["content"] == "new")
    after = {"filter": {"created_after": "2000-01-01T00:00:00Z", "created_before": new["created_at"]}}
    assert (await delete(service, **after)).json()["memories"] == 1
    writer = new["source"]["credential_id"]
    assert (await delete(service, written_by=writer)).json()["memories"] in {1, 2}
    refused = await delete(service, filter={"session_id": "s"})
    assert named_fields(assert_problem(refused, 422, "invalid_request")) == {"filter.session_id"}


@pytest.mark.thorough
async def test_one_call_deletes_a_bounded_number_and_tells_what_is_left(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        records = (
            Record(agent_id="bot", content=f"line {n}", metadata={}, id=f"01K{n:023d}", created_at=n)
            for n in range(2100)
        )
        lines = b"".join(memory_line(record).data for record in records)
        headers = service.credential(admin=True) | {"Content-Type": "application/x-ndjson"}
        report = await service.client.post("/import", content=lines, headers=headers)
        assert '"imported": 2100' in report.text.replace('":', '": '), report.text[-500:]
        first = (await delete(service, dry_run=False, confirm=2100)).json()
        assert first == {"dry_run": False, "memories": 2000, "left": 100}
        assert (await delete(service, dry_run=False, confirm=100)).json()["left"] == 0


async def test_agents_are_listed_with_what_they_hold_and_a_bound_credential_sees_its_own(service: Service) -> None:
    for agent in ("ann", "bo", "cy"):
        await service.store(f"{agent} likes tea", agent_id=agent)
    admin = service.credential(admin=True)
    await service.client.put("/agents/dee", json={"retention_days": 1}, headers=admin)
    first = (await service.client.get("/agents?limit=2", headers=admin)).json()
    rest = (await service.client.get("/agents", params={"limit": 2, "cursor": first["cursor"]}, headers=admin)).json()
    agents = [*first["agents"], *rest["agents"]]
    assert [(each["agent_id"], each["memories"]) for each in agents] == [("ann", 1), ("bo", 1), ("cy", 1), ("dee", 0)]
    assert "cursor" not in rest
    assert agents[0]["first_stored_at"] == agents[0]["last_stored_at"] == (await listed(service))[2]["created_at"]
    assert "last_stored_at" not in agents[3]
    own = (await service.client.get("/agents", headers=service.credential(agent="bo"))).json()
    assert [each["agent_id"] for each in own["agents"]] == ["bo"]
    assert (await service.client.get("/agents", headers=service.credential())).status_code == 403
    others = await service.client.get("/agents", headers=service.credential("globex", admin=True))
    assert others.json()["agents"] == []


def test_commands_change_count_delete_and_list(tmp_path: Path) -> None:
    migrated.prepare(tmp_path / "data")
    line = Line(tmp_path / "data")
    id_ = line.json("store", "Ann likes tea")["id"]
    line.json("store", "Bo likes tea", "--metadata", '{"of": "Bo"}')
    changed = line.json("change", id_, "--metadata", '{"of": "Ann"}', "--occurred-at", MAY, "--expires-at", FAR)
    assert (changed["metadata"], changed["occurred_at"], changed["expires_at"]) == ({"of": "Ann"}, MAY, FAR)
    assert "expires_at" not in line.json("change", id_, "--never-expires")
    (agent,) = line.json("agents")["agents"]
    assert (agent["agent_id"], agent["memories"]) == ("default", 2)
    assert "first stored" in line.ok("agents")
    where = ("purge", "--metadata", '{"of": "Bo"}')
    assert line.json(*where)["memories"] == 1
    assert "--confirm 1" in line.ok(*where)
    assert line.json(*where, "--confirm", "1") == {"dry_run": False, "memories": 1, "left": 0}
    assert [each["act"] for each in line.json("acts", "list")["acts"]][:1] == ["memories.delete"]


async def test_what_is_added_is_screened_and_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    secret = "the password is in https://ann:hunter22hunter@example.com/"
    async with serving(tmp_path, sensitive_content="count") as service:
        id_ = await stored(service, secret)
    async with serving(tmp_path, sensitive_content="mask") as service:
        answer = await change(service, id_, {"metadata": {"seen": secret}, "occurred_at": MAY})
        assert answer.status_code == 200, answer.text
        (memory,) = await listed(service)
        assert (memory["id"], memory["content"], memory["occurred_at"]) == (id_, secret, MAY)
        assert "hunter22" not in memory["metadata"]["seen"]
        assert "sensitive-content" in answer.headers
    async with serving(tmp_path, sensitive_content="refuse") as service:
        refused = await change(service, id_, {"metadata": {"again": secret}})
        assert named_fields(assert_problem(refused, 422, "sensitive_content")) == {"metadata.again"}
        assert (await change(service, id_, {"metadata": {"k": 1}})).status_code == 200


async def test_changes_of_different_keys_at_the_same_time_are_all_there(service: Service) -> None:
    id_ = await stored(service, "Ann likes tea", metadata={"old": 1, "of": "Ann"})
    bodies = [{"metadata": {"old": None}}, *({"metadata": {f"k{n}": n}} for n in range(5))]
    answers = await asyncio.gather(*(change(service, id_, body) for body in bodies))
    assert [answer.status_code for answer in answers] == [200] * 6
    (memory,) = await listed(service)
    assert memory["metadata"] == {"of": "Ann"} | {f"k{n}": n for n in range(5)}


async def test_a_change_undoes_no_other_request_of_the_same_time(service: Service) -> None:
    who = service.credential()
    for number in range(12):
        id_ = await stored(service, f"Ann likes tea number {number}")
        answers = await asyncio.gather(
            *(change(service, id_, body) for body in ({"metadata": {"k": 1}}, {"expires_at": FAR}))
        )
        assert [answer.status_code for answer in answers] == [200, 200]
        (memory,) = [each for each in await listed(service) if each["id"] == id_]
        assert (memory["metadata"], memory["expires_at"]) == ({"k": 1}, FAR)
        changed, forgotten = await asyncio.gather(
            change(service, id_, {"metadata": {"k": 2}}),
            service.client.post(f"/profiles/bot/memories/{id_}/forget", headers=who),
        )
        assert (changed.status_code in {200, 404, 409}, forgotten.status_code) == (True, 200)
        assert id_ not in [entry["id"] for entry in await service.recall("tea")]


async def test_changes_at_the_same_time_make_no_second_memory(service: Service) -> None:
    id_ = await stored(service, "Ann lives in Rome", occurred_at="2026-01-01T00:00:00Z")
    moments = [f"2026-0{month}-01T10:00:00.000Z" for month in range(2, 8)]
    bodies = [{"occurred_at": moment, "metadata": {moment[:7]: 1}} for moment in moments] + [{"metadata": {"k": 1}}] * 2
    answers = await asyncio.gather(*(change(service, id_, body) for body in bodies))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert 200 in {answer.status_code for answer in answers}
    (memory,) = await listed(service)
    assert (memory["id"], memory["occurred_at"] in moments) == (id_, True)
    assert (await change(service, id_, {"metadata": {"after": 1}})).status_code == 200
