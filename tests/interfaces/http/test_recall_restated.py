"""Memories that say the same are told to a model once, with the ids of the others."""

from typing import Any

from tests.support.service import Service

CAT = "the cat is black"


async def copies(service: Service) -> list[dict[str, Any]]:
    """Store one text in three sessions, the oldest first; return the memories as an ordinary recall gives them."""
    for session, day in (("a", 1), ("b", 2), ("c", 3)):
        await service.store(CAT, session_id=session, occurred_at=f"2026-03-0{day}T09:00:00Z")
    return sorted(await service.recall(CAT), key=lambda entry: str(entry["occurred_at"]))


async def test_for_a_model_the_newest_stands_for_the_others_and_names_them(service: Service) -> None:
    first, second, third = await copies(service)
    (entry,) = await service.recall(CAT, for_model=True)
    assert entry["id"] == third["id"]
    moments = ("id", "created_at", "occurred_at")
    assert entry["also"] == [{name: other[name] for name in moments} for other in (second, first)]


async def test_whoever_asks_says_whether_copies_are_given_once(service: Service) -> None:
    await copies(service)
    assert len(await service.recall(CAT, collapse=True)) == 1
    assert len(await service.recall(CAT, for_model=True, collapse=False)) == 3
    assert all("also" not in entry for entry in await service.recall(CAT))


async def test_a_filter_that_keeps_the_newest_out_lets_an_older_one_stand_for_the_rest(service: Service) -> None:
    first, second, third = await copies(service)
    (entry,) = await service.recall(CAT, for_model=True, filter={"created_before": third["created_at"]})
    assert entry["id"] == second["id"]
    assert [other["id"] for other in entry["also"]] == [first["id"]]


async def test_an_explanation_names_the_collapse_and_what_returns_the_memory(service: Service) -> None:
    first, _, _ = await copies(service)
    question = {"agent_id": "bot", "query": CAT, "collapse": True, "memory_id": first["id"]}
    explained = (await service.post("/recall/explain", question)).json()
    assert explained["obstacles"] == ["collapse"]
    assert explained["change"] == {"collapse": False}


async def test_the_same_words_of_two_speakers_are_two_memories(service: Service) -> None:
    for name in ("Ann", "Bob", "ann"):
        await service.store("I live in Oslo", metadata={"speaker": name}, session_id=f"of {name}")
    entries = await service.recall("who lives in Oslo", for_model=True)
    assert sorted(entry["metadata"]["speaker"] for entry in entries) == ["Bob", "ann"]
    assert sum(len(entry.get("also", [])) for entry in entries) == 1
