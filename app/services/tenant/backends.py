"""The backends of one tenant's services. No object that is reached from here crosses tenants."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.domain.author import Author
from app.domain.embedding import CosineScale, EmbeddingConfig, EmbeddingConfigs, Vector
from app.domain.errors import ConfigurationError, IndexNotProvisioned, Unavailable
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
from app.services.access.credentials import Principal
from app.services.access.scopes import CredentialWanted
from app.services.models.language_model import TenantLanguageModel
from app.services.models.reader import TenantReader
from app.services.models.reranker import TenantReranker
from app.services.tenant.background import Background
from app.services.tenant.caches import TenantCaches
from app.services.tenant.embedder import EmbeddedQueries
from app.services.tenant.objects import TenantObjects
from app.services.tenant.recall_log import TenantAudit
from app.services.tenant.screening import Screening
from app.services.turns.admission import TenantAdmission
from app.storage.scoped import ScopedStatement, TenantDatabase

Clock = Callable[[], int]
"""Returns now, in milliseconds since the epoch."""

IMPORT_LINES = 200
"""Lines of an import in one batch, where each batch costs calls over the network."""

_T = TypeVar("_T")
_MAX_TRIES = 5


class EmbeddingConfigChanged(Exception):
    """The embedding config in use is not the config that was last seen; ``settled`` tries again with the new one."""


async def settled(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """Make an attempt, and repeat it while the embedding config in use changes under it.

    Raises:
        Unavailable: the config has changed under every try.
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

        ``building`` tells whether the index is being made; until it is made, no vector may be sent to it. ``turn``
        returns a context that holds the place of a query in the tenant's share of the index.
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
        if self.visible_at_once:  # an index on this machine has turns of its own
            return await self._index.query(scope, vector, top_k=top_k, where=where)
        async with self._turn():
            return await self._index.query(scope, vector, top_k=top_k, where=where)

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        """Return the hits that a run of the database asks for in its own call; None where a run cannot."""
        self._check(scope)
        if self._building():
            return None
        index = self._index
        return index.ask_within(scope, vector, top_k=top_k, where=where) if isinstance(index, AsksWithin) else None

    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[ScopedStatement] | None:
        """Return the statements that write vectors in the run of their memories.

        Return None where the index cannot take them so (``WritesWithin``), or is being made.
        """
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
        """Raise ``IndexNotProvisioned`` while the index is being made: a vector sent now would never be found."""
        if self._building():
            raise IndexNotProvisioned("The index is being made. Vectors wait in the outbox until it is ready.")

    def _check(self, scope: Scope | Tenant) -> None:
        if scope.tenant_id != self._tenant_id:
            raise ValueError("A scope of another tenant was given to this tenant's index.")


@dataclass(frozen=True, slots=True)
class TenantData:
    """The tenant's database, index and objects, and the caches of the process for them."""

    database: TenantDatabase
    index_of: Callable[[EmbeddingConfig], TenantIndex]
    """Returns a config's index; raises ``EmbeddingConfigMismatch`` where this process cannot reach that index."""
    objects: TenantObjects
    """The bytes of the tenant's blobs."""
    observe: Callable[[Row], EmbeddingConfigs | None]
    """Acts on the request state that a run has read (``app.storage.request_state``).
    Returns the embedding configs in use; None where the data has no memory.
    """
    claim: Callable[[], Awaitable[None]]
    """Puts the config of the settings in use, where the data has no memory."""
    seen_configs: Callable[[], EmbeddingConfigs]
    deliveries: Deliveries = field(default_factory=Deliveries)
    """The writes to indexes that go on after their requests were answered."""
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
    """The models that embed, read, rate and write for the tenant, and how long a recall waits for them."""

    embedder_of: Callable[[EmbeddingConfig], Embedder]
    """Returns the embedder of a config; raises ``EmbeddingConfigMismatch`` where this process has none for it."""
    embed_queries: Callable[[EmbeddingConfig, Sequence[str]], Awaitable[EmbeddedQueries]]
    """Embeds queries through the tenant's part of the query cache; raises ``Unavailable``."""
    scale_of: Callable[[EmbeddingConfig], CosineScale]
    """Returns the scale of a config's cosines, as far as it is known."""
    reader: TenantReader | None = None
    """Reads how memories bear on each other, and on questions; None where no reader is set."""
    compared_later: Callable[[Scope, Sequence[str]], None] = lambda _, __: None
    """Takes the ids of memories that were stored just now, for a reader to compare."""
    reranker: TenantReranker | None = None
    """Rates the best candidates of a recall; None where no reranker is set."""
    model: TenantLanguageModel | None = None
    """Learns of messages, analyses queries and writes answers; None where no language model is set."""
    recall_part_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for a service that it can do without."""
    recall_strict: bool = False
    """Whether a recall is strict where its query does not say whether it is."""

    async def shadow_vectors(
        self, texts: Sequence[str], config: EmbeddingConfig | None
    ) -> Sequence[Mapping[str, Vector]]:
        """Embed with the shadow config, which is kept up to date beside the active one while the data moves to it.

        Return for each text its vector by the name of the config's index; no vectors where there is no such config, or
        embedding fails. Vectors that are left out are copied later.
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
    """Limits of a tenant's data, and of the work that is done for it at once. All tenants have the same limits."""

    quotas: Defaults = field(default_factory=Defaults)
    """The limits of tenants and agents that have no limits of their own."""
    import_lines: int = IMPORT_LINES
    """Lines of an import that are looked up, embedded and written together."""
    import_window: int = IMPORT_LINES
    """Lines of an import that are read before they are written, in the order of their ids."""
    ingest_seconds: float = 20.0
    """How long the request of an ingestion waits for the ingestion's end; then the answer is the operation."""
    tenant_episodes: int = EPISODES
    """How many episodes a tenant may have."""
    episodes_near_limit: Callable[[], None] = lambda: None
    """Counts, once a day, that a tenant has nearly as many episodes as it may have."""
    window_tokens: int = WINDOW_TOKENS
    """How many tokens a window keeps."""
    leaving_bytes: int = 0
    """Bytes of turns that leave their window once they are in long-term memory: these bytes are not counted twice."""


def _no_mint(_: CredentialWanted, __: int) -> tuple[str, Principal]:
    raise ConfigurationError("This process has no secret to sign credentials with.")


@dataclass(frozen=True, slots=True)
class TenantAccess:
    """What the service of the tenant's credentials does beside its database."""

    mint: Callable[[CredentialWanted, int], tuple[str, Principal]] = _no_mint
    """Signs a credential of the tenant, as ``Credentials.mint`` does."""
    revoked: Callable[[int], None] = lambda _: None
    """Takes the moment of a revocation, so that the next request of this process reads it."""


@dataclass(frozen=True, slots=True)
class TenantBackends:
    """The backends of one tenant's services; ``app.runtime.backends`` makes them for each request."""

    tenant_id: str
    author: Author
    """The author of this request's writes."""
    clock: Clock
    channels: Sequence[Channel]
    """The channels by which recalls find and score memories."""
    audit: TenantAudit
    """Notes recalls, and counts recalls, tool calls and embedded texts."""
    admission: TenantAdmission
    data: TenantData
    models: TenantModels
    limits: TenantLimits
    screening: Screening
    """Keeps content that should not be kept out of what this request writes."""
    background: Background
    """The work that goes on after its request was answered."""
    access: TenantAccess = field(default_factory=TenantAccess)
    process: str = "process"
    """The name of this process; the holder of each of its leases begins with this name."""
    run_id: str | None = None
    """The run that this request is made under, whose log tells of the request; None where no run is named."""

    async def screened(self, value: _T, name: str = "") -> _T:
        """Return a value as it may be kept; see ``Screening.of``."""
        return value if self.screening.detector is None else await self.screening.of(value, name)

    def with_database(self, database: TenantDatabase) -> "TenantBackends":
        """Return the same backends with another way to the tenant's database."""
        return replace(self, data=replace(self.data, database=database))
