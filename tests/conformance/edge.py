"""The Worker of ``deploy/edge`` on workerd, by both entries.

D1 is Cloudflare's own, and so are the bindings of Vectorize and Workers AI; what these ask, the double answers.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.adapters.local.hashing import HashingEmbedder
from app.domain.embedding import EmbeddingConfig
from app.observability.metrics import Metrics
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running
from tests.conformance.remote_bindings import WithRemoteBindings
from tests.conformance.workerd import running_program
from tests.contracts.conftest import CONFIG, FILTERABLE
from tests.support.backends import Backend

ENTRIES = ("worker", "container")
SECRET = "a-secret-of-the-tests-long-enough-for-an-edge"
NEXT_SECRET = "the-secret-that-follows-it-is-a-longer-one-than-that"
"""Taken too: while a secret is replaced there are two."""
TOO_SHORT = "a-secret-of-31-characters-so-it"
"""Not taken."""
AUTH_SECRETS = "test=a-secret-for-tests-of-forty-characters-x"
ACCOUNT_ID = "0" * 32
MODELS = ("@cf/baai/bge-m3", "@cf/qwen/qwen3-embedding-0.6b", "@cf/baai/bge-reranker-base")
_SLOTS = 600


@dataclass(frozen=True, slots=True)
class Slot:
    """A database and two indexes that no other test has: one for the contracts, one for a service."""

    number: int
    of_service: EmbeddingConfig = field(default_factory=lambda: HashingEmbedder().config)
    database_id: str = field(default_factory=lambda: str(uuid4()))

    @property
    def config(self) -> EmbeddingConfig:
        return EmbeddingConfig("test", f"edge-{self.number}", CONFIG.dimensions)

    @property
    def bindings(self) -> dict[str, Any]:
        return {
            "DATABASES": {self.database_id: f"DB_{self.number}"},
            "INDEXES": {
                self.config.index_name: {"binding": f"VEC_{self.number}", "metadata": {**SCOPE_TYPES, **FILTERABLE}},
                self.of_service.index_name: {"binding": f"SERVICE_{self.number}", "metadata": dict(SCOPE_TYPES)},
            },
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """The running Worker, its own slot, the account behind its Vectorize, and the slots that nobody has used yet."""

    origin: str
    own: Slot
    double: Handle
    unused: list[Slot]

    def slot(self) -> Slot:
        slot, double = self.unused.pop(), self.double.double
        double.create_index(f"vec_{slot.number}", CONFIG.dimensions, {**SCOPE_TYPES, **FILTERABLE})
        double.create_index(f"service_{slot.number}", slot.of_service.dimensions, SCOPE_TYPES)
        return slot

    def base_url(self, entry: str, slot: Slot) -> str:
        """Return what CLOUDFLARE_API_BASE_URL is for an entry: ``worker``, ``container`` or ``replicated``."""
        return f"{self.origin}/{entry}/{slot.number}/client/v4"

    def reached(self) -> list[str]:
        """Return what was called of bindings since this was last asked, such as ``DB_3.withSession``."""
        told: list[str] = httpx.get(f"{self.origin}/reached/", timeout=30, verify=False).json()
        return told

    def called(self) -> list[str]:
        """Return the requests since this was last asked, such as ``POST /recall-fused``."""
        told: list[str] = httpx.get(f"{self.origin}/called/", timeout=30, verify=False).json()
        return [call.split(ACCOUNT_ID)[-1] for call in told]

    def started(self, container: str) -> dict[str, Any]:
        """Return how a container was started, by whichever test it was: it is started once and goes on."""
        told: dict[str, list[dict[str, Any]]] = httpx.get(f"{self.origin}/started/", timeout=30, verify=False).json()
        (once,) = told[container]
        return once

    def compared(self) -> list[tuple[list[int], bool]]:
        """Return the comparisons in constant time since this was last asked: how many bytes each, and whether equal."""
        told = httpx.get(f"{self.origin}/compared/", timeout=30, verify=False).json()
        return [(each["bytes"], each["equal"]) for each in told]

    def fused(self) -> Any:
        """Return the body of the last fused recall by the public entry."""
        return httpx.get(f"{self.origin}/fused/", timeout=30, verify=False).json()


@contextmanager
def running_edge(temporary: Path, slots: Sequence[Slot] = ()) -> Iterator[Edge]:
    """Run the Worker and the account, with these slots or as many as the tests need; the first is the Worker's own."""
    slots = slots or [Slot(number) for number in range(_SLOTS)]
    options = DoubleOptions(visibility_seconds=(0.0, 0.0), rate_limit=False)
    with running(options, WithRemoteBindings) as double:
        told = {
            "account": double.url,
            "secret": f"{NEXT_SECRET},{SECRET},{TOO_SHORT}",
            "authSecrets": AUTH_SECRETS,
            "models": MODELS,
            "settings": {"EMBEDDER": "hashing", "READER": "none", "CLOUDFLARE_D1_DATABASE_ID": slots[0].database_id},
            "slots": {str(slot.number): slot.bindings for slot in slots},
        }
        path = temporary / "edge.json"
        path.write_text(json.dumps(told), encoding="utf-8")
        with running_program("edge.js", str(path), temporary=temporary) as started:
            yield Edge(started["url"], slots[0], double, list(slots[1:]))


@asynccontextmanager
async def edge_client(base_url: str, *, secret: str = SECRET) -> AsyncIterator[CloudflareClient]:
    """Open a client that has found out that it speaks to an edge."""
    client = CloudflareClient(
        account_id=ACCOUNT_ID,
        api_token=secret,
        base_url=base_url,
        call_budget=CallBudget(None),
        metrics=Metrics(),
        seconds=30.0,
    )
    try:
        assert (await client.discover()).name == "edge"
        yield client
    finally:
        await client.close()


class EdgeBackend(Backend):
    """A service behind an edge: each data directory has a slot of its own."""

    moves_clock = False

    def __init__(self, edge: Edge, entry: str, **settings: Any) -> None:
        super().__init__("cloudflare")
        self.slots: dict[Path, Slot] = {}
        self._edge = edge
        self._entry = entry
        self._more = settings

    def _account(self, data_dir: Path) -> dict[str, Any]:
        slot = self.slots[data_dir] = self._edge.slot()
        self.doubles[data_dir] = self._edge.double
        options = self._edge.double.double.options
        return {
            "cloudflare_account_id": ACCOUNT_ID,
            "cloudflare_api_token": SECRET,
            "cloudflare_api_base_url": self._edge.base_url(self._entry, slot),
            "cloudflare_d1_database_id": slot.database_id,
            "r2_bucket": options.r2_bucket,
            "r2_access_key_id": options.r2_access_key_id,
            "r2_secret_access_key": options.r2_secret_access_key,
            "r2_endpoint": self._edge.double.r2_url,
            **self._more,
        }
