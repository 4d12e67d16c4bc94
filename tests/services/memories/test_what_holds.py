"""What holds now: a correction comes in place of what it corrects, whatever the order in which they arrive."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.ports.database import Row
from app.services.memories.gateway import LongTermMemoryGateway
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.memories import expire, memory_rows, set_memories
from tests.support.tables import ANY, rows_of
from tests.support.told import told

DAY = 86_400_000
WHERE = "Where do I live?"


async def claims(bench: Bench) -> list[Row]:
    return await rows_of(
        bench,
        "claim",
        "key",
        "value",
        "superseded_by",
        "superseded_at",
        by="agent_id, key, happened_at, memory_id",
        tenant_id="acme",
    )


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def say(bench: Bench, content: str, day: int | None = None, **fields: Any) -> str:
    """Store a text; one that tells where somebody lives has that as a fact beside it."""
    occurred_at = None if day is None else day * DAY
    metadata = fields.pop("metadata", {})
    metadata = {**told(content, metadata.get("speaker")), **metadata}
    return await bench.gateway.store("bot", NewMemory(content, metadata, occurred_at=occurred_at, **fields))


async def answers(bench: Bench, query: str = WHERE, **asked: Any) -> list[str]:
    return [entry.content for entry in (await bench.gateway.recall("bot", Query(query, **asked))).entries]


async def test_a_correction_comes_first_and_what_it_corrects_not_at_all(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "The cat is black", 2)
    assert (await answers(bench))[0] == "I live in Rome"
    await say(bench, "I moved to Oslo", 3)
    found = await answers(bench, top_k=20)
    assert found[0] == "I moved to Oslo"
    assert "I live in Rome" not in found
    assert await answers(bench, "Rome", top_k=1) == ["I moved to Oslo"]


async def test_what_held_before_is_recalled_as_of_then(bench: Bench) -> None:
    for day, place in ((10, "Rome"), (20, "Oslo"), (30, "Lima")):
        await say(bench, f"I live in {place}", day)
    for day, place in ((10, "Rome"), (19, "Rome"), (20, "Oslo"), (29, "Oslo"), (31, "Lima")):
        assert await answers(bench, as_of=day * DAY, top_k=20) == [f"I live in {place}"]
    assert await answers(bench, as_of=9 * DAY) == []
    assert await answers(bench, top_k=20) == ["I live in Lima"]


async def test_rome_oslo_and_rome_again_are_three_versions(bench: Bench) -> None:
    said = [await say(bench, f"I live in {place}") for place in ("Rome", "Oslo", "Rome")]
    assert len(set(said)) == 3
    assert await answers(bench, top_k=20) == ["I live in Rome"]
    assert [row["superseded_by"] for row in await claims(bench)] == [said[1], said[2], None]


async def test_the_same_value_in_other_words_replaces_nothing_and_goes_with_its_version(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I moved to Rome", 2)
    assert sorted(await answers(bench, top_k=20)) == ["I live in Rome", "I moved to Rome"]
    await say(bench, "I live in Oslo", 3)
    assert await answers(bench, top_k=20) == ["I live in Oslo"]


async def test_an_old_statement_that_comes_late_joins_the_past(bench: Bench) -> None:
    await say(bench, "I live in Oslo", 30)
    await say(bench, "I live in Rome", 10)
    assert await answers(bench, top_k=20) == ["I live in Oslo"]
    assert await answers(bench, top_k=20, as_of=15 * DAY) == ["I live in Rome"]


async def test_deleting_a_correction_brings_back_what_it_had_corrected(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    wrong = await say(bench, "I moved to Oslo", 2)
    await bench.gateway.delete("bot", wrong)
    assert await answers(bench, top_k=20) == ["I live in Rome"]


async def test_what_holds_for_one_does_not_hide_what_a_filter_asks_for(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1, metadata={"user_id": "u1"})
    await say(bench, "I live in Oslo", 2, metadata={"user_id": "u2"})
    for user, place in (("u1", "Rome"), ("u2", "Oslo")):
        assert await answers(bench, where=Filter(metadata={"user_id": user})) == [f"I live in {place}"]
    assert await answers(bench) == ["I live in Oslo"]


async def test_what_a_program_keeps_for_itself_corrects_nothing(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I live in Oslo", 2, metadata={"store.key": "k"})
    assert await answers(bench, for_model=True) == ["I live in Rome"]
    assert sorted(await answers(bench)) == ["I live in Oslo", "I live in Rome"]


async def test_a_correction_that_was_forgotten_and_has_expired_corrects_nothing_any_more(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I live in Oslo", 2, expires_at=bench.backends.clock() + 60_000)
    await set_memories(bench, {"forgotten_at": 1}, expires_at=ANY)
    assert await answers(bench) == []
    await expire(bench, expires_at=ANY)
    assert await answers(bench) == ["I live in Rome"]


async def test_a_recall_tells_what_an_entry_has_replaced_and_when(bench: Bench) -> None:
    await say(bench, "I live in Lima", 1)
    await say(bench, "I live in Rome", 2)
    new = await say(bench, "I moved to Oslo", 3)
    recall = await bench.gateway.recall("bot", Query(WHERE))
    told = sorted((former.until, former.content) for former in recall.formers[new])
    assert told == [(2 * DAY, "I live in Lima"), (3 * DAY, "I live in Rome")]


async def test_a_correction_that_has_expired_corrects_nothing_any_more(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I live in Oslo", 2, expires_at=bench.backends.clock() + 60_000)
    assert await answers(bench) == ["I live in Oslo"]
    await expire(bench, expires_at=ANY)
    assert await answers(bench) == ["I live in Rome"]


async def test_what_is_said_of_the_future_does_not_hold_yet(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I live in Oslo", 60_000)
    await say(bench, "I live in Lima", 2)
    assert sorted(await answers(bench, top_k=20)) == ["I live in Lima", "I live in Oslo"]
    assert (await answers(bench, as_of=60_001 * DAY))[0] == "I live in Oslo"


async def test_the_same_statement_of_the_same_moment_is_one_memory_though_it_is_superseded(bench: Bench) -> None:
    for _ in range(3):
        await say(bench, "I live in Oslo", 30)
        await say(bench, "I live in Rome", 10)
    assert await bench.memories() == 2


async def test_what_holds_again_after_a_delete_is_not_stored_twice(bench: Bench) -> None:
    first = await say(bench, "I live in Rome")
    wrong = await say(bench, "I live in Oslo")
    await bench.gateway.delete("bot", wrong)
    assert await say(bench, "I live in Rome") == first


async def test_many_versions_do_not_crowd_out_what_holds(bench: Bench) -> None:
    for number in range(60):
        version = {"subject": "release", "predicate": "version", "object": f"{number}.0", "single": True}
        await say(bench, f"The release version is {number}.0", number, metadata={"fact": version})
    for number in range(6):
        await say(bench, f"The release notes of part {number} are long", 100)
    found = await answers(bench, "release version", top_k=7)
    assert len(found) == 7
    assert [content for content in found if "version is" in content] == ["The release version is 59.0"]


async def test_storing_it_again_for_another_speaker_takes_the_first_ones_statement_back(bench: Bench) -> None:
    await say(bench, "I live in Oslo", 2, metadata={"speaker": "Ann"})
    await say(bench, "I live in Oslo", 2, metadata={"speaker": "Bob"})
    assert [row["key"] for row in await claims(bench)] == ["bob/lives_in"]


async def test_what_another_agent_or_tenant_says_corrects_nothing(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await bench.gateway.store("other", NewMemory("I moved to Oslo", told("I moved to Oslo")))
    await bench.tenant("rival").store("bot", NewMemory("I moved to Oslo", told("I moved to Oslo")))
    assert await answers(bench, top_k=20) == ["I live in Rome"]


async def test_who_may_not_speak_for_somebody_corrects_nothing_of_theirs(bench: Bench) -> None:
    await say(bench, "Ann: I live in Rome", 1)
    await say(bench, "I live in Lima", 1)
    bob = LongTermMemoryGateway(bench.backends.of_tenant("acme", Author("bob", "http", speakers=frozenset({"bob"}))))
    for content in ("Ann: I moved to Oslo", "I moved to Oslo", "Bob: I moved to Oslo"):
        await bob.store("bot", NewMemory(content, told(content), occurred_at=2 * DAY))
    assert {"Ann: I live in Rome", "I live in Lima"} <= set(await answers(bench, "Where does Ann live?", top_k=20))
    assert [row["key"] for row in await claims(bench)] == ["ann/lives_in", "bob/lives_in", "user/lives_in"]


async def test_explain_says_what_is_superseded_and_as_of_when_it_was_an_answer(bench: Bench) -> None:
    old = await say(bench, "I live in Rome", 1)
    new = await say(bench, "I moved to Oslo", 2)
    why = await bench.gateway.explain("bot", Query(WHERE), old)
    assert list(why.obstacles) == ["superseded"]
    assert why.change is not None
    assert why.change.as_of == DAY
    later = await bench.gateway.explain("bot", Query(WHERE, as_of=DAY), new)
    assert list(later.obstacles) == ["as_of"]


async def test_what_a_score_is_made_of_adds_up_though_a_part_was_handed_on(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I moved to Oslo", 2)
    (entry,) = (await bench.gateway.recall("bot", Query("in Rome I live", explain=True))).entries
    assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score)
    assert "succession" in {finding.channel for finding in entry.findings}


async def test_an_export_takes_the_chain_along_and_importing_it_again_changes_nothing(bench: Bench) -> None:
    for place in ("Rome", "Oslo", "Rome"):
        await say(bench, f"I live in {place}")
    before = await claims(bench)
    lines = await exported(bench)
    assert ["superseded_at" in json.loads(line) for line in lines.splitlines()[1:-1]] == [True, True, False]
    for statuses in ({"unchanged"}, {"imported"}, {"unchanged"}):
        if statuses == {"imported"}:
            for row in await memory_rows(bench, "id"):
                await bench.gateway.delete("bot", str(row["id"]))
            assert await claims(bench) == []
            await bench.quiet()
        assert {line["status"] for line in await imported(bench, lines) if "status" in line} == statuses
        assert await claims(bench) == before
        assert await answers(bench, top_k=20) == ["I live in Rome"]


async def test_erasing_an_agent_leaves_nothing_that_it_stated(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    await say(bench, "I moved to Oslo", 2)
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert await claims(bench) == []
