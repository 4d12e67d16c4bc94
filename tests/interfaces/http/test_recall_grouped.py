"""Recalls whose entries are put together by their sessions."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.service import Service


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def grouped(service: Service, query: str, **fields: Any) -> dict[str, Any]:
    answer = await service.post("/recall", {"agent_id": "bot", "query": query, "group_by": "session", **fields})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def talk(service: Service, session: str | None, *contents: str, **fields: Any) -> None:
    for content in contents:
        await service.store(content, session_id=session, **fields)


def flat(answer: dict[str, Any]) -> Sequence[str]:
    return [id_ for group in answer["groups"] for id_ in group["entries"]]


async def test_entries_come_session_after_session_the_likeliest_first(service: Service) -> None:
    for session in ("fox-1", "fox-2"):
        await talk(service, session, *[f"the red fox of {session} number {n}" for n in range(7)])
    await talk(service, "other", "trains leave at nine", "rain is expected")
    await talk(service, None, "a red fox alone", "the market was closed")
    answer = await grouped(service, "red fox")
    entries = {entry["id"]: entry for entry in answer["entries"]}
    assert [entry["id"] for entry in answer["entries"]] == flat(answer)
    assert len(entries) == len(flat(answer))
    assert len(answer["groups"]) == 5
    assert {group["session_id"] for group in answer["groups"][:2]} == {"fox-1", "fox-2"}
    for group in answer["groups"]:
        of_group = [entries[id_] for id_ in group["entries"]]
        assert {entry["session_id"] for entry in of_group} == {group["session_id"]}
        assert 1 <= len(of_group) <= (1 if group["session_id"] is None else 5)
        scores = [entry["score"] for entry in of_group]
        assert scores == sorted(scores, reverse=True)
        missed = 1.0
        for score in scores:
            missed *= 1 - score
        assert group["score"] == pytest.approx(1 - missed, abs=1e-9)
    assert [len(group["entries"]) for group in answer["groups"][:2]] == [5, 5]
    told = [group["score"] for group in answer["groups"]]
    assert told == sorted(told, reverse=True)
    assert answer["confidence"] == max(entry["score"] for entry in answer["entries"])


async def test_the_most_entries_asked_for_are_sessions(service: Service) -> None:
    for n in range(4):
        await talk(service, f"s{n}", *[f"red fox {n} {m}" for m in range(3)])
    for top_k in (1, 3, 4, 50):
        answer = await grouped(service, "red fox", top_k=top_k)
        assert len(answer["groups"]) == min(top_k, 4)
        assert len(answer["entries"]) == 3 * min(top_k, 4)


async def test_without_the_wish_an_answer_tells_of_no_groups_and_with_it_of_none_where_nothing_is_found(
    service: Service,
) -> None:
    assert await grouped(service, "anything") == {"entries": [], "groups": [], "confidence": 0, "agent": "unknown"}
    await talk(service, "s", "red fox", "red foxes")
    answer = await service.post("/recall", {"agent_id": "bot", "query": "red fox"})
    assert answer.json().keys() == {"entries", "confidence"}


async def test_filter_least_score_tokens_and_copies_apply_to_entries_before_they_are_grouped(service: Service) -> None:
    await talk(service, "s", "red fox", "Red  FOX", "a red fox here", metadata={"k": 1})
    await talk(service, "t", "RED FOX", "an owl sings in the tree", metadata={"k": 2})
    by_metadata = await grouped(service, "red fox", filter={"metadata": {"k": 2}})
    assert [group["session_id"] for group in by_metadata["groups"]] == ["t"]
    once = await grouped(service, "red fox", collapse=True)
    contents = [entry["content"].lower().split() for entry in once["entries"]]
    assert contents.count(["red", "fox"]) == 1
    least = sorted(entry["score"] for entry in once["entries"])[1]
    good = await grouped(service, "red fox", collapse=True, min_score=least)
    assert min(entry["score"] for entry in good["entries"]) >= least
    assert len(good["entries"]) == len(once["entries"]) - 1
    short = await grouped(service, "red fox", max_tokens=4)
    assert len(short["entries"]) == 2
    assert (await grouped(service, "red fox", as_of="2000-01-01T00:00:00Z"))["groups"] == []


async def test_a_session_of_the_same_name_of_another_agent_or_tenant_is_another_one(service: Service) -> None:
    await talk(service, "s", "red fox mine")
    before = await grouped(service, "red fox")
    await talk(service, "s", "red fox of another agent", agent_id="other")
    await talk(service, "s", "red fox of another tenant", tenant="other")
    assert await grouped(service, "red fox") == before
    assert [entry["content"] for entry in before["entries"]] == ["red fox mine"]
