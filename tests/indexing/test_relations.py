"""A reader compares memories in the background: what follows of it, and that nothing of it is lost."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.comparing import STATED
from app.domain.errors import DatabaseUnavailable, ReaderUnavailable, UpstreamUnavailable
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.reading import Relation
from app.domain.undoing import Selected
from app.indexing.jobs.backfill import backfill_claims
from app.indexing.jobs.relate import BATCH, Relating
from app.ports.database import Row
from app.ports.processes import UnknownProcesses
from app.runtime.relating import read_left_over, relating
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo_taught import UndoTaught
from app.services.profiles.correcting import Corrections
from app.services.profiles.profile import ProfileService
from tests.services.scripted_reader import DOUBTFUL, INSTRUCTION, REPLACES, RESTATES, TASK, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import claim, mark_read, memory_column, superseded
from tests.support.tables import column_of, delete_rows, insert_rows, rows_of, set_rows

ROME, OSLO, PARIS = (
    "Ella goes to Sunflower kindergarten",
    "Ella is a first grader at Parkside",
    "Ella is at Hill school",
)
TEA = "Ella likes tea"


async def claims_rows(bench: Bench) -> list[Row]:
    return await rows_of(
        bench, "claim", "key", "value", "whole", "opens", "superseded_by", "memory_id", by="key, happened_at, memory_id"
    )


async def relations(bench: Bench) -> list[Row]:
    return await rows_of(
        bench, "relation", "older_id", "newer_id", "name", "effect", "version", by="older_id, newer_id"
    )


class Scene:
    """A bench with a reader that compares when it is told to."""

    def __init__(self, bench: Bench, reader: ScriptedReader) -> None:
        self.bench = bench
        self.reader = reader
        self.backends = replace(bench.backends, reader=reader)
        self.at = 0

    @property
    def job(self) -> Relating:
        return relating(self.backends, self.reader)

    def gateway(self, author: Author = ADMINISTRATOR, tenant: str = "acme") -> LongTermMemoryGateway:
        return LongTermMemoryGateway(self.backends.of_tenant(tenant, author))

    async def store(self, content: str, *, at: int | None = None, agent: str = "bot", **given: object) -> str:
        self.at += 86_400_000
        author = given.pop("author", ADMINISTRATOR)
        assert isinstance(author, Author)
        new = NewMemory(content, occurred_at=self.at if at is None else at, **given)  # type: ignore[arg-type]
        id_ = await self.gateway(author).store(agent, new)
        await self.bench.delivered()
        return id_

    async def compare(self) -> None:
        await self.job.begin()
        while await read_left_over(self.job):
            pass

    async def waiting(self) -> int:
        """Count what the reader has still to compare."""
        return len([read for read in await memory_column(self.bench, "statements_read") if not read])

    async def hidden(self) -> list[str]:
        return await superseded(self.bench)

    async def found(self, text: str, **given: object) -> list[str]:
        recall = await self.gateway().recall("bot", Query(text, **given))  # type: ignore[arg-type]
        return [entry.content for entry in recall.entries]


@pytest.fixture
async def scene(tmp_path: Path, backend: Backend) -> AsyncIterator[Scene]:
    reader = ScriptedReader({(ROME, OSLO): REPLACES, (OSLO, PARIS): REPLACES, (ROME, PARIS): REPLACES})
    async with bench_on(tmp_path, backend) as made:
        yield Scene(made, reader)


async def test_what_a_reader_calls_replaced_is_hidden_and_found_as_of_its_time(scene: Scene) -> None:
    await scene.store(ROME)
    first = scene.at
    await scene.store(OSLO)
    await scene.store(TEA)
    await scene.compare()
    assert await scene.hidden() == [ROME]
    assert sorted(await scene.found("Ella school")) == [OSLO, TEA]
    assert ROME in await scene.found("Ella school", as_of=first)
    assert await scene.waiting() == 0


@pytest.mark.parametrize("pairs", [{}, {(ROME, TEA): RESTATES}, {(ROME, TEA): DOUBTFUL}])
async def test_what_a_person_has_stated_stays_whatever_a_reader_finds_before_or_after(
    scene: Scene, pairs: dict[tuple[str, str], Relation]
) -> None:
    scene.reader.pairs = pairs
    older = await scene.store(ROME)
    author = replace(ADMINISTRATOR, channel="console")
    newer = await Corrections(scene.backends.of_tenant("acme", author)).correct("bot", older, TEA, scene.at + 1)
    await scene.compare()
    assert await scene.hidden() == [ROME]
    scene.reader.version = "scripted-2"
    await scene.compare()
    assert await scene.hidden() == [ROME]
    (row,) = await relations(scene.bench)
    assert (row["older_id"], row["newer_id"], row["version"]) == (older, newer, STATED)
    await scene.gateway().delete("bot", newer)
    assert await scene.hidden() == []


async def test_texts_of_which_the_reader_finds_that_both_hold_claim_nothing(scene: Scene) -> None:
    await scene.store("I live in Rome")
    await scene.store("I live in Oslo")
    await scene.compare()
    assert await claims_rows(scene.bench) == []
    assert await scene.hidden() == []


@pytest.mark.parametrize("before", [True, False], ids=["before", "in a recall"])
async def test_a_translation_replaces_nothing_whatever_a_reader_finds(scene: Scene, before: bool) -> None:  # noqa: FBT001
    english, german = "The key of the cellar is in the kitchen", "Der Schlüssel ist nicht in der Küche"
    scene.reader.update = True
    await scene.store(english)
    await scene.store(german)
    if before:
        await scene.compare()
    assert set(await scene.found("key kitchen Schlüssel Küche")) == {english, german}
    assert scene.reader.compared == []
    assert await scene.hidden() == []


async def test_between_two_thresholds_both_come_back_and_the_newer_first(scene: Scene) -> None:
    scene.reader.pairs = {(ROME, OSLO): DOUBTFUL}
    await scene.store(ROME)
    await scene.store(OSLO)
    await scene.compare()
    assert await scene.hidden() == []
    assert await scene.found("Sunflower kindergarten") == [OSLO, ROME]
    (row,) = await relations(scene.bench)
    assert (row["name"], row["effect"], row["version"]) == ("replaces", "newer_first", "scripted-1")


async def test_the_order_of_arrival_makes_no_difference(scene: Scene) -> None:
    await scene.store(PARIS, at=3_000_000)
    await scene.compare()
    await scene.store(ROME, at=1_000_000)
    await scene.store(OSLO, at=2_000_000)
    await scene.compare()
    assert sorted(map(str, await scene.hidden())) == sorted([ROME, OSLO])
    assert await scene.found("Ella school") == [PARIS]


async def test_a_deleted_correction_was_never_said(scene: Scene) -> None:
    await scene.store(ROME)
    oslo = await scene.store(OSLO)
    paris = await scene.store(PARIS)
    await scene.compare()
    await scene.gateway().delete("bot", paris)
    assert await scene.hidden() == [ROME]
    assert await scene.found("Ella school") == [OSLO]
    await scene.gateway().delete("bot", oslo)
    assert await scene.hidden() == []
    assert await relations(scene.bench) == []
    assert await claims_rows(scene.bench) == []


async def test_a_chain_that_was_compared_link_by_link_leads_to_its_end(scene: Scene) -> None:
    scene.reader.pairs = {(ROME, OSLO): REPLACES, (OSLO, PARIS): REPLACES}
    for content in (ROME, OSLO, PARIS):
        await scene.store(content)
        await scene.compare()
    assert await scene.found("Sunflower kindergarten") == [PARIS]


@pytest.mark.parametrize("failing", ["database", "index", "reader"])
async def test_what_an_outage_interrupts_still_waits(scene: Scene, failing: str) -> None:
    await scene.store(ROME)
    await scene.store(OSLO)
    errors = {
        "database": (scene.bench.database, DatabaseUnavailable("It is away.")),
        "index": (scene.bench.index, UpstreamUnavailable("It is away.")),
        "reader": (scene.reader, ReaderUnavailable("It is closed.")),
    }
    port, error = errors[failing]
    port.error = error  # type: ignore[attr-defined]
    with pytest.raises(type(error)):
        await scene.compare()
    port.error = None  # type: ignore[attr-defined]
    assert await scene.waiting() == 2
    await scene.compare()
    assert await scene.hidden() == [ROME]


@pytest.mark.parametrize("error", [ReaderUnavailable("It cannot be computed."), ValueError("A defect.")])
async def test_memories_that_cannot_be_read_keep_no_others_waiting_and_are_read_once_they_can_be(
    scene: Scene, error: Exception
) -> None:
    await scene.store(ROME)
    unreadable = [f"Unreadable {number}" for number in range(BATCH + 1)]
    for content in unreadable:
        await scene.store(content, agent="other")
    await scene.store(OSLO)
    scene.reader.unreadable = dict.fromkeys(unreadable, error)
    job = scene.job
    await job.begin()
    for _ in range(8):  # all of them twice: other weights let all wait
        with contextlib.suppress(type(error)):
            await read_left_over(job)
    assert await scene.hidden() == [ROME]
    assert await scene.waiting() == len(unreadable)
    scene.reader.unreadable = {}
    await scene.compare()
    assert await scene.waiting() == 0


async def test_reading_again_changes_nothing(scene: Scene) -> None:
    for content in (ROME, OSLO, PARIS, TEA):
        await scene.store(content)
    await scene.compare()
    before = await relations(scene.bench), await claims_rows(scene.bench)
    await mark_read(scene.bench, read=False)
    await scene.compare()
    assert (await relations(scene.bench), await claims_rows(scene.bench)) == before


async def test_other_weights_read_everything_anew(scene: Scene) -> None:
    await scene.store(ROME)
    await scene.store(OSLO)
    await scene.store(TEA)
    await scene.compare()
    scene.reader.version, scene.reader.pairs = "scripted-2", {(OSLO, TEA): REPLACES}
    await scene.compare()
    assert await scene.hidden() == [OSLO]
    assert [row["version"] for row in await relations(scene.bench)] == ["scripted-2"]


async def test_what_rules_had_read_is_read_anew_by_a_reader(scene: Scene) -> None:
    for at, place in ((1_000, "Rome"), (2_000, "Oslo")):
        id_ = await scene.store(f"I live in {place}", at=at)
        await claim(scene.bench, "user/lives_in", place, id_, at)
    assert await scene.hidden() == ["I live in Rome"]
    scene.reader.pairs = {}
    await scene.compare()
    assert await scene.hidden() == []
    assert await claims_rows(scene.bench) == []


async def test_facts_keep_their_keys_and_replace_no_other_facts(scene: Scene) -> None:
    scene.reader.update = True
    for single, predicate in ((True, "lives in"), (False, "has been to")):
        for city in ("Rome", "Oslo"):
            fact = {"subject": "Ann", "predicate": predicate, "object": city, "single": single}
            await scene.store(f"Ann {predicate} {city}", metadata={"fact": fact})
    before = await claims_rows(scene.bench)
    await scene.compare()
    assert scene.reader.compared == []
    assert await scene.hidden() == ["Ann lives in Rome"]
    assert await claims_rows(scene.bench) == before


async def test_what_a_move_to_another_shard_writes_waits_until_it_has_ended(scene: Scene) -> None:
    await scene.compare()
    await scene.store(ROME)
    await scene.store(OSLO)
    await insert_rows(scene.bench, "tenant_epochs", {"tenant_id": "acme", "epoch": 1, "state": "arriving"})
    await scene.compare()
    assert scene.reader.compared == []
    await set_rows(scene.bench, "tenant_epochs", {"state": "here"})
    await scene.compare()
    assert await scene.hidden() == [ROME]


async def test_a_process_with_older_weights_lets_nothing_be_read_anew(scene: Scene) -> None:
    await scene.store(ROME)
    await scene.compare()
    await relating(scene.backends, ScriptedReader(version="scripted-2")).begin()
    await scene.job.sweep()
    assert await scene.waiting() == 0


async def test_what_becomes_a_fact_while_it_is_read_keeps_its_key(scene: Scene) -> None:
    said = "Ann lives in Rome"
    fact: Json = {"subject": "Ann", "predicate": "lives in", "object": "Rome", "single": True}

    async def told() -> None:
        await scene.gateway().store("bot", NewMemory(said, {"fact": fact}, occurred_at=scene.at))

    await scene.compare()
    await scene.store(said)
    scene.reader.meanwhile = told
    await scene.compare()
    assert [row["value"] for row in await claims_rows(scene.bench)] == ["rome"]
    assert await scene.waiting() == 0


async def test_a_memory_of_several_sentences_is_not_hidden_with_one_of_them(scene: Scene) -> None:
    both = f"{ROME}. {TEA}."
    scene.reader.pairs = {(both, OSLO): REPLACES}
    await scene.store(both)
    await scene.store(OSLO)
    await scene.compare()
    assert await scene.hidden() == []
    assert await scene.found("Sunflower kindergarten") == [OSLO, both]


async def test_another_agent_takes_the_place_of_nothing(scene: Scene) -> None:
    await scene.store(ROME)
    await scene.store(OSLO, agent="other")
    await scene.compare()
    assert scene.reader.compared == []


async def test_who_is_bound_to_speakers_takes_the_place_only_of_what_these_said(scene: Scene) -> None:
    anna = Author("of-anna", "http", speakers=frozenset({"anna"}))
    said, of_admin, later = "Anna: I live in Rome", "The office is in Rome", "Anna: all that was said before is void"
    scene.reader.pairs = {(said, later): REPLACES, (of_admin, later): REPLACES}
    await scene.store(of_admin)
    await scene.store(said, author=anna)
    await scene.store(later, author=anna)
    await scene.compare()
    assert await scene.hidden() == [said]


async def test_who_speaks_for_another_without_leave_takes_the_place_of_nothing(scene: Scene) -> None:
    ben = Author("of-ben", "http", speakers=frozenset({"ben"}))
    said, false = "Anna: I live in Rome", "Anna: I live in Oslo"
    scene.reader.pairs = {(said, false): REPLACES}
    await scene.store(said)
    await scene.store(false, author=ben)
    await scene.compare()
    assert await scene.hidden() == []


async def test_a_machine_takes_the_place_of_nothing(scene: Scene) -> None:
    await scene.store(ROME)
    await scene.store(OSLO, metadata={"speaker": "assistant"})
    await scene.compare()
    assert scene.reader.compared == []


async def test_a_memory_is_a_fact_until_the_reader_says_what_it_is(scene: Scene) -> None:
    rule, task = "Always use pnpm", "Call Ann on Monday"
    scene.reader.of_kinds = {rule: INSTRUCTION, task: TASK}
    await scene.store(rule)
    await scene.store(task)
    assert await memory_column(scene.bench, "type", by="id") == ["fact", "fact"]
    await scene.compare()
    assert await memory_column(scene.bench, "type", by="id") == ["instruction", "task"]


async def test_what_says_the_same_is_recorded_and_hides_nothing(scene: Scene) -> None:
    scene.reader.pairs = {(ROME, OSLO): RESTATES}
    await scene.store(ROME)
    await scene.store(OSLO)
    await scene.compare()
    assert [(row["name"], row["effect"]) for row in await relations(scene.bench)] == [("restates", None)]
    assert await claims_rows(scene.bench) == []


async def test_many_memories_cost_few_runs(scene: Scene) -> None:
    for number in range(16):
        await scene.store(f"Room {number} is free")
    scene.bench.database.runs.clear()
    scene.bench.index.journal.clear()
    assert await read_left_over(scene.job)
    assert await scene.waiting() == 0
    assert len(scene.bench.database.runs) <= 4
    assert scene.bench.index.journal.count("index.query") <= 16
    assert all(len(group) <= 8 * 16 for group in [scene.reader.compared])


async def test_relations_are_erased_with_their_memories(scene: Scene) -> None:
    for agent in ("bot", "other"):
        await scene.store(ROME, agent=agent, at=1_000)
        await scene.store(OSLO, agent=agent, at=2_000)
    await scene.compare()
    await delete_rows(scene.bench, "long_term_memory", agent_id="bot")
    assert await column_of(scene.bench, "relation", "agent_id") == ["other"]


async def test_what_was_forgotten_is_compared_too_and_replaces_once_it_is_remembered(scene: Scene) -> None:
    await scene.store(ROME)
    oslo = await scene.store(OSLO)
    profile = ProfileService(scene.backends.of_tenant("acme", ADMINISTRATOR))
    await profile.forget("bot", oslo)
    await scene.compare()
    assert await scene.hidden() == [ROME]
    await profile.unforget("bot", oslo)
    assert await scene.found("Ella school") == [OSLO]


async def test_one_process_at_a_time_reads_what_is_left_over(scene: Scene) -> None:
    await scene.store(ROME)
    others = replace(scene.backends, processes=UnknownProcesses("another"))
    assert await scene.job.left_over()
    assert await relating(others, scene.reader).left_over() is None
    assert not await read_left_over(relating(others, scene.reader))
    assert await scene.waiting() == 1
    await scene.compare()
    assert await scene.waiting() == 0


@pytest.mark.parametrize("separator", [" ", "\n"], ids=["without an end", "of lines"])
async def test_a_long_memory_is_read_in_few_passages_and_is_never_hidden(scene: Scene, separator: str) -> None:
    long = separator.join([ROME] * 800)
    scene.reader.update = True
    await scene.compare()
    await scene.store(long)
    await scene.store(OSLO)
    await scene.compare()
    assert 0 < len(scene.reader.compared) <= 6
    assert await scene.hidden() == []


async def test_program_text_is_compared_like_any_text_and_other_scripts_than_latin_with_nothing(scene: Scene) -> None:
    pairs = [
        ('{"host": "a"}', '{"host": "b"}'),
        ("\u5979\u4f4f\u5728\u7f57\u9a6c\u3002", "\u5979\u4f4f\u5728\u5965\u65af\u9646\u3002"),
        ("x = 1", "x = 2"),
    ]
    scene.reader.pairs = dict.fromkeys(pairs, REPLACES)
    for older, newer in pairs:
        await scene.store(older)
        await scene.store(newer)
    await scene.compare()
    assert sorted(map(str, await scene.hidden())) == sorted(older for older, _ in pairs if older.isascii())


async def test_a_reader_that_comes_back_reads_what_was_stored_meanwhile(scene: Scene) -> None:
    await scene.compare()
    await backfill_claims(scene.bench.database)
    await scene.bench.gateway.store("bot", NewMemory(ROME, occurred_at=1_000))
    await scene.bench.gateway.store("bot", NewMemory(OSLO, occurred_at=2_000))
    await scene.bench.delivered()
    assert await scene.hidden() == []
    await scene.compare()
    assert await scene.hidden() == [ROME]


@pytest.mark.parametrize(("undone", "holds_again"), [([OSLO], []), ([OSLO, PARIS], [ROME])])
async def test_an_undo_says_and_does_what_holds_again(scene: Scene, undone: list[str], holds_again: list[str]) -> None:
    other = Author("another", "http")
    for content in (ROME, OSLO, PARIS):
        await scene.store(content, author=other if content in undone else ADMINISTRATOR)
    await scene.compare()
    undo = UndoTaught(scene.backends.of_tenant("acme", ADMINISTRATOR))
    before = await undo.dry_run(Selected(credential_id="another"))
    assert before.forecast is not None
    assert [one.content for one in before.forecast.holding] == holds_again
    await undo.run(Selected(credential_id="another"))
    remaining = [content for content in (ROME, OSLO, PARIS) if content not in undone]
    assert await scene.hidden() == [content for content in remaining[:-1] if content not in holds_again]
