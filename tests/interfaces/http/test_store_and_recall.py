from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.service import Service


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def test_a_stored_memory_is_recalled(service: Service) -> None:
    await service.store("The customer prefers invoices in Swedish", metadata={"source": "call"})
    (entry,) = await service.recall("invoices in Swedish")
    assert list(entry) == [
        *("id", "content", "metadata", "score", "similarity"),
        *("created_at", "occurred_at", "session_id", "source"),
    ]
    assert len(entry["id"]) == 26
    assert entry["content"] == "The customer prefers invoices in Swedish"
    assert entry["metadata"] == {"source": "call"}
    assert 0 < entry["score"] < 1
    assert 0 < entry["similarity"] < 1
    age = datetime.now(UTC) - datetime.fromisoformat(entry["created_at"])
    assert 0 <= age.total_seconds() < 60


async def test_an_entry_tells_when_it_happened_and_its_session_where_the_store_said(service: Service) -> None:
    await service.store("Ann moved to Lund", session_id="call-17", occurred_at="2025-12-31T23:30:00.5-01:00")
    (entry,) = await service.recall("Ann")
    assert (entry["occurred_at"], entry["session_id"]) == ("2026-01-01T00:30:00.500Z", "call-17")
    assert entry["created_at"] > entry["occurred_at"]
    await service.store("Bob stayed in Malmö")
    (entry,) = await service.recall("Bob", top_k=1)
    assert (entry["content"], entry["occurred_at"], entry["session_id"]) == ("Bob stayed in Malmö", None, None)


async def test_an_empty_memory_answers_with_no_entries(service: Service) -> None:
    answer = await service.post("/recall", {"agent_id": "bot", "query": "anything"})
    assert (answer.status_code, answer.json()) == (200, {"entries": [], "agent": "unknown", "confidence": 0})


async def test_entries_come_best_first(service: Service) -> None:
    for text in ("a cat", "a cat on a mat", "the stock market"):
        await service.store(text)
    entries = await service.recall("a cat on a mat", top_k=3)
    assert [entry["content"] for entry in entries] == ["a cat on a mat", "a cat", "the stock market"]
    assert entries[0]["similarity"] > 0.999
    assert entries == sorted(entries, key=lambda entry: -entry["score"])


async def test_five_entries_come_unless_asked_otherwise(service: Service) -> None:
    for n in range(25):
        await service.store(f"note number {n}")
    assert len(await service.recall("note")) == 5
    assert len(await service.recall("note", top_k=1)) == 1
    assert len(await service.recall("note", top_k=20)) == 20
    assert len(await service.recall("note", top_k=7.0)) == 7


async def test_the_same_content_again_is_the_same_memory_and_keeps_its_metadata(service: Service) -> None:
    await service.store("once", metadata={"take": 1})
    (first,) = await service.recall("once")
    again = {"agent_id": "bot", "content": "once", "metadata": {"take": 2}}
    answer = await service.post("/store", again)
    assert (answer.status_code, answer.json()) == (201, {"stored": True, "kept": ["metadata.take"]})
    assert await service.recall("once") == [first]
    answer = await service.post("/store", again, admin=True)
    assert (answer.status_code, answer.json()) == (201, {"stored": True})
    (second,) = await service.recall("once")
    assert second == first | {"metadata": {"take": 2}}
    assert await service.recall("once", filter={"metadata": {"take": 2}}) == [second]
    assert await service.recall("once", filter={"metadata": {"take": 1}}) == []


async def test_the_same_content_of_another_session_or_time_is_another_memory(service: Service) -> None:
    await service.store("yes")
    await service.store("yes", session_id="a")
    await service.store("yes", session_id="b")
    await service.store("yes", session_id="b", occurred_at="2026-01-01T00:00:00Z")
    await service.store("yes", session_id="b", occurred_at="2026-01-01T01:00:00+01:00")
    assert len(await service.recall("yes")) == 4


async def test_the_same_content_of_another_agent_is_another_memory(service: Service) -> None:
    await service.store("shared", agent_id="a")
    await service.store("shared", agent_id="b")
    (of_a,) = await service.recall("shared", agent_id="a")
    (of_b,) = await service.recall("shared", agent_id="b")
    assert of_a["id"] != of_b["id"]


async def test_a_filter_on_metadata_is_applied_before_top_k(service: Service) -> None:
    for n in range(40):
        await service.store(f"the quick fox, take {n}", metadata={"animal": "fox"})
    await service.store("a bear sleeps", metadata={"animal": "bear", "awake": False, "age": 4, "name": None})
    bear: list[dict[str, Any]] = [{"animal": "bear"}, {"awake": False}, {"age": 4.0}, {"name": None, "age": 4}]
    for wanted in bear:
        assert await service.contents("the quick fox", top_k=1, filter={"metadata": wanted}) == ["a bear sleeps"]
    nothing: list[dict[str, Any]] = [{"animal": "bear", "age": 5}, {"awake": 0}, {"age": "4"}, {"missing": None}]
    for wanted in nothing:
        assert await service.contents("a bear sleeps", filter={"metadata": wanted}) == []


async def test_a_filter_on_time_excludes_its_bounds(service: Service) -> None:
    await service.store("now")
    (entry,) = await service.recall("now")
    created = entry["created_at"]
    assert await service.recall("now", filter={"created_after": created}) == []
    assert await service.recall("now", filter={"created_before": created}) == []
    assert await service.recall("now", filter={"created_after": "2026-01-01T00:00:00Z"}) == [entry]
    assert await service.recall("now", filter={"created_before": "2999-01-01t00:00:00.5+01:30"}) == [entry]
    just_after = created.replace("Z", "001Z")
    assert await service.recall("now", filter={"created_before": just_after}) == [entry]


async def test_unusual_text_comes_back_as_it_was(service: Service) -> None:
    for text in (
        "räksmörgås 🦐 \u202eabc",
        "quotes \" and \\ and ' and -- ; DROP TABLE outbox",
        "\x01\x1f\x7f\u2028\ufeff.",
        "x" * 32768,
        "日" * 10922,
    ):
        await service.store(text, metadata={text[:50]: text[:50], "": [1, {"$.a": None}]})
        (entry,) = await service.recall(text, top_k=1)
        assert entry["content"] == text
        assert entry["metadata"] == {text[:50]: text[:50], "": [1, {"$.a": None}]}
        assert await service.contents(text, filter={"metadata": {text[:50]: text[:50]}}) == [text]


async def test_a_content_of_exactly_the_limit_is_stored_and_found_by_its_end(service: Service) -> None:
    filler = "lorem ipsum dolor sit amet " * 1300
    await service.store("nothing like it")
    await service.store(filler[: 32768 - 40] + " the treasure is under the old oak  ...."[:40])
    (entry,) = await service.recall(filler[:200], top_k=1)
    assert len(entry["content"]) == 32768


async def test_an_agent_credential_reaches_its_own_agent(service: Service) -> None:
    body = {"agent_id": "bot", "content": "mine"}
    assert (await service.post("/store", body, agent="bot")).status_code == 201
    answer = await service.post("/recall", {"agent_id": "bot", "query": "mine"}, agent="bot")
    assert [entry["content"] for entry in answer.json()["entries"]] == ["mine"]


async def test_the_caller_may_name_the_request(service: Service) -> None:
    named = await service.client.get("/healthz", headers={"X-Request-Id": "run-7"})
    assert named.headers["x-request-id"] == "run-7"
    unsafe = await service.client.get("/healthz", headers={"X-Request-Id": "run 7\t{}"})
    assert unsafe.headers["x-request-id"] != "run 7\t{}"


async def test_a_recall_says_that_nothing_was_ever_stored_for_the_agent_that_is_asked(service: Service) -> None:
    async def told(agent_id: str) -> list[str | None]:
        asked = await service.post("/recall", {"agent_id": agent_id, "query": "tea"})
        answered = await service.post(f"/profiles/{agent_id}/recall", {"query": "tea"})
        return [asked.json().get("agent"), answered.json().get("agent")]

    assert await told("ann") == ["unknown", "unknown"]
    await service.store("Bo likes coffee", agent_id="ann")
    assert await told("ann") == [None, None]
    (entry,) = await service.recall("coffee", agent_id="ann")
    await service.delete(entry["id"], agent_id="ann")
    assert await told("ann") == [None, None], "it had a memory"
    assert await told("Ann") == ["unknown", "unknown"]
    await service.client.put("/agents/bo", json={"retention_days": 1}, headers=service.credential(admin=True))
    assert await told("bo") == [None, None], "it was set"
