"""What the services of one tenant work with. Nothing that is reached from here crosses tenants."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.domain.author import Author
from app.domain.embedding import CosineScale, EmbeddingConfig, EmbeddingConfigs, Vector
from app.domain.errors import IndexNotProvisioned, Unavailable
from app.domain.limits import WINDOW_TOKENS
from app.domain.memory import Scope, Tenant
from app.domain.query import RECALL_PART_SECONDS, Filter
from app.domain.quotas import EPISODES, Defaults
from app.indexing.delivery import Acknowledgements, Deliveries, deferred
from app.ports.database import Row
from app.ports.embedder import Embedder
from app.ports.vector_index import (
    AsksWithin,
    AwaitedHits,
    Hits,
    IndexedVector,
    NewVector,
    VectorIndex,
    WritesWithin,
)
from app.retrieval.channels.channel import Channel
from app.services.models.language_model import TenantLanguageModel
from app.services.models.reader import TenantReader
from app.services.models.reranker import TenantReranker
from app.services.tenant.background import Background
from app.services.tenant.caches import TenantCaches
from app.services.tenant.embedder import EmbeddedQueries
from app.services.tenant.objects import TenantObjects
from app.services.tenant.recall_log import TenantAudit
from app.services.turns.admission import TenantAdmission
from app.storage.scoped import ScopedStatement, TenantDatabase

Clock = Callable[[], int]
"""Returns now, in milliseconds since the epoch."""

IMPORT_LINES = 200
"""Lines of an import in one batch, where each batch costs calls over the network."""

_T = TypeVar("_T")
_MAX_TRIES = 5


class EmbeddingConfigChanged(Exception):
    """Another embedding config is in use than the one that was last seen; ``settled`` tries again with it."""


async def settled(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """Make an attempt, and again while it finds that the embedding config in use has changed.

    Raises:
        Unavailable: it keeps changing.
    """
    for _ in range(_MAX_TRIES):
        try:
            return await attempt()
        except EmbeddingConfigChanged:
            continue
    raise Unavailable("The embedding config in use is just being changed. Nothing was stored or found; try again.")


class TenantIndex:
    """A vector index as one tenant's requests see it: it takes no scope of another tenant."""

    def __init__(
        self,
        tenant_id: str,
        index: VectorIndex,
        building: Callable[[], bool] = lambda: False,
        turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        """Bind the tenant.

        ``building`` tells whether the index is being made, when nothing may be sent to it. ``turn`` returns what holds
        the place of a query in the tenant's share of the index.
        """
        self._tenant_id = tenant_id
        self._turn = turn
        self._index = index
        self._building = building
        self.visible_at_once = index.visible_at_once
        self.confirm_seconds = index.confirm_seconds
        self.removal_grace_ms = index.removal_grace_ms
        self.filterable: Collection[str] | None = index.filterable

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Return the most similar vectors of the scope; see ``VectorIndex.query``."""
        self._check(scope)
        self._check_built()
        if self.visible_at_once:  # on this machine: it has turns of its own
            return await self._index.query(scope, vector, top_k=top_k, where=where)
        async with self._turn():
            return await self._index.query(scope, vector, top_k=top_k, where=where)

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        """Return what a run of the database asks in the same call; None where none can."""
        self._check(scope)
        if self._building():
            return None
        index = self._index
        return index.ask_within(scope, vector, top_k=top_k, where=where) if isinstance(index, AsksWithin) else None

    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[ScopedStatement] | None:
        """Return what writes vectors in the run of their memories; None where the index cannot (``WritesWithin``)."""
        if not isinstance(self._index, WritesWithin) or self._building():
            return None
        tenant = Tenant(self._tenant_id)
        return [
            ScopedStatement.write(tenant, insertion.sql, index_name=insertion.index_name, vectors=insertion.vectors)
            for insertion in self._index.insertions(vectors)
        ]

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Add or replace vectors; see ``VectorIndex.upsert``."""
        for vector in vectors:
            self._check(vector.scope)
        self._check_built()
        return await self._index.upsert(vectors)

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove vectors of the scope; see ``VectorIndex.delete``."""
        self._check(scope)
        return await self._index.delete(scope, ids)

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the tenant's vectors of these ids; see ``VectorIndex.vectors``."""
        self._check(Tenant(tenant_id))
        return await self._index.vectors(tenant_id, ids)

    def _check_built(self) -> None:
        """Raise ``IndexNotProvisioned`` while the index is being made: it would never find what it is sent now."""
        if self._building():
            raise IndexNotProvisioned("The index is being made. Vectors wait in the outbox until it is ready.")

    def _check(self, scope: Scope | Tenant) -> None:
        if scope.tenant_id != self._tenant_id:
            raise ValueError("A scope of another tenant was given to this tenant's index.")


@dataclass(frozen=True, slots=True)
class TenantData:
    """Where the tenant's data lies, and what the process remembers of it."""

    database: TenantDatabase
    index_of: Callable[[EmbeddingConfig], TenantIndex]
    """Returns a config's index; raises ``EmbeddingConfigMismatch`` where this process has no way to it."""
    objects: TenantObjects
    """The bytes of the tenant's blobs."""
    observe: Callable[[Row], EmbeddingConfigs | None]
    """Acts on the request state that a run has read (``app.storage.request_state``).
    Returns the embedding configs in use; None where there is no memory.
    """
    claim: Callable[[], Awaitable[None]]
    """Puts the config of the settings in use, where there is no memory."""
    seen_configs: Callable[[], EmbeddingConfigs]
    deliveries: Deliveries = field(default_factory=Deliveries)
    """The index writes that go on after their requests were answered."""
    caches: TenantCaches = field(default_factory=TenantCaches)

    @property
    def acknowledgements(self) -> Acknowledgements:
        """The delivery acknowledgements that wait for the indexer."""
        return self.deliveries.acknowledgements

    @property
    def configs(self) -> EmbeddingConfigs:
        """The embedding configs that were last seen in use; every run of the database checks them."""
        return self.seen_configs()


@dataclass(frozen=True, slots=True)
class TenantModels:
    """What embeds, reads, rates and writes for the tenant, and how long it is waited for."""

    embedder_of: Callable[[EmbeddingConfig], Embedder]
    """Returns what embeds with a config; raises ``EmbeddingConfigMismatch`` where this process cannot."""
    embed_queries: Callable[[EmbeddingConfig, Sequence[str]], Awaitable[EmbeddedQueries]]
    """Embeds queries through the tenant's part of the query cache; raises ``Unavailable``."""
    scale_of: Callable[[EmbeddingConfig], CosineScale]
    """Returns where a config's cosines lie, as far as that is known."""
    reader: TenantReader | None = None
    """Reads how memories bear on each other, and on questions; None where no reader is set."""
    compared_later: Callable[[Scope, Sequence[str]], None] = lambda _, __: None
    """Is told which memories were stored just now, for a reader to compare."""
    reranker: TenantReranker | None = None
    """Rates the best candidates of a recall; None where no reranker is set."""
    model: TenantLanguageModel | None = None
    """Learns of messages, analyses queries and writes answers; None where no language model is set."""
    recall_part_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for a service that it can do without."""
    recall_strict: bool = False
    """Whether a recall is strict where its query does not say it."""

    async def shadow_vectors(
        self, texts: Sequence[str], config: EmbeddingConfig | None
    ) -> Sequence[Mapping[str, Vector]]:
        """Embed for the config that is kept up to date beside the active one, while the data moves to it.

        Return for each text its vector by the config's index; none where there is no such config, or where it fails.
        What is left out is copied later.
        """
        if config is None:
            return [{} for _ in texts]
        try:
            embedded = await self.embedder_of(config).embed(texts, "document")
        except Unavailable as error:
            deferred("shadow", error)
            return [{} for _ in texts]
        return [{config.index_name: vector} for vector in embedded.vectors]


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """How much a tenant may have, and how much of its work is done at once. All tenants have the same."""

    quotas: Defaults = field(default_factory=Defaults)
    """The limits of tenants and agents that have none of their own."""
    import_lines: int = IMPORT_LINES
    """Lines of an import that are looked up, embedded and written together."""
    import_window: int = IMPORT_LINES
    """Lines of an import that are read before they are written, in the order of their ids."""
    ingest_seconds: float = 20.0
    """How long an ingestion's request waits for its end; then it is answered with the operation."""
    tenant_episodes: int = EPISODES
    """How many episodes a tenant may have."""
    episodes_near_limit: Callable[[], None] = lambda: None
    """Counts, once a day, that a tenant has nearly as many."""
    window_tokens: int = WINDOW_TOKENS
    """How many tokens a window keeps."""
    leaving_bytes: int = 0
    """Bytes of turns that leave their window once they are in long-term memory: they are not counted twice."""


@dataclass(frozen=True, slots=True)
class TenantBackends:
    """What one tenant's services work with; ``app.runtime.backends`` makes it for each request."""

    tenant_id: str
    author: Author
    """Who writes in this request."""
    clock: Clock
    channels: Sequence[Channel]
    """The channels by which recalls find and score memories."""
    audit: TenantAudit
    """Notes recalls, and counts them and tool calls."""
    admission: TenantAdmission
    data: TenantData
    models: TenantModels
    limits: TenantLimits
    background: Background
    """What goes on after its request was answered."""
    process: str = "process"
    """The name of this process, with which the holders of what it leases begin."""
    run_id: str | None = None
    """The run that this request is made under: its log tells of what is done. None: none is named."""

    def with_database(self, database: TenantDatabase) -> "TenantBackends":
        """Return the same with this way to the tenant's database."""
        return replace(self, data=replace(self.data, database=database))
