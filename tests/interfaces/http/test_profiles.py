"""A profile over HTTP: what is remembered is answered with, listed, forgotten and deleted."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import INSTRUCTION, ScriptedReader
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

MOVED = ScriptedReader(of_one_thing("I live in Rome", "I live in Oslo"))


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def post(service: Service, path: str, body: Any = None, *, profile: str = "bot", **who: Any) -> httpx.Response:
    headers = service.credential(who.pop("tenant", "acme"), who.pop("agent", profile), **who)
    sent = {} if body is None else {"json": body}
    return await service.client.post(f"/profiles/{profile}/{path}", headers=headers, **sent)


async def get(service: Service, path: str, *, profile: str = "bot", **query: Any) -> httpx.Response:
    headers = service.credential(agent=profile)
    return await service.client.get(f"/profiles/{profile}/{path}", params=query, headers=headers)


async def remember(service: Service, content: str, **fields: Any) -> dict[str, Any]:
    answer = await post(service, "remember", {"content": content, **fields})
    assert answer.status_code == 201, answer.text
    remembered: dict[str, Any] = answer.json()
    return remembered


async def test_what_is_remembered_is_answered_with_what_it_is(service: Service) -> None:
    moment = "2026-05-01T10:00:00.000Z"
    memory = await remember(service, "I live in Rome", session_id="call", occurred_at=moment)
    assert memory == {
        "id": memory["id"],
        "type": "fact",
        "summary": "I live in Rome",
        "content": "I live in Rome",
        "session_id": "call",
        "occurred_at": moment,
        "created_at": memory["created_at"],
    }
    assert (await remember(service, "I live in Rome", session_id="call", occurred_at=moment))["id"] == memory["id"]
    assert (await service.recall("Rome"))[0]["id"] == memory["id"]


async def test_a_question_is_answered_in_the_words_of_memories_and_names_them(service: Service) -> None:
    await remember(service, "I live in Rome", occurred_at="2026-05-01T10:00:00Z")
    new = await remember(service, "I live in Oslo", occurred_at="2026-06-01T10:00:00Z")
    await compare(service.runtime.backends, MOVED)
    answer = (await post(service, "recall", {"query": "Where do I live?", "thinking_level": "high"})).json()
    assert answer["answer"] == "2026-06-01: I live in Oslo\nBefore 2026-06-01: I live in Rome"
    assert answer["count"] == 1
    (entry,) = answer["entries"]
    assert 0.5 < entry["score"] <= 1
    assert (entry["id"], entry["content"]) == (new["id"], "I live in Oslo")
    assert (entry["occurred_at"], entry["created_at"]) == ("2026-06-01T10:00:00.000Z", new["created_at"])
    short = {"query": "Where do I live?", "response_length": "short"}
    assert (await post(service, "recall", short)).json()["answer"] == "2026-06-01: I live in Oslo"


async def test_where_nothing_is_found_the_answer_is_empty(service: Service) -> None:
    assert (await post(service, "recall", {"query": "x"})).json() == {
        "answer": "",
        "count": 0,
        "entries": [],
        "agent": "unknown",
        "candidates": [],
        "cited": [],
    }


async def test_standing_instructions_stand_beside_the_answer_of_any_question(service: Service) -> None:
    instruction = "Answer in Swedish."
    told = await remember(service, instruction, occurred_at="2026-05-01T10:00:00.000Z")
    await compare(service.runtime.backends, ScriptedReader(of_kinds={instruction: INSTRUCTION}))
    said = "2026-05-01T10:00:00.000Z"
    standing = [{"id": told["id"], "content": instruction, "created_at": told["created_at"], "occurred_at": said}]
    standing[0]["happened_at"] = said
    asked = {"query": "Turnover of zinc?"}
    assert (await post(service, "recall", asked)).json()["instructions"] == standing
    assert "instructions" not in (await post(service, "recall", asked, tenant="globex")).json()
    await post(service, f"memories/{told['id']}/forget")
    assert "instructions" not in (await post(service, "recall", asked)).json()


async def test_days_are_counted_from_the_reference_time(service: Service) -> None:
    for day in ("2026-03-11", "2026-05-20"):
        await remember(service, f"Delivered desks on {day}", occurred_at=f"{day}T10:00:00Z")
    asked = {"query": "What was delivered last week?", "reference_time": "2026-03-19T12:00:00Z"}
    answer = (await post(service, "recall", asked)).json()
    assert answer["entries"][0]["occurred_at"] == "2026-03-11T10:00:00.000Z"


async def test_a_profile_is_listed_page_by_page_with_cursors_of_this_list_alone(service: Service) -> None:
    for number in range(3):
        await remember(service, f"note {number}", session_id="s1")
    await remember(service, "Always run the tests first", session_id="s2")
    await compare(service.runtime.backends, ScriptedReader(of_kinds={"Always run the tests first": INSTRUCTION}))
    first = (await get(service, "memories", limit=2, session_id="s1")).json()
    second = (await get(service, "memories", limit=2, session_id="s1", cursor=first["cursor"])).json()
    assert [memory["summary"] for memory in first["memories"] + second["memories"]] == ["note 2", "note 1", "note 0"]
    assert "cursor" not in second
    assert "content" not in first["memories"][0]
    for other in ({"session_id": "s2"}, {}, {"session_id": "s1", "type": "event"}):
        refused = await get(service, "memories", limit=2, cursor=first["cursor"], **other)
        assert_problem(refused, 400, "invalid_cursor")
    (one,) = (await get(service, "memories", type="instruction")).json()["memories"]
    assert one["summary"] == "Always run the tests first"


async def test_a_memory_is_shown_with_its_versions(service: Service) -> None:
    old = await remember(service, "I live in Rome", occurred_at="2026-05-01T10:00:00Z")
    new = await remember(service, "I live in Oslo", occurred_at="2026-06-01T10:00:00Z")
    await compare(service.runtime.backends, MOVED)
    shown = (await get(service, f"memories/{old['id']}")).json()
    assert shown["superseded_at"] == "2026-06-01T10:00:00.000Z"
    assert shown["sources"] == []
    assert [(version["id"], version.get("superseded_at")) for version in shown["versions"]] == [
        (old["id"], "2026-06-01T10:00:00.000Z"),
        (new["id"], None),
    ]


async def test_forgetting_is_answered_with_its_moment_and_taken_back(service: Service) -> None:
    memory = await remember(service, "The cat is black")
    path = f"memories/{memory['id']}"
    forgotten = (await post(service, f"{path}/forget")).json()
    assert forgotten == {**memory, "forgotten_at": forgotten["forgotten_at"]}
    assert await service.contents("The cat is black") == (await get(service, "memories")).json()["memories"] == []
    assert (await get(service, path)).json()["forgotten_at"] == forgotten["forgotten_at"]
    assert (await post(service, f"{path}/unforget", {})).json() == memory
    assert await service.contents("The cat is black") == ["The cat is black"]


async def test_what_is_superseded_is_not_forgotten_and_the_refusal_names_what_holds(service: Service) -> None:
    old = await remember(service, "I live in Rome")
    new = await remember(service, "I live in Oslo")
    await compare(service.runtime.backends, MOVED)
    problem = assert_problem(await post(service, f"memories/{old['id']}/forget"), 409, "superseded")
    assert new["id"] in problem["detail"]
    assert problem["errors"] == [{"field": "memory_id", "message": f"is superseded by {new['id']}"}]


async def test_the_summary_is_of_what_holds(service: Service) -> None:
    await remember(service, "I live in Oslo", session_id="s1")
    await remember(service, "My cat is called Tom", session_id="s2")
    assert "Tom" in (await post(service, "summary", {})).json()["summary"]
    assert "Tom" not in (await post(service, "summary", {"session_id": "s1"})).json()["summary"]


@pytest.mark.parametrize("session", ["call-17", "a/b c", "å", "two\nlines", "call\n"])
async def test_an_administrator_deletes_a_session_whatever_its_name(service: Service, session: str) -> None:
    await remember(service, "The cat is black", session_id=session)
    await remember(service, "The dog is white", session_id="other")
    url = f"/profiles/bot/sessions/{quote(session, safe='')}"
    assert_problem(await service.client.delete(url, headers=service.credential(agent="bot")), 403, "forbidden")
    admin = service.credential(admin=True)
    for memories in (1, 0):
        answer = await service.client.delete(url, headers=admin)
        assert (answer.status_code, answer.json()) == (200, {"memories": memories, "messages": 0, "more": False})
    assert await service.contents("cat or dog") == ["The dog is white"]


BAD = [
    ("remember", {"content": " "}, "content"),
    ("remember", {"content": "x", "session_id": "s" * 65}, "session_id"),
    ("remember", {"content": "x", "session_id": None}, "session_id"),
    ("remember", {"content": "x", "occurred_at": "yesterday"}, "occurred_at"),
    ("remember", {"content": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
    ("remember", {"content": "x", "metadata": {}}, "metadata"),
    ("recall", {}, "query"),
    ("recall", {"query": "x" * 1025}, "query"),
    ("recall", {"query": "å" * 513}, "query"),
    ("recall", {"query": "x", "thinking_level": "deep"}, "thinking_level"),
    ("recall", {"query": "x", "response_length": "huge"}, "response_length"),
    ("recall", {"query": "x", "reference_time": "soon"}, "reference_time"),
    ("recall", {"query": "x", "reference_date": "soon"}, "reference_date"),
    ("recall", {"query": "x", "top_k": 5}, "top_k"),
    ("summary", {"session_id": ""}, "session_id"),
    ("memories/none/forget", {}, "memory_id"),
    ("memories/none/unforget", {}, "memory_id"),
]


@pytest.mark.parametrize(("path", "body", "field"), BAD)
async def test_what_is_wrong_is_named_and_nothing_is_written(
    shared_service: Service, path: str, body: Any, field: str
) -> None:
    answer = await post(shared_service, path, body)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}
    assert (await get(shared_service, "memories")).json() == {"memories": []}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 101}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"type": "note"}, "type"),
        ({"session_id": ""}, "session_id"),
    ],
)
async def test_a_list_names_what_is_wrong_with_it(shared_service: Service, query: dict[str, Any], field: str) -> None:
    answer = await get(shared_service, "memories", **query)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


async def test_too_large_a_content_is_refused_by_its_size(service: Service) -> None:
    assert_problem(await post(service, "remember", {"content": "x" * 32_769}), 413, "content_too_large")


async def test_a_credential_reaches_its_own_profile_only_and_another_ones_memory_is_not_there(
    service: Service,
) -> None:
    memory = await remember(service, "The cat is black")
    path = f"memories/{memory['id']}"
    for verb, body in (("remember", {"content": "x"}), ("recall", {"query": "x"}), ("summary", {})):
        assert_problem(await post(service, verb, body, agent="other"), 403, "forbidden")
    for verb in ("forget", "unforget"):
        assert_problem(await post(service, f"{path}/{verb}", agent="other"), 403, "forbidden")
        assert_problem(await post(service, f"{path}/{verb}", profile="other"), 404, "not_found")
        assert_problem(await post(service, f"{path}/{verb}", tenant="globex"), 404, "not_found")
    assert_problem(await get(service, path, profile="other"), 404, "not_found")
    assert (await get(service, path)).status_code == 200


async def test_recalls_of_profiles_and_summaries_count_as_recalls(tmp_path: Path) -> None:
    async with serving(tmp_path, agent_recalls_per_minute=2) as service:
        assert (await post(service, "recall", {"query": "x"})).status_code == 200
        assert (await post(service, "summary", {})).status_code == 200
        assert_problem(await post(service, "recall", {"query": "x"}), 429, "quota_exceeded")
        assert_problem(await post(service, "summary", {}), 429, "quota_exceeded")
