"""A strict recall is the error of the part that is away, and else the same answer as any other."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import (
    CircuitOpen,
    DatabaseUnavailable,
    EmbeddingUnavailable,
    IndexNotProvisioned,
    LongTermDisabled,
    QuotaExhausted,
    RateLimited,
    ReaderUnavailable,
    Unavailable,
    UpstreamOverloaded,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.retrieval.query.analysis import Analysis, PendingAnalysis
from app.services.memories.recall import Recall
from tests.services.scripted_reader import ScriptedReader
from tests.support.damage import damage
from tests.support.doubles import ScriptedReranker
from tests.support.gateways import Bench, bench_on
from tests.support.scopes import switch

HELD = "The invoice goes to Malmö."
OUTAGES: list[Unavailable] = [
    RateLimited("OpenAI answered 429.", retry_after=7),
    UpstreamOverloaded("It has too much to do."),
    UpstreamTimeout("It did not answer in time."),
    UpstreamUnavailable("It cannot be reached."),
    CircuitOpen("It did not answer three calls.", retry_after=4),
    QuotaExhausted("The credit is used up."),
]


@pytest.fixture(params=["said by the query", "set by the operator"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """A gateway with one memory; where the operator has set it, queries do not say it."""
    async with bench_on(tmp_path, recall_strict=request.param == "set by the operator") as bench:
        await bench.gateway.store("bot", NewMemory(HELD))
        await bench.deliver()
        yield bench


def strict(bench: Bench, text: str) -> Query:
    return Query(text, strict=None if bench.backends.recall_strict else True)


async def recalled(bench: Bench, text: str = "where does the invoice go?") -> Recall:
    return await bench.gateway.recall("bot", strict(bench, text))


async def test_an_embedder_that_is_away_is_its_own_error_though_words_would_find_something(bench: Bench) -> None:
    for error in (*OUTAGES, EmbeddingUnavailable("The model failed.")):
        bench.embedder.error = error
        bench.embedder.calls.clear()
        with pytest.raises(type(error)) as raised:
            await recalled(bench)
        assert raised.value is error
        assert len(bench.embedder.calls) == 1, error.code  # whether to ask again is the caller's


async def test_an_index_that_is_away_is_its_own_error_though_words_would_find_something(bench: Bench) -> None:
    for error in (*OUTAGES, IndexNotProvisioned("It is made.")):
        bench.index.error = error
        bench.index.journal.clear()
        with pytest.raises(type(error)) as raised:
            await recalled(bench)
        assert raised.value is error
        assert bench.index.journal.count("index.query") == 1, error.code


@pytest.mark.parametrize("part", ["embedder", "index"])
async def test_what_says_that_it_is_not_strict_is_answered_without_the_part_whatever_is_set(
    bench: Bench, part: str
) -> None:
    getattr(bench, part).error = UpstreamUnavailable("It cannot be reached.")
    found = await bench.gateway.recall("bot", Query("where does the invoice go?", strict=False))
    assert [entry.content for entry in found.entries] == [HELD]
    assert found.degraded == [f"{part}_unavailable"]


async def test_an_outage_where_there_is_nothing_to_find_is_an_error_too(bench: Bench) -> None:
    bench.index.error = UpstreamUnavailable("It cannot be reached.")
    with pytest.raises(UpstreamUnavailable):
        await bench.gateway.recall("nobody", strict(bench, "anything"))


@pytest.mark.parametrize("how", ["blocks of zeros", "everything gone"])
async def test_words_that_cannot_be_searched_are_an_error_until_they_can(bench: Bench, how: str) -> None:
    await damage(bench, how)
    with pytest.raises(DatabaseUnavailable, match="index of words") as raised:
        await recalled(bench)
    assert (raised.value.status, raised.value.retry_after) == (503, 1)
    found = await bench.gateway.recall("bot", Query("where does the invoice go?", strict=False))
    assert found.degraded == ["lexical_unavailable"]


async def test_a_hypothetical_answer_that_cannot_be_embedded_is_an_error(bench: Bench) -> None:
    async def analysis() -> Analysis:
        bench.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
        return Analysis(statement="The invoice goes to a town.")

    under_way = PendingAnalysis(asyncio.create_task(analysis()), asyncio.get_running_loop().time() + 60)
    with pytest.raises(RateLimited):
        await bench.gateway.recall("bot", strict(bench, "where does the invoice go?"), under_way)


async def test_a_query_that_was_embedded_before_needs_no_embedder(bench: Bench) -> None:
    await recalled(bench)
    bench.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
    assert [entry.content for entry in (await recalled(bench)).entries] == [HELD]


async def test_an_agent_without_a_memory_is_told_so_and_not_that_the_embedder_is_away(bench: Bench) -> None:
    await switch(bench.backends, on=False)
    bench.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
    with pytest.raises(LongTermDisabled):
        await recalled(bench)


async def test_a_reranker_and_a_reader_that_are_away_are_no_errors(bench: Bench) -> None:
    reranker = ScriptedReranker(error=RateLimited("It answered 429.", retry_after=7))
    bench.backends = replace(bench.backends, reranker=reranker)
    bench.gateway = bench.tenant("acme")
    assert (await recalled(bench)).degraded == ["reranker_unavailable"]
    bench.backends = replace(bench.backends, reranker=None, reader=ScriptedReader(error=ReaderUnavailable("Closed.")))
    bench.gateway = bench.tenant("acme")
    assert (await recalled(bench)).degraded == ["reader_unavailable"]


async def test_vectors_that_are_damaged_are_no_error(bench: Bench) -> None:
    bench.index.error = UpstreamUnavailable("It cannot be reached.")
    await bench.gateway.store("bot", NewMemory("The parcel goes to Lund."))
    bench.index.error = None
    await damage(bench, "cut vector in the outbox")
    assert (await recalled(bench)).degraded == ["vectors_unreadable"]


async def test_more_that_waits_for_the_index_than_is_compared_is_no_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.outbox.MAX_PENDING", 1)
    bench.index.error = UpstreamUnavailable("It cannot be reached.")
    for number in range(2):
        await bench.gateway.store("bot", NewMemory(f"Invoice {number} goes to Lund."))
    bench.index.error = None
    assert (await recalled(bench)).degraded == ["pending_bound"]


async def test_an_explanation_is_strict_where_the_recall_is(bench: Bench) -> None:
    (entry,) = (await recalled(bench)).entries
    bench.index.error = UpstreamOverloaded("It has too much to do.")
    with pytest.raises(UpstreamOverloaded):
        await bench.gateway.explain("bot", strict(bench, "where does the invoice go?"), entry.id)
