"""Texts that are given at the same time are embedded in one call, with the vectors that each would have alone."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from app.adapters.coalescing.embedder import CoalescingEmbedder
from app.adapters.coalescing.gatherer import Metering
from app.adapters.local.hashing import HashingEmbedder
from app.domain.errors import RateLimited, UpstreamRejected
from app.ports.embedder import Embeddings, Purpose


class Slow:
    """An embedder below, which refuses a call that has a text "bad" in it."""

    def __init__(self) -> None:
        self._embedder = HashingEmbedder()
        self.config = self._embedder.config
        self.calls: list[tuple[Purpose, int]] = []
        self.limited = False

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        del tenant_id
        self.calls.append((purpose, len(texts)))
        await asyncio.sleep(0.01)
        if self.limited:
            raise RateLimited("too many", retry_after=3)
        if "bad" in texts:
            raise UpstreamRejected("a text is not taken")
        told = await self._embedder.embed(texts, purpose)
        return Embeddings(told.vectors, sum(map(len, texts)))

    async def ping(self) -> None:
        await self._embedder.ping()

    async def close(self) -> None:
        await self._embedder.close()


async def test_concurrent_texts_share_a_call_and_each_has_its_vectors_and_tokens() -> None:
    below = Slow()
    embedder = CoalescingEmbedder(below)
    requests = [[f"text {n}", "x" * n] for n in range(1, 8)]
    answers = await asyncio.gather(*(embedder.embed(texts, "document") for texts in requests))
    assert below.calls == [("document", 14)]
    assert [answer.tokens for answer in answers] == [6 + n for n in range(1, 8)]
    for texts, answer in zip(requests, answers, strict=True):
        alone = await HashingEmbedder().embed(texts, "document")
        np.testing.assert_allclose(answer.vectors, alone.vectors, atol=1e-6)


async def test_queries_and_documents_are_calls_apart() -> None:
    below = Slow()
    embedder = CoalescingEmbedder(below)
    purposes: list[Purpose] = ["query", "document"] * 3
    await asyncio.gather(*(embedder.embed(["a"], purpose) for purpose in purposes))
    assert sorted(below.calls) == [("document", 3), ("query", 3)]


async def test_a_text_that_is_refused_costs_the_others_one_call_more() -> None:
    below = Slow()
    embedder = CoalescingEmbedder(below)
    texts = ["a", "b", "bad", "c"]
    answers = await asyncio.gather(*(embedder.embed([text], "document") for text in texts), return_exceptions=True)
    assert [isinstance(answer, Embeddings) for answer in answers] == [True, True, False, True]
    assert [count for _, count in below.calls] == [4, 1, 1, 1, 1]


async def test_a_limit_is_told_to_all_with_its_wait() -> None:
    below = Slow()
    below.limited = True
    embedder = CoalescingEmbedder(below)
    answers = await asyncio.gather(*(embedder.embed(["a"], "query") for _ in range(4)), return_exceptions=True)
    assert [answer.retry_after for answer in answers if isinstance(answer, RateLimited)] == [3] * 4


@pytest.mark.parametrize("texts", [[], [""]])
async def test_nothing_is_embedded_too(texts: list[str]) -> None:
    assert len((await CoalescingEmbedder(Slow()).embed(texts, "query")).vectors) == len(texts)


async def test_each_call_below_is_charged_once_to_the_tenants_in_it() -> None:
    charged: list[set[str]] = []
    embedder = CoalescingEmbedder(Slow(), Metering(lambda tenant_ids: charged.append(set(tenant_ids))))
    await asyncio.gather(*(embedder.embed(["a"], "query", tenant_id=tenant) for tenant in ("a", "b", "c", "b", "")))
    assert charged == [{"a", "b", "c"}]
