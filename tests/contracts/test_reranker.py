"""What every reranker must do, run on each of them, over a socket to the double."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai_reranker import WorkersAIReranker
from app.adapters.http.reranker import HttpReranker
from app.domain.errors import Unavailable, UpstreamOverloaded, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.observability.metrics import Metrics
from app.ports.reranker import MAX_CHARACTERS, Reranker
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle
from tests.contracts.conftest import cloudflare_client

TEXTS = ["a lazy bear", "the red fox", "a red bear", "an owl"]


class OwnedReranker(Reranker, Protocol):
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """A reranker, the double behind it, and what the double calls its calls."""

    reranker: OwnedReranker
    double: Handle
    operation: str

    async def rate(self, query: str, *texts: str, seconds: float | None = None) -> list[float]:
        return list(await self.reranker.rerank(query, texts, tenant_id="acme", seconds=seconds))

    def fail(self, **fault: Any) -> None:
        self.double.double.faults.add(Fault(self.operation, **fault))

    @property
    def calls(self) -> int:
        return self.double.double.calls().get(self.operation, 0)


class _Owned(WorkersAIReranker):
    """Closes the client that was made for it alone."""

    def __init__(self, client: CloudflareClient) -> None:
        super().__init__(client)
        self._own_client = client

    async def close(self) -> None:
        await self._own_client.close()


def over_http(double: Handle) -> Subject:
    key = double.double.options.reranker_api_key
    reranker = HttpReranker(base_url=double.reranker_url, api_key=key, model="any", metrics=Metrics())
    return Subject(reranker, double, "rerank")


def on_workers_ai(double: Handle) -> Subject:
    return Subject(_Owned(cloudflare_client(double)), double, "ai.rerank")


@pytest.fixture(params=[over_http, on_workers_ai])
async def subject(request: pytest.FixtureRequest, double: Handle) -> AsyncIterator[Subject]:
    make: Callable[[Handle], Subject] = request.param
    double.double.reset_calls()
    subject = make(double)
    yield subject
    await subject.reranker.close()


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    yield
    double.double.faults.clear()
    double.double.rerankings.clear()


async def test_relevances_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer(subject: Subject) -> None:
    assert await subject.rate("red fox", *TEXTS) == [0.0, 1.0, 0.5, 0.0]
    assert await subject.rate("red fox", *reversed(TEXTS)) == [0.0, 0.5, 1.0, 0.0]
    assert subject.calls == 2


async def test_no_texts_are_no_call(subject: Subject) -> None:
    assert await subject.rate("red fox") == []
    assert subject.calls == 0


async def test_texts_that_are_alike_are_rated_alike(subject: Subject) -> None:
    assert await subject.rate("red fox", *["the red fox"] * 30) == [1.0] * 30


@pytest.mark.parametrize("text", ["", "   ", "\x01\u200b", "🙂" * 8192, "اني في بيتي", "a\nb\tc"])
async def test_unusual_text_is_rated(subject: Subject, text: str) -> None:
    (relevance,) = await subject.rate("a question", text)
    assert 0 <= relevance <= 1
    assert await subject.rate(text, "the red fox")


async def test_only_the_beginning_of_a_long_text_and_of_a_long_query_is_sent(subject: Subject) -> None:
    beginning = "red " * (MAX_CHARACTERS // 4)
    assert await subject.rate("red fox", f"{beginning}fox") == [0.5]
    assert await subject.rate(f"{beginning}fox", "red") == [1.0]
    (request, _) = subject.double.double.requests()[-2:]
    assert len(request.body) < MAX_CHARACTERS + 200


async def test_logits_become_relevances_in_the_same_order(subject: Subject) -> None:
    subject.double.double.rerankings.set({"bear": -3.2, "fox": 0.9, "owl": 900, "": -900})
    rated = await subject.rate("red fox", "a lazy bear", "the red fox", "an owl", "nothing")
    assert rated == pytest.approx([0.0392, 0.7109, 1.0, 0.0], abs=1e-4)
    subject.double.double.rerankings.set({"bear": 0.2, "fox": 0.9})
    assert await subject.rate("red fox", "a lazy bear", "the red fox") == [0.2, 0.9]


async def test_a_relevance_that_is_a_rounding_off_is_no_logit(subject: Subject) -> None:
    subject.double.double.rerankings.set({"bear": -0.0004, "fox": 1.0004, "owl": 0.5})
    assert await subject.rate("red fox", "a bear", "a fox", "an owl") == [0.0, 1.0, 0.5]


async def test_a_ping_is_answered_or_says_why_not(subject: Subject) -> None:
    await subject.reranker.ping()
    subject.fail(status=503)
    with pytest.raises(Unavailable):
        await subject.reranker.ping()
    assert subject.calls == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"status": 429}, Unavailable),
        ({"status": 400}, UpstreamRejected),
        ({"status": 401}, Unavailable),
        ({"status": 500}, UpstreamUnavailable),
        ({"status": 502}, UpstreamUnavailable),
        ({"status": 503}, (UpstreamUnavailable, UpstreamOverloaded)),
        ({"kind": "cut"}, UpstreamUnavailable),
        ({"kind": "half_body"}, UpstreamUnavailable),
        ({"kind": "after_effect_cut"}, UpstreamUnavailable),
        ({"kind": "invalid_json"}, UpstreamRejected),
        ({"kind": "wrong_indexes"}, UpstreamRejected),
    ],
    ids=str,
)
async def test_a_call_that_fails_is_an_error_of_the_tree_and_is_not_made_again(
    subject: Subject, fault: Any, kind: type[Unavailable] | tuple[type[Unavailable], ...]
) -> None:
    subject.fail(**fault)
    with pytest.raises(kind) as caught:
        await subject.rate("a secret question", *TEXTS)
    assert subject.calls == 1
    assert "secret" not in caught.value.detail
    assert not any(text in caught.value.detail for text in TEXTS)
    assert await subject.rate("red fox", "the red fox") == [1.0]


@pytest.mark.parametrize("fault", [{"kind": "hang"}, {"delay_seconds": 30.0}], ids=str)
async def test_a_call_ends_after_the_seconds_it_is_given(subject: Subject, fault: Any) -> None:
    subject.fail(**fault)
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamTimeout):
            await subject.rate("red fox", *TEXTS, seconds=0.05)
    assert await subject.rate("red fox", "the red fox") == [1.0]


async def test_a_call_that_is_cancelled_leaves_the_reranker_usable(subject: Subject) -> None:
    subject.fail(kind="hang")
    call = asyncio.create_task(subject.rate("red fox", *TEXTS))
    while not subject.calls:
        await asyncio.sleep(0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await subject.rate("red fox", "the red fox") == [1.0]


async def test_sixteen_calls_at_once_give_what_they_give_one_after_another(subject: Subject) -> None:
    queries = [f"red fox {'owl ' * n}" for n in range(16)]
    together = await asyncio.gather(*(subject.rate(query, *TEXTS) for query in queries))
    assert together == [await subject.rate(query, *TEXTS) for query in queries]
