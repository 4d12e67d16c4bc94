"""One client over respx: a test says what Cloudflare answers and sees what was sent."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import respx

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.observability.metrics import Metrics
from tests.adapters.cloudflare.vectors import CONFIG, FILTERABLE
from tests.adapters.cloudflare.wire import ACCOUNT, ACCOUNT_ID, TLS, TOKEN, Clock

LIMIT = 1000


@pytest.fixture(autouse=True)
def _one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the certificates once: nothing here reaches them."""
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: TLS)


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    """The account at Cloudflare: an unexpected call fails the test."""
    with respx.mock(base_url=ACCOUNT, assert_all_called=False) as router:
        yield router


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def client(api: respx.MockRouter, clock: Clock, metrics: Metrics) -> AsyncIterator[CloudflareClient]:
    del api  # entered first, left last
    client = CloudflareClient(
        account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=CallBudget(LIMIT, clock=clock), metrics=metrics, seconds=5.0
    )
    yield client
    await client.close()


@pytest.fixture
def index(client: CloudflareClient) -> VectorizeIndex:
    return VectorizeIndex(client, CONFIG, filterable=FILTERABLE)
