"""One embedder over respx: a test says what OpenAI answers and sees what was sent."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import respx

from app.adapters.openai.embedder import OpenAIEmbedder
from app.observability.metrics import Metrics
from tests.adapters.openai.wire import DIMENSIONS, KEY, TLS, URL


@pytest.fixture(autouse=True)
def _one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the certificates once: nothing here reaches them."""
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: TLS)


@pytest.fixture
def route() -> Iterator[respx.Route]:
    """The endpoint; an unexpected call fails the test."""
    with respx.mock(assert_all_called=False) as router:
        yield router.post(URL)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def embedder(route: respx.Route, metrics: Metrics) -> AsyncIterator[OpenAIEmbedder]:
    del route  # entered first, left last
    embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, dimensions=DIMENSIONS, seconds=5.0)
    yield embedder
    await embedder.close()
