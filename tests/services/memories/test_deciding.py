"""A recall compares what nobody has compared yet: a correction holds at once."""

import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.comparing import ComparedStatement, may_bear
from app.domain.errors import ReaderUnavailable
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.indexing.jobs import relate
from app.retrieval import succession
from app.runtime.relating import read_left_over, relating
from app.services.memories.explain import Explainer
from app.services.memories.gateway import LongTermMemoryGateway
from tests.services.scripted_reader import DOUBTFUL, REPLACES, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import learn, say

OLD, NEW, TEA = "Ella goes to Sunflower kindergarten", "Ella is a first grader at Parkside", "Ella likes tea"
ASKED = "Sunflower kindergarten of Ella"


class Scene:
    """A bench with a reader, in which nothing is compared in the background unless it is told."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.reader = ScriptedReader({(OLD, NEW): REPLACES})
        self.backends = replace(bench.backends, reader=self.reader)
        self.at = 1_700_000_000_000

    def gateway(self, author: Author = ADMINISTRATOR) -> LongTermMemoryGateway:
        return LongTermMemoryGateway(self.backends.of_tenant("acme", author))

    async def store(self, *contents: str, author: Author = ADMINISTRATOR) -> list[str]:
        ids = []
        for content in contents:
            self.at += 86_400_000
            ids.append(await self.gateway(author).store("bot", NewMemory(content, occurred_at=self.at)))
        await self.bench.delivered()
        return ids

    def clock_step(self) -> None:
        """Let the clock of the process go on by a second."""
        now = self.backends.clock() + 1_000
        self.backends = replace(self.backends, clock=lambda: now)

    async def compare(self) -> None:
        while await read_left_over(relating(self.backends, self.reader)):
            pass

    async def found(self, **given: object) -> list[str]:
        recall = await self.gateway().recall("bot", Query(ASKED, **given))  # type: ignore[arg-type]
        return [entry.content for entry in recall.entries]


@pytest.fixture
async def scene(tmp_path: Path, backend: Backend) -> AsyncIterator[Scene]:
    async with bench_on(tmp_path, backend) as bench:
        yield Scene(bench)


async def test_a_correction_holds_before_anything_was_compared(scene: Scene) -> None:
    await scene.store(OLD, TEA)
    await scene.compare()
    await scene.store(NEW)
    assert sorted(await scene.found()) == sorted([NEW, TEA])
    assert (await scene.found())[0] == NEW


async def test_a_doubtful_correction_comes_first_and_hides_nothing(scene: Scene) -> None:
    scene.reader.pairs = {(OLD, NEW): DOUBTFUL}
    await scene.store(OLD, NEW)
    assert await scene.found() == [NEW, OLD]


async def test_what_was_compared_is_not_compared_again(scene: Scene) -> None:
    await scene.store(OLD, NEW, TEA)
    await scene.compare()
    scene.reader.compared.clear()
    assert (await scene.found())[0] == NEW
    assert scene.reader.compared == []


async def test_the_answer_is_the_same_before_and_after_the_comparison(scene: Scene) -> None:
    await scene.store(OLD, NEW, TEA)
    before = await scene.found()
    await scene.compare()
    assert await scene.found() == before


async def test_as_of_a_moment_before_the_correction_the_old_one_holds(scene: Scene) -> None:
    await scene.store(OLD)
    then = scene.at
    await scene.store(NEW)
    assert await scene.found(as_of=then) == [OLD]


async def test_few_pairs_are_compared_however_much_is_new(scene: Scene) -> None:
    await scene.store(*(f"Ella goes to kindergarten number {number}" for number in range(12)))
    await scene.found(top_k=10)
    assert 0 < len(scene.reader.compared) <= 8


async def test_a_reader_that_is_away_leaves_the_answer_and_says_so(scene: Scene) -> None:
    await scene.store(OLD, NEW)
    scene.reader.error = ReaderUnavailable("It is closed.")
    recall = await scene.gateway().recall("bot", Query(ASKED))
    assert sorted(entry.content for entry in recall.entries) == sorted([OLD, NEW])
    assert list(recall.degraded) == ["reader_unavailable"]


async def test_without_a_reader_nothing_is_compared_and_nothing_is_hidden(scene: Scene) -> None:
    await scene.store(OLD, NEW)
    without = LongTermMemoryGateway(scene.bench.backends.of_tenant("acme", ADMINISTRATOR))
    entries = (await without.recall("bot", Query(ASKED))).entries
    assert sorted(entry.content for entry in entries) == sorted([OLD, NEW])


async def test_a_bound_author_hides_nothing_of_others_at_once_either(scene: Scene) -> None:
    await scene.store(OLD)
    await scene.store(NEW, author=Author("of-eve", "http", speakers=frozenset({"eve"})))
    assert sorted(await scene.found()) == sorted([OLD, NEW])
    assert scene.reader.compared == []


async def test_what_a_model_has_learned_hides_nothing_that_was_stored_before_it_was_compared_either(
    scene: Scene,
) -> None:
    await scene.store(OLD)
    said = await say(scene.backends, "She starts at Parkside in August", scene.at + 1_000)
    learned = await learn(scene.backends, NEW, [said], scene.at + 2_000)
    await scene.bench.delivered()
    assert learned is not None
    assert {OLD, NEW} <= set(await scene.found())


async def test_an_explanation_tells_the_relation_before_and_after_it_is_recorded(scene: Scene) -> None:
    old, new = await scene.store(OLD, NEW)
    explainer = Explainer(scene.backends.of_tenant("acme", ADMINISTRATOR))
    for recorded in (False, True):
        explained = await explainer.explain(Scope("acme", "bot"), Query(ASKED), old)
        (relation,) = explained.comparisons
        assert (relation.older_id, relation.newer_id, relation.name) == (old, new, "replaces")
        assert (relation.effect, relation.version) == ("hides", scene.reader.version)
        assert (relation.compared_at is not None) == recorded
        assert list(explained.obstacles) == ["superseded"]
        await scene.compare()


async def test_what_does_not_hold_yet_hides_nothing(scene: Scene) -> None:
    await scene.store(OLD)
    in_a_month = scene.backends.clock() + 30 * 86_400_000
    await scene.gateway().store("bot", NewMemory(NEW, occurred_at=in_a_month))
    await scene.bench.delivered()
    assert sorted(await scene.found()) == sorted([OLD, NEW])
    await scene.compare()
    assert sorted(await scene.found()) == sorted([OLD, NEW])


async def test_what_is_said_again_after_its_correction_was_compared_holds_again(scene: Scene) -> None:
    scene.reader.pairs = {(OLD, NEW): REPLACES, (NEW, OLD): REPLACES}
    for content in (OLD, NEW, OLD):
        scene.clock_step()
        await scene.gateway().store("bot", NewMemory(content))
        await scene.bench.delivered()
        await scene.compare()
    assert await scene.found() == [OLD]


@pytest.mark.parametrize("where", ["recall", "background"])
async def test_long_memories_are_compared_beside_the_event_loop(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    threads: list[threading.Thread] = []

    def noted(older: ComparedStatement, newer: ComparedStatement) -> bool:
        threads.append(threading.current_thread())
        return may_bear(older, newer)

    monkeypatch.setattr(relate if where == "background" else succession, "may_bear", noted)
    await scene.store(*(f"Ella goes to school {number}. " * 1000 for number in range(3)))
    if where == "background":
        await scene.compare()
    else:
        await scene.found()
    assert threads
    assert threading.main_thread() not in threads
