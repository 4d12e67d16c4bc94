"""Recalls whose best candidates a reader reads, and what they are while it is away."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import ReaderUnavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.reading import Relation
from app.retrieval.answering import MAX_READ
from app.services.memories.recall import Recall
from tests.services.scripted_reader import DOUBTFUL, HOLDS, REPLACES, ScriptedReader
from tests.support.doubles import ScriptedReranker
from tests.support.gateways import Bench, bench_on

QUESTION = "Where does the red fox live?"
FOX, BEAR, OWL = "the red fox likes the barn", "a red bear saw a fox", "an owl that the red fox knows"
DAY = 86_400_000


@pytest.fixture
def reader() -> ScriptedReader:
    return ScriptedReader()


@pytest.fixture
async def bench(tmp_path: Path, reader: ScriptedReader) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        set_reader(bench, reader)
        yield bench


def set_reader(bench: Bench, reader: ScriptedReader | None, **more: object) -> None:
    bench.backends = replace(bench.backends, reader=reader, **more)
    bench.gateway = bench.tenant("acme")


def say(reader: ScriptedReader, relevance: Mapping[str, float], question: str = QUESTION) -> None:
    reader.answers = {(question, text): value for text, value in relevance.items()}


async def put(bench: Bench, *contents: str) -> list[str]:
    return [await bench.gateway.store("bot", NewMemory(content)) for content in contents]


async def recalled(bench: Bench, text: str = QUESTION, **query: object) -> Recall:
    return await bench.gateway.recall("bot", Query(text, **query))  # type: ignore[arg-type]


async def test_entries_come_in_the_order_of_their_score_which_the_reader_has_a_part_in(
    bench: Bench, reader: ScriptedReader
) -> None:
    await put(bench, FOX, BEAR, OWL)
    say(reader, {BEAR: 0.99, OWL: 0.4, FOX: 0.01})
    recall = await recalled(bench)
    assert [entry.content for entry in recall.entries] == [BEAR, OWL, FOX]
    scores = [entry.score for entry in recall.entries]
    assert scores == sorted(scores, reverse=True)
    assert recall.confidence == scores[0]
    assert list(recall.degraded) == []


async def test_of_two_that_are_as_relevant_the_likelier_comes_first(bench: Bench, reader: ScriptedReader) -> None:
    await put(bench, FOX, BEAR, OWL)
    set_reader(bench, None)
    without = [entry.content for entry in (await recalled(bench)).entries]
    set_reader(bench, reader)
    say(reader, dict.fromkeys((FOX, BEAR, OWL), 0.5))
    assert [entry.content for entry in (await recalled(bench)).entries] == without


async def test_the_more_relevant_it_is_the_more_a_memory_scores(bench: Bench, reader: ScriptedReader) -> None:
    await put(bench, FOX)
    scores = []
    for relevance in (0.0, 0.1, 0.5, 0.9, 1.0):
        say(reader, {FOX: relevance})
        (entry,) = (await recalled(bench)).entries
        scores.append(entry.score)
    assert scores == sorted(scores)
    assert scores[0] < 0.2
    assert scores[-1] > 0.8


async def test_without_a_reader_nothing_is_read_and_a_recall_is_what_it_was(
    bench: Bench, reader: ScriptedReader
) -> None:
    await put(bench, FOX, BEAR)
    set_reader(bench, None)
    recall = await recalled(bench, explain=True)
    assert recall.entries[0].content == FOX
    assert "reader" not in {finding.channel for entry in recall.entries for finding in entry.findings}
    assert reader.tenants == []


async def test_while_the_reader_is_away_a_recall_is_what_it_is_without_and_says_so(
    bench: Bench, reader: ScriptedReader
) -> None:
    await put(bench, FOX, BEAR, OWL)
    set_reader(bench, None)
    without = await recalled(bench, explain=True)
    set_reader(bench, reader)
    reader.error = ReaderUnavailable("It is closed.")
    assert await recalled(bench, explain=True) == replace(without, degraded=["reader_unavailable"])


async def test_a_recall_waits_for_the_reader_no_longer_than_it_may(bench: Bench, reader: ScriptedReader) -> None:
    await put(bench, FOX)
    reader.waits = True
    set_reader(bench, reader, reader_seconds=0.02)
    async with asyncio.timeout(5):
        recall = await recalled(bench)
    assert recall.entries[0].content == FOX
    assert list(recall.degraded) == ["reader_unavailable"]


async def test_a_reranker_that_an_operator_sets_rates_alone(bench: Bench, reader: ScriptedReader) -> None:
    await put(bench, FOX, BEAR)
    reranker = ScriptedReranker({"bear": 0.9, "fox": 0.1})
    set_reader(bench, reader, reranker=reranker)
    recall = await recalled(bench)
    assert [entry.score for entry in recall.entries] == [0.9, 0.1]


async def test_what_was_not_read_keeps_its_order_and_comes_before_what_was_read_and_does_not_answer(
    bench: Bench, reader: ScriptedReader
) -> None:
    contents = [f"note {n} on the red fox" for n in range(MAX_READ + 5)]
    await put(bench, *contents)
    set_reader(bench, None)
    before = [entry.content for entry in (await recalled(bench, top_k=20)).entries]
    set_reader(bench, reader)
    say(reader, dict.fromkeys(contents, 0.9) | dict.fromkeys(before[1:MAX_READ], 0.0001))
    recall = await recalled(bench, top_k=20)
    assert [entry.content for entry in recall.entries[:6]] == [before[0], *before[MAX_READ:]]


async def test_of_long_memories_fewer_are_read_and_of_each_what_has_the_words_of_the_query(
    bench: Bench, reader: ScriptedReader
) -> None:
    texts: list[str] = []

    async def noted(_: str, texts_: list[str], **__: object) -> list[float]:
        texts.extend(texts_)
        return [0.5] * len(texts_)

    reader.relevance = noted  # type: ignore[method-assign, assignment]
    filler = "There is nothing of it in this sentence at all. " * 20
    await put(bench, *(f"{filler}The red fox lives in den {n}. {filler}" for n in range(MAX_READ)))
    await recalled(bench, top_k=20)
    assert 0 < len(texts) < MAX_READ
    assert all("The red fox lives in den" in text for text in texts)
    assert sum(map(len, texts)) <= 1_400


async def test_an_explanation_has_the_share_of_the_reader(bench: Bench, reader: ScriptedReader) -> None:
    fox, bear, _ = await put(bench, FOX, BEAR, OWL)
    say(reader, {BEAR: 0.99, OWL: 0.4, FOX: 0.01})
    for id_, relevance in ((bear, 0.99), (fox, 0.01)):
        explanation = await bench.gateway.explain("bot", Query(QUESTION), id_)
        share = next(finding for finding in explanation.findings if finding.channel == "reader")
        assert share.raw == relevance
        assert (share.weighted > 0) is (relevance > 0.5)
        assert sum(finding.weighted for finding in explanation.findings) == pytest.approx(explanation.score)
    reader.error = ReaderUnavailable("It is closed.")
    assert list((await bench.gateway.explain("bot", Query(QUESTION), fox)).degraded) == ["reader_unavailable"]


async def test_what_took_the_place_of_an_answer_is_as_relevant_as_that(bench: Bench, reader: ScriptedReader) -> None:
    for day, place in ((1, "Rome"), (40, "Oslo")):
        await bench.gateway.store("bot", NewMemory(f"I live in {place}", {}, None, day * DAY))
    question = "Where do I live?"
    reader.pairs = {("I live in Rome", "I live in Oslo"): REPLACES}
    say(reader, {"I live in Rome": 0.9, "I live in Oslo": 0.2}, question)
    (entry,) = (await recalled(bench, question, explain=True)).entries
    assert entry.content == "I live in Oslo"
    assert next(finding.raw for finding in entry.findings if finding.channel == "reader") == 0.9


async def two_homes(
    bench: Bench, reader: ScriptedReader, relation: Relation, agent_id: str = "bot"
) -> tuple[str, str, str]:
    older, newer, question = "I live in Rome", "I am often in Oslo", "Where do I live?"
    reader.pairs = {(older, newer): relation}
    for day, content in ((1, older), (40, newer)):
        await bench.gateway.store(agent_id, NewMemory(content, {}, None, day * DAY))
    return older, newer, question


@pytest.mark.parametrize("own", [0.9, 0.6])
async def test_of_two_that_answer_the_one_that_may_be_an_update_of_the_other_comes_first(
    bench: Bench, reader: ScriptedReader, own: float
) -> None:
    older, newer, question = await two_homes(bench, reader, DOUBTFUL)
    say(reader, {older: 0.9, newer: own}, question)
    entries = (await recalled(bench, question)).entries
    assert [entry.content for entry in entries] == [newer, older]
    assert entries[0].score >= entries[1].score


@pytest.mark.parametrize(("older_one", "newer_one"), [(0.9, 0.2), (0.999, 0.6)])
async def test_what_answers_far_better_than_a_possible_update_of_it_stays_before_that(
    bench: Bench, reader: ScriptedReader, older_one: float, newer_one: float
) -> None:
    older, newer, question = await two_homes(bench, reader, DOUBTFUL)
    say(reader, {older: older_one, newer: newer_one}, question)
    assert [entry.content for entry in (await recalled(bench, question)).entries] == [older, newer]


async def test_the_likelier_an_update_is_the_further_its_relevance_may_be_behind(
    bench: Bench, reader: ScriptedReader
) -> None:
    for number, (update, newer_first) in enumerate(((0.7, False), (0.88, True))):
        relation = Relation(1 - update, update, 0.0, 0.0)
        older, newer, question = await two_homes(bench, reader, relation, f"bot{number}")
        say(reader, {older: 0.999, newer: 0.95}, question)
        entries = (await bench.gateway.recall(f"bot{number}", Query(question))).entries
        assert [entry.content for entry in entries] == ([newer, older] if newer_first else [older, newer])


async def test_of_two_that_both_hold_the_more_relevant_comes_first(bench: Bench, reader: ScriptedReader) -> None:
    older, newer, question = await two_homes(bench, reader, HOLDS)
    for relevances, first in (((0.9, 0.5), older), ((0.05, 0.97), newer)):
        say(reader, dict(zip((older, newer), relevances, strict=True)), question)
        assert (await recalled(bench, question)).entries[0].content == first


async def test_only_memories_of_the_scope_are_read_and_only_for_its_tenant(
    bench: Bench, reader: ScriptedReader
) -> None:
    await put(bench, FOX)
    await bench.tenant("other").store("bot", NewMemory(BEAR))
    await recalled(bench)
    assert reader.tenants == ["acme"]
    assert (await bench.tenant("other").recall("bot", Query(QUESTION))).entries[0].content == BEAR
    assert reader.tenants == ["acme", "other"]
