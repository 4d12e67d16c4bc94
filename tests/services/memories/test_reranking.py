"""Recalls whose best candidates a reranker rates, and what they are while it is away."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import EmbeddingUnavailable, Unavailable, UpstreamRejected
from app.domain.memory import NewMemory
from app.domain.query import Entry, Query
from app.ports.reranker import MAX_CHARACTERS
from app.retrieval.reranking import MAX_RATED
from app.retrieval.selection import tokens
from app.services.memories.recall import Recall
from app.services.turns.shares import RERANKINGS
from tests.support.doubles import ScriptedReranker
from tests.support.gateways import Bench, bench_on
from tests.support.memories import expire

FOX, BEAR, OWL = "the red fox in the barn", "a red bear", "an owl that has seen red"


@pytest.fixture
def reranker() -> ScriptedReranker:
    return ScriptedReranker({"owl": 0.9, "bear": 0.5, "fox": 0.1})


@pytest.fixture
async def bench(tmp_path: Path, reranker: ScriptedReranker) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        set_reranker(bench, reranker)
        yield bench


def set_reranker(bench: Bench, reranker: ScriptedReranker | None, seconds: float = 2.0) -> None:
    bench.backends = replace(bench.backends, reranker=reranker, reranker_seconds=seconds)
    bench.gateway = bench.tenant("acme")


async def put(bench: Bench, *contents: str, tenant: str = "acme", agent: str = "bot") -> list[str]:
    return [await bench.tenant(tenant).store(agent, NewMemory(content)) for content in contents]


async def recalled(bench: Bench, text: str = "red fox", **query: object) -> Recall:
    return await bench.gateway.recall("bot", Query(text, **query))  # type: ignore[arg-type]


def scored(entries: object) -> list[tuple[str, float]]:
    assert isinstance(entries, list)
    assert all(isinstance(entry, Entry) for entry in entries)
    return [(entry.content, entry.score) for entry in entries]


async def test_entries_come_in_the_rerankers_order_with_its_relevance_as_their_score(
    bench: Bench, reranker: ScriptedReranker
) -> None:
    await put(bench, FOX, BEAR, OWL)
    recall = await recalled(bench)
    assert scored(recall.entries) == [(OWL, 0.9), (BEAR, 0.5), (FOX, 0.1)]
    assert (recall.confidence, list(recall.degraded)) == (0.9, [])
    ((query, texts),) = reranker.calls
    assert (query, sorted(texts)) == ("red fox", sorted([FOX, BEAR, OWL]))
    assert reranker.tenants == ["acme"]


async def test_the_best_of_what_is_of_no_relevance_has_none(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX, BEAR)
    reranker.script = {}
    recall = await recalled(bench)
    assert ([entry.score for entry in recall.entries], recall.confidence) == ([0.0, 0.0], 0.0)
    assert (await recalled(bench, min_score=0.01)).entries == []


async def test_without_a_reranker_a_recall_is_what_it_was(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX, BEAR, OWL)
    set_reranker(bench, None)
    assert (await recalled(bench)).entries[0].content == FOX
    assert reranker.calls == []


async def test_a_service_has_no_reranker_unless_one_is_set(tmp_path: Path) -> None:
    async with bench_on(tmp_path, reranker_base_url="http://127.0.0.1:9/v1") as bench:
        assert bench.backends.reranker is None
        assert bench.backends.of_tenant("acme").models.reranker is None


@pytest.mark.parametrize("error", [Unavailable("It is away."), UpstreamRejected("It answers nonsense.")])
async def test_while_the_reranker_is_away_a_recall_is_what_it_is_without_and_says_so(
    bench: Bench, reranker: ScriptedReranker, error: Exception
) -> None:
    await put(bench, FOX, BEAR, OWL)
    set_reranker(bench, None)
    without = await recalled(bench, explain=True)
    set_reranker(bench, reranker)
    reranker.error = error
    recall = await recalled(bench, explain=True)
    assert recall == replace(without, degraded=["reranker_unavailable"])


async def test_a_recall_waits_for_the_reranker_no_longer_than_it_may(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX, BEAR, OWL)
    reranker.waits = True
    set_reranker(bench, reranker, seconds=0.02)
    async with asyncio.timeout(5):
        recall = await recalled(bench)
    assert recall.entries[0].content == FOX
    assert list(recall.degraded) == ["reranker_unavailable"]
    assert reranker.under_way == 0


async def test_a_call_ends_when_nobody_waits_for_the_recall(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX)
    reranker.waits = True
    recall = asyncio.create_task(recalled(bench))
    while not reranker.under_way:
        await asyncio.sleep(0.001)
    recall.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recall
    assert (reranker.cancelled, reranker.under_way) == (1, 0)


async def test_where_there_is_nothing_to_rate_there_is_no_call(bench: Bench, reranker: ScriptedReranker) -> None:
    assert (await recalled(bench)).entries == []
    await put(bench, FOX, agent="other")
    assert (await recalled(bench)).entries == []
    bench.embedder.error = EmbeddingUnavailable("The model is away.")
    assert (await recalled(bench, "an owl")).entries == []
    await put_by_hand(bench)
    with pytest.raises(EmbeddingUnavailable):
        await recalled(bench, "words that nothing holds")
    assert reranker.calls == []


async def put_by_hand(bench: Bench) -> None:
    bench.embedder.error, error = None, bench.embedder.error
    await put(bench, FOX)
    bench.embedder.error = error


async def test_what_else_is_away_is_said_beside_it(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX, BEAR)
    bench.embedder.error = EmbeddingUnavailable("The model is away.")
    assert list((await recalled(bench)).degraded) == ["embedder_unavailable"]
    reranker.error = Unavailable("It is away.")
    assert list((await recalled(bench)).degraded) == ["embedder_unavailable", "reranker_unavailable"]


async def test_only_memories_of_the_scope_are_sent_and_only_for_its_tenant(
    bench: Bench, reranker: ScriptedReranker
) -> None:
    for tenant, agent in (("acme", "bot"), ("acme", "other"), ("bolt", "bot")):
        await put(bench, *(f"{tenant} {agent} saw red fox {n}" for n in range(3)), tenant=tenant, agent=agent)
    await bench.deliver()
    for tenant, agent in (("acme", "bot"), ("acme", "other"), ("bolt", "bot")):
        reranker.calls.clear()
        reranker.tenants.clear()
        await bench.tenant(tenant).recall(agent, Query("red fox"))
        await bench.tenant(tenant).recall(agent, Query("fox", collapse="copies"))
        assert reranker.tenants == [tenant] * 2
        sent = [text for _, texts in reranker.calls for text in texts]
        assert len(sent) == 6
        assert all(text.startswith(f"{tenant} {agent} ") for text in sent)


async def test_no_more_than_thirty_are_sent_and_the_rest_comes_behind_and_scores_no_more(
    bench: Bench, reranker: ScriptedReranker
) -> None:
    long = "red fox and much more of it " * 4
    await put(bench, *(f"red fox, {long} {n}" for n in range(MAX_RATED)), *(f"red {n}" for n in range(6)))
    reranker.script = {"red fox, ": 0.25}
    assert [score for _, score in scored((await recalled(bench, top_k=20)).entries)] == [0.25] * 20
    ((_, texts),) = reranker.calls
    assert len(texts) == MAX_RATED
    short = tokens("red 0") * 6
    entries = (await recalled(bench, "red fox", max_tokens=short, top_k=20)).entries
    assert entries
    assert all(entry.content not in texts and entry.score <= 0.25 for entry in entries)


async def test_of_copies_one_is_sent_where_they_collapse(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX, FOX.upper(), f"{FOX} ", BEAR)
    entries = (await recalled(bench, collapse="copies")).entries
    assert [entry.content.casefold().strip() for entry in entries] == [BEAR, FOX]
    assert len(reranker.calls[0][1]) == 2
    assert len((await recalled(bench)).entries) == len(reranker.calls[1][1]) == 4


async def test_a_least_score_is_one_of_relevance(bench: Bench) -> None:
    await put(bench, FOX, BEAR, OWL)
    for least, kept in ((0.1, [OWL, BEAR, FOX]), (0.11, [OWL, BEAR]), (0.5, [OWL, BEAR]), (0.9, [OWL]), (0.91, [])):
        assert [entry.content for entry in (await recalled(bench, min_score=least)).entries] == kept


async def test_tokens_and_top_k_are_counted_in_the_rerankers_order(bench: Bench) -> None:
    await put(bench, FOX, BEAR, OWL)
    assert [entry.content for entry in (await recalled(bench, top_k=1)).entries] == [OWL]
    assert [entry.content for entry in (await recalled(bench, max_tokens=tokens(OWL))).entries] == [OWL]
    assert [entry.content for entry in (await recalled(bench, max_tokens=tokens(BEAR))).entries] == [BEAR]


async def test_an_explanation_sees_what_the_recall_sees(bench: Bench, reranker: ScriptedReranker) -> None:
    fox, bear, owl = await put(bench, FOX, BEAR, OWL)
    for rank, (id_, relevance) in enumerate([(owl, 0.9), (bear, 0.5), (fox, 0.1)], 1):
        explanation = await bench.gateway.explain("bot", Query("red fox", top_k=3), id_)
        assert (explanation.rank, explanation.score, list(explanation.obstacles)) == (rank, relevance, [])
        rating = next(finding for finding in explanation.findings if finding.channel == "reranker")
        assert (rating.raw, rating.weighted) == (relevance, relevance)
        assert sum(finding.weighted for finding in explanation.findings) == pytest.approx(relevance)
    last = await bench.gateway.explain("bot", Query("red fox", top_k=1), fox)
    assert (list(last.obstacles), last.change) == (["rank"], Query("red fox", top_k=3))
    weak = await bench.gateway.explain("bot", Query("red fox", min_score=0.3), fox)
    assert (list(weak.obstacles), weak.change) == (["min_score"], Query("red fox", min_score=0.1))
    reranker.error = Unavailable("It is away.")
    assert list((await bench.gateway.explain("bot", Query("red fox"), fox)).degraded) == ["reranker_unavailable"]


async def test_what_has_expired_or_does_not_pass_the_filter_is_not_sent_to_explain_it(
    bench: Bench, reranker: ScriptedReranker
) -> None:
    fox, _ = await put(bench, FOX, BEAR)
    await expire(bench, id=fox)
    explanation = await bench.gateway.explain("bot", Query("red fox"), fox)
    assert list(explanation.obstacles) == ["expired"]
    assert {text for _, texts in reranker.calls for text in texts} == {BEAR}


async def test_a_tenant_reranks_so_many_recalls_at_once_and_keeps_no_other_waiting(
    bench: Bench, reranker: ScriptedReranker
) -> None:
    await put(bench, FOX)
    await put(bench, FOX, tenant="bolt")
    set_reranker(bench, reranker, seconds=60)
    reranker.waits = True
    recalls = [asyncio.create_task(recalled(bench, f"red fox {n}")) for n in range(RERANKINGS + 2)]
    while reranker.under_way < RERANKINGS:
        await asyncio.sleep(0.001)
    other = asyncio.create_task(bench.tenant("bolt").recall("bot", Query("red fox")))
    while reranker.under_way <= RERANKINGS:
        await asyncio.sleep(0.001)
    assert (reranker.under_way, reranker.tenants[-1]) == (RERANKINGS + 1, "bolt")
    reranker.waits = False
    async with asyncio.timeout(10):
        done = await asyncio.gather(other, *recalls)
    assert all(not recall.degraded for recall in done)


async def test_waiting_for_a_turn_counts_as_waiting_for_the_reranker(bench: Bench, reranker: ScriptedReranker) -> None:
    await put(bench, FOX)
    reranker.waits = True
    set_reranker(bench, reranker, seconds=0.05)
    async with asyncio.timeout(10):
        recalls = await asyncio.gather(*(recalled(bench, f"red fox {n}") for n in range(3 * RERANKINGS)))
    assert all(list(recall.degraded) == ["reranker_unavailable"] for recall in recalls)
    assert all(recall.entries for recall in recalls)
    reranker.waits = False
    assert list((await recalled(bench)).degraded) == []


async def test_a_recall_reads_the_database_and_embeds_no_more_with_a_reranker(bench: Bench) -> None:
    await put(bench, FOX)
    bench.database.journal.clear()
    bench.embedder.calls.clear()
    await recalled(bench)
    assert bench.database.journal == ["index.query", "database.run"]
    assert len(bench.embedder.calls) == 1


async def test_a_long_memory_is_returned_whole_though_its_beginning_is_rated(bench: Bench) -> None:
    long = f"red fox {'x' * 2 * MAX_CHARACTERS} owl"
    await put(bench, long)
    (entry,) = (await recalled(bench)).entries
    assert entry.content == long
