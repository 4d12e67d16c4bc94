"""Memories of one agent that restate each other become one, each week: what follows of it, and that nothing is lost."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.consolidation import Consolidation
from app.domain.errors import Conflict, DatabaseUnavailable, NotFound, ReaderUnavailable
from app.domain.facts import Fact, FactStatement
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.domain.reading import Relation
from app.domain.undoing import Selected
from app.indexing.jobs.consolidate import Consolidate, Consolidated
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.consolidation import Consolidations
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo import Undo
from app.services.memories.undo_taught import UndoTaught
from app.services.tiers.facts import SemanticMemory
from app.storage.system.consolidating import LEASE
from tests.services.compared import compare
from tests.services.scripted_reader import REPLACES, RESTATES, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import contents, expire, mark_read, memory_rows, set_memories, superseded
from tests.support.scopes import begin_run
from tests.support.tables import insert_rows, rows_of

DAY_MS = 86_400_000
TEA, LIKES_TEA, TEA_AT_FIVE = "I like tea", "My favourite drink is tea", "I like tea at 5"


class Scene:
    """A bench with memories, which consolidates when it is told to."""

    def __init__(self, bench: Bench, reader: ScriptedReader | None) -> None:
        self.bench = bench
        self.reader = reader
        self.backends = replace(bench.backends, reader=reader)

    def gateway(self, tenant: str = "acme", author: Author = ADMINISTRATOR) -> LongTermMemoryGateway:
        return LongTermMemoryGateway(self.backends.of_tenant(tenant, author))

    async def store(self, content: str, day: int | None = None, *, agent: str = "bot", **given: object) -> str:
        tenant, author = str(given.pop("tenant", "acme")), given.pop("author", ADMINISTRATOR)
        assert isinstance(author, Author)
        at = None if day is None else day * DAY_MS
        new = NewMemory(content, occurred_at=at, **given)  # type: ignore[arg-type]
        return await self.gateway(tenant, author).store(agent, new)

    async def compared(self) -> None:
        assert self.reader is not None
        await self.bench.delivered()
        await compare(self.backends, self.reader)

    def job(self, *, dry_run: bool = False, holder: str = "one") -> Consolidate:
        return Consolidate(
            self.bench.database,
            self.reader,
            holder=holder,
            rate_limiter=RateLimiter(1e9),
            pause=0,
            report=lambda _: None,
            dry_run=dry_run,
        )

    async def consolidate(self) -> Consolidated:
        return await self.job().run()

    async def hidden(self) -> list[str]:
        return await superseded(self.bench)

    async def found(self, text: str, **given: object) -> list[str]:
        recall = await self.gateway().recall("bot", Query(text, **given))  # type: ignore[arg-type]
        return [entry.content for entry in recall.entries]

    @property
    def reports(self) -> Consolidations:
        return Consolidations(self.backends.of_tenant("acme", ADMINISTRATOR))

    async def last(self) -> Consolidation:
        (report, *_) = await self.reports.latest(5)
        return report


@pytest.fixture
async def plain(tmp_path: Path, backend: Backend) -> AsyncIterator[Scene]:
    """Without a reader."""
    async with bench_on(tmp_path, backend) as made:
        yield Scene(made, None)


@pytest.fixture
async def read(tmp_path: Path, backend: Backend) -> AsyncIterator[Scene]:
    """With a reader."""
    same = (TEA, LIKES_TEA, TEA_AT_FIVE)
    pairs = {(one, other): RESTATES for one in same for other in same if one != other}
    async with bench_on(tmp_path, backend) as made:
        yield Scene(made, ScriptedReader(pairs))


async def test_of_memories_that_say_the_same_word_for_word_the_newest_is_kept_and_the_others_lead_to_it(
    plain: Scene,
) -> None:
    ids = [await plain.store(content, session_id=f"s{n}") for n, content in enumerate((TEA, "I  like\u00a0tea ", TEA))]
    done = await plain.consolidate()
    assert (done.memories, done.facts, done.tenants, done.agents) == (2, 0, 1, 1)
    kept = (await plain.gateway().recall("bot", Query("tea"))).entries
    assert [entry.id for entry in kept] == [ids[-1]]
    assert len(await plain.hidden()) == 2
    assert (await plain.consolidate()).memories == 0


async def test_what_was_merged_is_found_as_of_its_time_and_where_a_filter_keeps_out_what_is_kept(plain: Scene) -> None:
    await plain.store(TEA, 1, metadata={"from": "first"}, session_id="a")
    await mark_read(plain.bench)
    await plain.store(TEA, 9, metadata={"from": "last"}, session_id="b")
    await mark_read(plain.bench)
    assert (await plain.consolidate()).memories == 1
    first = Filter(metadata={"from": "first"})
    recall = plain.gateway().recall
    for query in (Query("tea", as_of=2 * DAY_MS), Query("tea", where=first)):
        assert [entry.metadata["from"] for entry in (await recall("bot", query)).entries] == ["first"]
    assert [entry.metadata["from"] for entry in (await recall("bot", Query("tea"))).entries] == ["last"]


async def test_what_may_be_two_things_of_one_wording_stays_two(plain: Scene) -> None:
    for day in (1, 2):  # nobody has read whether it is an event
        await plain.store("I went to the gym", day)
    for day in (3, 4):
        await plain.store("Tomorrow I leave", day)
    await mark_read(plain.bench, content="Tomorrow I leave")
    for speaker in ("Ella", "Tom", "assistant"):
        await plain.store("I like tea", metadata={"speaker": speaker}, session_id=speaker)
    await plain.store("I have -5 points", session_id="x")
    await plain.store("I have 5 points", session_id="y")
    await plain.store("Is it tea?", session_id="x")
    await plain.store("It is tea", session_id="y")
    assert (await plain.consolidate()).memories == 0
    assert await plain.hidden() == []


async def test_another_agent_and_another_tenant_keep_what_is_theirs(plain: Scene) -> None:
    await plain.store(TEA, session_id="a")
    await plain.store(TEA, session_id="b", agent="other")
    await plain.store(TEA, session_id="b", tenant="globex")
    done = await plain.consolidate()
    assert (done.memories, done.tenants, done.agents) == (0, 2, 3)


async def test_who_is_bound_to_speakers_merges_nothing_of_others(plain: Scene) -> None:
    bound = Author("of-ella", "http", speakers=frozenset({"ella"}))
    await plain.store(TEA, session_id="a", metadata={"speaker": "Ella"})
    await plain.store(TEA, session_id="b", metadata={"speaker": "Ella"}, author=bound)
    assert (await plain.consolidate()).memories == 0


async def test_restatements_are_merged_in_both_directions_and_the_most_complete_one_is_kept(read: Scene) -> None:
    await read.store(TEA_AT_FIVE, 1)
    await read.store(TEA, 2)
    await read.compared()
    assert (await read.consolidate()).memories == 1
    assert await read.hidden() == [TEA]
    assert await read.found("tea") == [TEA_AT_FIVE]


async def test_what_only_one_direction_restates_stays(read: Scene) -> None:
    assert read.reader is not None
    read.reader.pairs = {(TEA, LIKES_TEA): RESTATES}
    await read.store(TEA, 1)
    await read.store(LIKES_TEA, 2)
    await read.compared()
    assert (await read.consolidate()).memories == 0


async def test_what_a_reader_is_not_sure_of_stays(read: Scene) -> None:
    assert read.reader is not None
    read.reader.pairs = dict.fromkeys([(TEA, LIKES_TEA), (LIKES_TEA, TEA)], Relation(0.05, 0.05, 0.02, 0.88))
    await read.store(TEA, 1)
    await read.store(LIKES_TEA, 2)
    await read.compared()
    assert (await read.consolidate()).memories == 0


async def test_a_number_a_date_or_a_name_that_only_one_has_keeps_both(read: Scene) -> None:
    assert read.reader is not None
    both = ("Call Anna at 5", "Call Tom at 5")
    read.reader.pairs = {both: RESTATES, (both[1], both[0]): RESTATES}
    await read.store(both[0], 1)
    await read.store(both[1], 2)
    await read.compared()
    assert (await read.consolidate()).memories == 0


async def test_what_is_said_again_after_a_correction_holds_again(read: Scene) -> None:
    coffee = "I drink coffee now"
    assert read.reader is not None
    await read.store(TEA_AT_FIVE, 1)
    await read.store(TEA, 9)
    await read.compared()
    await read.consolidate()
    read.reader.pairs = {(TEA_AT_FIVE, coffee): REPLACES, (coffee, TEA): REPLACES}
    await read.store(coffee, 5)
    await read.compared()
    assert await read.found("drink") == [TEA]


async def test_a_chain_leads_straight_to_its_end(read: Scene) -> None:
    said = ("Ella is in Rome", "Ella is in Oslo", "Ella is in Paris", "Ella is in Bern")
    assert read.reader is not None
    read.reader.pairs = dict.fromkeys(pairwise(said), REPLACES)
    for day, content in enumerate(said, 1):
        await read.store(content, day)
    await read.compared()
    assert (await read.consolidate()).chains == 2
    rows = await rows_of(read.bench, "shortcut", "other_id", "kept_id")
    (end,) = await memory_rows(read.bench, "id", superseded_at=None)
    assert {row["kept_id"] for row in rows} == {end["id"]}
    await read.gateway().delete("bot", str(end["id"]))
    assert await read.found("Ella") == [said[2]]
    assert await rows_of(read.bench, "shortcut") == []
    assert (await read.consolidate()).chains == 1


async def test_expired_tasks_are_closed_and_nothing_else_that_has_expired(plain: Scene) -> None:
    for content in ("Buy milk", "A note"):
        await plain.store(content)
    await expire(plain.bench)
    await set_memories(plain.bench, {"type": "task"}, content="Buy milk")
    assert (await plain.consolidate()).tasks == 1
    assert await contents(plain.bench) == ["A note"]
    assert (await plain.last()).tasks == 1


async def test_the_report_tells_what_was_merged_and_an_undo_has_all_of_it_hold_again_for_good(plain: Scene) -> None:
    for session in "abc":
        await plain.store(TEA, session_id=session)
    await plain.consolidate()
    report = await plain.last()
    assert (report.memories, report.facts, report.undone_at) == (2, 0, None)
    assert report.finished_at is not None
    forecast = await plain.reports.undo_dry_run(report.id)
    assert (forecast.dry_run, forecast.memories, len(forecast.merges)) == (True, 2, 2)
    assert len(await plain.hidden()) == 2
    undone = await plain.reports.undo(report.id)
    assert (undone.dry_run, undone.memories, undone.more) == (False, 2, False)
    assert await plain.hidden() == []
    assert (await plain.last()).undone_at is not None
    assert (await plain.consolidate()).memories == 0
    assert await plain.hidden() == []
    with pytest.raises(NotFound):
        await plain.reports.undo("01K2Z6Q9D4W1X8R5T2Y7V3B6NC")


async def test_an_undo_takes_back_one_consolidation_and_leaves_the_others(plain: Scene) -> None:
    await plain.store(TEA, session_id="a")
    await plain.store(TEA, session_id="b")
    await plain.consolidate()
    first = await plain.last()
    await plain.store(TEA, session_id="c")
    await plain.consolidate()
    assert len(await plain.hidden()) == 2
    await plain.reports.undo((await plain.last()).id)
    assert len(await plain.hidden()) == 1
    await plain.reports.undo(first.id)
    assert await plain.hidden() == []
    assert await rows_of(plain.bench, "claim") == []


async def test_a_dry_run_says_what_would_be_merged_and_changes_nothing(read: Scene) -> None:
    for n, content in enumerate((TEA, TEA, TEA_AT_FIVE)):
        await read.store(content, session_id=f"s{n}")
    await read.compared()
    told = await read.job(dry_run=True).run()
    assert await read.hidden() == []
    assert await rows_of(read.bench, "consolidation") == []
    of_request = await read.reports.dry_run("bot")
    assert (of_request.memories, of_request.facts, of_request.at_least) == (1, 0, False)
    done = await read.consolidate()
    assert (told.memories, told.merges) == (done.memories, done.merges)
    assert told.memories == 2


async def test_a_deleted_memory_that_was_kept_lets_the_others_hold_again(plain: Scene) -> None:
    await plain.store(TEA, session_id="a")
    kept = await plain.store(TEA, session_id="b")
    await plain.consolidate()
    await plain.gateway().delete("bot", kept)
    assert await plain.hidden() == []
    for table in ("consolidated", "claim"):
        assert await rows_of(plain.bench, table) == []


@pytest.mark.parametrize("failing", ["database", "reader"])
async def test_what_an_outage_interrupts_is_gone_on_with(read: Scene, failing: str) -> None:
    assert read.reader is not None
    await read.store(TEA_AT_FIVE, 1)
    await read.store(TEA, 2)
    await read.compared()
    if failing == "database":
        read.bench.database.error = DatabaseUnavailable("Away.")
    else:
        read.reader.error = ReaderUnavailable("Away.")
    with contextlib.suppress(DatabaseUnavailable, ReaderUnavailable):
        await read.consolidate()
    read.bench.database.error = read.reader.error = None
    assert await read.hidden() == []
    assert (await read.consolidate()).memories == 1
    assert len(await read.reports.latest(5)) == 1


async def test_a_recall_ends_where_what_supersedes_each_other_leads_in_a_circle(plain: Scene) -> None:
    one, other = [await plain.store(TEA, session_id=session) for session in "ab"]
    for pair in ((one, other), (other, one)):  # as an import may bring it
        merge = {"tenant_id": "acme", "agent_id": "bot", "other_id": pair[0], "kept_id": pair[1], "kind": "memory"}
        await insert_rows(plain.bench, "consolidated", merge | {"consolidation_id": "x", "consolidated_at": 1})
    assert await plain.found("tea") == []
    assert (await plain.consolidate()).memories == 0
    await plain.reports.dry_run("bot")


async def test_one_process_at_a_time_consolidates(plain: Scene) -> None:
    await plain.store(TEA)
    await plain.bench.database.run([LEASE.hold("another")])
    with pytest.raises(Conflict):
        await plain.consolidate()
    await plain.bench.database.run([LEASE.release("another")])
    assert (await plain.consolidate()).tenants == 1


def learner(scene: Scene, credential: str) -> SemanticMemory:
    author = Author(credential, "http", may_replace=credential == "boss")
    return SemanticMemory(scene.backends.of_tenant("acme", author))


async def facts(scene: Scene) -> list[FactStatement]:
    return list((await learner(scene, "boss").facts("bot")).items)


async def test_facts_of_one_subject_predicate_and_object_become_one_whose_sources_agree(plain: Scene) -> None:
    for day, (author, confidence) in enumerate((("a", 0.6), ("a", 0.7), ("b", 0.8)), 1):
        told = Fact("user", "likes", "green tea" if day < 3 else "green  tea", confidence)
        await learner(plain, author).learn("bot", told, occurred_at=day * DAY_MS)
    (held,) = await facts(plain)
    assert held.fact.confidence == 0.8
    done = await plain.consolidate()
    assert (done.facts, done.memories) == (2, 0)
    (held,) = await facts(plain)
    assert held.fact.object == "green  tea"
    assert held.fact.confidence == pytest.approx(1 - 0.3 * 0.2)
    (entry, *_) = (await learner(plain, "b").recall("bot", Query("tea"))).entries
    assert entry.fact is not None
    assert entry.fact.confidence == held.fact.confidence
    await plain.reports.undo((await plain.last()).id)
    assert [each.fact.confidence for each in await facts(plain)] == [0.8]


@pytest.mark.parametrize("second", ["b", "boss"])
async def test_a_fact_that_another_tells_in_the_same_words_is_one_that_is_surer(plain: Scene, second: str) -> None:
    told = Fact("user", "likes", "tea", 0.8)
    ids = [(await learner(plain, author).learn("bot", told)).memory_id for author in ("a", "a", second)]
    assert len(set(ids)) == 1
    (held,) = await facts(plain)
    assert held.fact.confidence == pytest.approx(0.96)


async def test_what_several_guess_stays_a_guess(plain: Scene) -> None:
    for author in "abcdef":
        await learner(plain, author).learn("bot", Fact("user", "likes", "tea", 0.3))
    (held,) = await facts(plain)
    assert (held.fact.confidence, held.fact.confident) == (0.49, False)


async def test_who_is_undone_agrees_with_nobody_any_more(plain: Scene) -> None:
    for author in "ab":
        await learner(plain, author).learn("bot", Fact("user", "likes", "tea", 0.8))
    await Undo(plain.backends.of_tenant("acme", ADMINISTRATOR)).run("b")
    (held,) = await facts(plain)
    assert held.fact.confidence == 0.8


@pytest.mark.parametrize("confidence", [0.8, 1, 7, "surely", True, None])
async def test_who_stored_a_fact_by_another_way_stays_a_source_of_it(plain: Scene, confidence: object) -> None:
    fact = Fact("user", "likes", "tea", 0.8)
    told = {**fact.metadata["fact"], "confidence": confidence}  # type: ignore[dict-item]
    stored = await plain.store(fact.sentence, metadata={"fact": told}, author=Author("a", "http"))
    learned = await learner(plain, "b").learn("bot", fact)
    assert learned.memory_id == stored
    rows = await rows_of(plain.bench, "fact_source", "source", by="source")
    assert [row["source"] for row in rows] == ["author:a", "author:b"]
    if confidence == 0.8:
        (held,) = await facts(plain)
        assert held.fact.confidence == pytest.approx(0.96)
    assert (await learner(plain, "b").recall("bot", Query("tea"))).entries


async def test_a_text_that_is_told_as_a_fact_is_one_and_both_are_sources_of_it(plain: Scene) -> None:
    fact = Fact("user", "likes", "tea", 0.8)
    await plain.store(fact.sentence, author=Author("a", "http"))
    await learner(plain, "b").learn("bot", fact)
    (held,) = await facts(plain)
    assert held.fact.object == "tea"


@pytest.mark.parametrize("way", ["credential", "run"])
async def test_a_fact_that_another_told_too_outlives_the_undo_of_who_told_it_first(plain: Scene, way: str) -> None:
    run_id = "01K2Z7C3P5S8V1Y4B7E0H3M6RT"
    await begin_run(plain.bench.backends, run_id)
    told = Fact("user", "likes", "tea", 0.9, learned_from_run_id=run_id if way == "run" else None)
    first = (await learner(plain, "a").learn("bot", told)).memory_id
    alone = Fact("user", "likes", "coffee", 0.9, learned_from_run_id=told.learned_from_run_id)
    await learner(plain, "a").learn("bot", alone)
    await learner(plain, "b").learn("bot", Fact("user", "likes", "tea", 0.7))
    undo = UndoTaught(plain.backends.of_tenant("acme", ADMINISTRATOR))
    selected = Selected(run_id=run_id) if way == "run" else Selected(credential_id="a")
    assert (await undo.dry_run(selected)).memories == 1
    undone = await undo.run(selected)
    assert (undone.memories, undone.more) == (1, False)
    (held,) = await facts(plain)
    assert (held.memory_id, held.fact.object, held.fact.confidence) == (first, "tea", 0.7)
    assert held.fact.learned_from_run_id is None
    (row,) = await memory_rows(plain.bench, "written_by")
    assert row["written_by"] == "b"
    assert (await undo.dry_run(Selected(credential_id="b"))).memories == 1
    await undo.run(Selected(credential_id="b"))
    assert await facts(plain) == []
