"""Holds the backends of the process, and gives each tenant's requests their part of them."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from app.domain.author import Author
from app.domain.circuits import Circuit
from app.domain.embedding import CosineScale, EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import EmbeddingConfigMismatch
from app.domain.limits import WINDOW_TOKENS
from app.domain.query import RECALL_PART_SECONDS
from app.domain.quotas import EPISODES, Defaults
from app.domain.request_note import RequestNote
from app.domain.shards import MAIN
from app.indexing.cosine_scales import CosineScales
from app.indexing.delivery import Acknowledgements, Deliveries
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.reading_queue import ReadingQueue
from app.ports.database import Database, Row
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.ports.language_model import LanguageModel
from app.ports.object_store import NoObjectStore, ObjectStore
from app.ports.processes import Processes, UnknownProcesses
from app.ports.reader import Reader
from app.ports.reranker import Reranker
from app.retrieval.channels import CHANNELS
from app.retrieval.channels.channel import Channel
from app.runtime.call_shares import CallShares, ProcessCalls
from app.services.access.revocations import Revocations
from app.services.answering.topics import TopicCache
from app.services.memories.query_vectors import QueryCache, embed_queries
from app.services.memories.speakers import SpeakerCache
from app.services.models.language_model import ModelShares, ModelWaits, TenantLanguageModel
from app.services.models.reader import READER_SECONDS, TenantReader
from app.services.models.reranker import TenantReranker
from app.services.models.spend import ModelSpend
from app.services.tenant.backends import (
    IMPORT_LINES,
    Clock,
    TenantBackends,
    TenantData,
    TenantIndex,
    TenantLimits,
    TenantModels,
)
from app.services.tenant.background import Background
from app.services.tenant.recall_log import RecallLog, TenantAudit
from app.services.tiers.context_cache import ContextCache
from app.services.tiers.objects import TenantObjects
from app.services.turns.long_work import LongWork
from app.services.turns.recall_rates import RecallRates
from app.services.turns.refusals import Refusals
from app.services.turns.request_turns import RequestTurns
from app.services.turns.shares import (
    BLOB_BYTES,
    INDEX_QUERIES,
    INGEST_BYTES,
    LONG_TEXT_CHARACTERS,
    READINGS,
    READS,
    RERANKINGS,
    TEXT_CHARACTERS,
    Shares,
    TenantEmbedder,
)
from app.storage import embedding_configs
from app.storage.migrations.runner import Migration, known_migrations
from app.storage.presence import Presence
from app.storage.request_state import request_state
from app.storage.scoped import TenantDatabase

_TOPIC_BYTES = 4 * 1024 * 1024
_SPEAKER_BYTES = 4 * 1024 * 1024
"""Of the names of speakers that all tenants have."""
_CONTEXT_BYTES = 16 * 1024 * 1024
_CONTEXT_SECONDS = 30


@dataclass(slots=True)
class LastAnswer:
    """When the database last answered a request."""

    at: float = -math.inf
    """In seconds of ``time.monotonic``."""


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends that all tenants share. ``index`` and ``embedder`` are those of the config in the settings."""

    database: Database
    index: IndexAdmin
    embedder: Embedder
    queries: QueryCache
    acknowledgements: Acknowledgements
    clock: Clock
    scales: CosineScales
    """Where the cosines of each embedding config lie."""
    registry: EmbeddingRegistry = field(default_factory=EmbeddingRegistry)
    quotas: Defaults = field(default_factory=Defaults)
    """The limits of tenants and agents that have none of their own."""

    channels: Sequence[Channel] = CHANNELS
    """The channels by which recalls find and score memories."""

    tenant_episodes: int = EPISODES
    """How many episodes each tenant may have."""
    window_tokens: int = WINDOW_TOKENS
    """How many tokens each window keeps."""
    episodes_near_limit: Callable[[], None] = lambda: None
    """Counts, once a day, that a tenant has nearly as many."""

    refusals: Refusals = field(default_factory=Refusals)
    """Who was refused a store a moment ago."""

    last_answer: LastAnswer = field(default_factory=LastAnswer)
    """When the database last answered a request: readiness is looked at again after that."""

    revocations: Revocations = field(default_factory=Revocations)
    """Which credentials hold no longer."""

    recalls: RecallRates = field(default_factory=RecallRates)
    """How many recalls this process has answered in this minute."""

    recall_log: RecallLog = field(default_factory=lambda: RecallLog(keep=False))
    """What recalls leave behind, until it is written."""

    reader: Reader | None = None
    """What reads how memories bear on each other; None where none is set."""
    reader_seconds: float = READER_SECONDS
    """How long a request waits for it."""
    reading_queue: ReadingQueue = field(default_factory=ReadingQueue)
    """What this process has stored and the reader has still to compare."""
    readings: Shares = field(default_factory=lambda: Shares(READINGS))
    """The requests of each tenant that wait for it at once."""

    reranker: Reranker | None = None
    """What rates the best candidates of a recall; None where none is set."""
    reranker_seconds: float = 2.0
    """How long a recall waits for it."""

    model: LanguageModel | None = None
    """What learns of messages, analyses queries and writes answers; None where none is set."""
    recall_model_seconds: float = 8.0
    """How long a recall waits for it in all."""
    recall_analysis_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for what it makes of the query; 0: it is not asked."""
    model_shares: ModelShares = field(default_factory=ModelShares)
    """What each tenant asks it at once."""
    model_spend: ModelSpend = field(default_factory=ModelSpend)
    """What each tenant's calls of it cost today."""

    shard: str = MAIN
    """The name of the shard that these are of."""
    processes: Processes = field(default_factory=lambda: UnknownProcesses("process"))
    """This process and the others that use the shard's data on this machine."""
    presence: Presence = field(default_factory=Presence)
    """Whether each run checks that its tenant lives in this database."""
    shards_seen: Callable[[int], None] = lambda _: None
    """Is told how many shards there are beside the first, as the first one's database says."""
    stored_bytes: Callable[[], Awaitable[int]] | None = None
    """Returns the size of the database; None where nobody looks at it."""
    check_room: Callable[[], Awaitable[None]] | None = None
    """Raises ``StorageFull`` where the database cannot grow; None where nobody can tell beforehand."""
    limited: bool = True
    """Whether D1's and Vectorize's limits hold for the shard."""

    migrates: bool = True
    """Whether a start brings the schema up to date, as a service does and a command does not."""
    migrations: Sequence[Migration] = field(default_factory=known_migrations)
    """Those that this version knows."""
    watch: Callable[[Database], Database] = lambda database: database
    """Returns the database so that what a newer version has made of it is seen where it refuses a statement."""
    watched: Database = field(init=False)
    """The database as ``watch`` returns it: requests run their statements on it."""

    request_turns: RequestTurns = field(default_factory=RequestTurns)
    """Whose request begins next."""
    long_work: LongWork = field(default_factory=LongWork)
    """When the next part of imports and exports begins."""
    import_lines: int = IMPORT_LINES
    """Lines of an import in one batch."""
    import_window: int = IMPORT_LINES
    """Lines of an import that are read before they are written, in the order of their ids."""
    reads: Shares = field(default_factory=lambda: Shares(READS))
    """What each tenant reads at once."""
    index_queries: Shares = field(default_factory=lambda: Shares(INDEX_QUERIES))
    """What each tenant asks an index over the network at once."""
    texts: Shares = field(default_factory=lambda: Shares(TEXT_CHARACTERS))
    """What each tenant has embedded at once."""
    long_texts: Shares = field(default_factory=lambda: Shares(LONG_TEXT_CHARACTERS))
    """What of that is of long calls."""
    rerankings: Shares = field(default_factory=lambda: Shares(RERANKINGS))
    """The recalls of each tenant that are reranked at once."""

    topics: TopicCache = field(default_factory=lambda: TopicCache(_TOPIC_BYTES))
    """The topics of agents, of which a language model picks."""
    speakers: SpeakerCache = field(default_factory=lambda: SpeakerCache(_SPEAKER_BYTES))
    """Who speaks in the memories of agents."""

    context: ContextCache = field(default_factory=lambda: ContextCache(_CONTEXT_BYTES, _CONTEXT_SECONDS))
    """The shared documents that were read lately."""

    background: Background = field(default_factory=Background)
    """What goes on after its request was answered."""
    deliveries: Deliveries = field(default_factory=Deliveries)
    """The index writes that do."""
    recall_part_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for a service that it can do without."""
    recall_strict: bool = False
    """Whether a recall is strict where its query does not say it."""
    circuits: Callable[[], Sequence[Circuit]] = tuple
    """Returns the circuits of this process: which services do not answer, so that no calls are made."""
    ingest_seconds: float = 20.0
    """How long an ingestion's request waits for its end; then it is answered with the operation."""
    calls: ProcessCalls | None = None
    """What may be called of a service that limits all processes together; None where no such service is called."""
    call_shares: CallShares | None = None
    """This process's share of such calls; None where none is leased, or another runtime of the process does so."""
    objects: ObjectStore = field(default_factory=NoObjectStore)
    """The bytes of blobs."""
    archive_days: int | None = None
    """Age from which memories, episodes and ended runs are moved into the object store; None: none are."""
    snapshots_kept: int = 0
    """Snapshots of each tenant that are kept in the object store; 0: none is made."""
    blob_bodies: Shares = field(default_factory=lambda: Shares(BLOB_BYTES))
    """What each tenant sends and is sent at once of blobs."""
    ingest_bodies: Shares = field(default_factory=lambda: Shares(INGEST_BYTES))
    """What each tenant brings at once of messages."""

    def __post_init__(self) -> None:
        """Have the database watched, once for all requests."""
        object.__setattr__(self, "watched", self.watch(self.database))

    def of_tenant(
        self, tenant_id: str, author: Author | None = None, note: RequestNote | None = None
    ) -> TenantBackends:
        """Return the backends of one tenant's requests; without an author, one who may replace nothing.

        ``note``: what is noted of the one request that they are for.
        """
        noted = note or RequestNote()

        def observe(state: Row) -> EmbeddingConfigs | None:
            self.last_answer.at = time.monotonic()
            read = request_state(state)
            self.queries.seen(tenant_id, read.epoch)
            self.topics.seen(tenant_id, read.epoch)
            self.speakers.seen(tenant_id, read.epoch)
            self.context.seen(tenant_id, read.epoch)
            self.revocations.seen(read.revoked_at)
            self.shards_seen(read.shards)
            if read.unattended:
                self.acknowledgements.wake()
            configs = read.configs_of_memories
            if configs is not None:
                self.registry.seen(configs)
            return configs

        return TenantBackends(
            tenant_id=tenant_id,
            author=author or Author(),
            clock=self.clock,
            channels=self.channels,
            audit=TenantAudit(tenant_id, self.recall_log, noted),
            process=self.processes.name,
            data=self._data_of(tenant_id, observe),
            models=self._models_of(tenant_id, noted),
            limits=self._limits_of(tenant_id),
        )

    def _data_of(self, tenant_id: str, observe: Callable[[Row], EmbeddingConfigs | None]) -> TenantData:
        return TenantData(
            database=TenantDatabase(tenant_id, self.watched, lambda: self.reads.take(tenant_id, 1), self.presence),
            index_of=lambda config: TenantIndex(
                tenant_id,
                self.index_of(config),
                lambda: config.index_name in self.configs.building,
                lambda: self.index_queries.take(tenant_id, 1),
            ),
            objects=TenantObjects(tenant_id, self.objects),
            acknowledgements=self.acknowledgements,
            deliveries=self.deliveries,
            observe=observe,
            claim=self.claim,
            seen_configs=lambda: self.configs,
            topics=self.topics,
            speakers=self.speakers,
            context=self.context,
        )

    def _models_of(self, tenant_id: str, noted: RequestNote) -> TenantModels:
        def report(characters: int, tokens: int | None) -> None:
            self.recall_log.counts.embedded(tenant_id, characters, tokens)
            noted.embedded(characters, tokens)

        def embedder_of(config: EmbeddingConfig) -> TenantEmbedder:
            return TenantEmbedder(tenant_id, self.embedder_of(config), self.texts, self.long_texts, report)

        return TenantModels(
            embedder_of=embedder_of,
            embed_queries=lambda config, texts: embed_queries(tenant_id, texts, embedder_of(config), self.queries),
            scale_of=self.scale_of,
            reader=None
            if self.reader is None
            else TenantReader(tenant_id, self.reader, self.readings, self.reader_seconds),
            compared_later=self.reading_queue.note,
            reranker=None
            if self.reranker is None
            else TenantReranker(tenant_id, self.reranker, self.rerankings, self.reranker_seconds),
            model=self._model_of(tenant_id, noted),
            recall_part_seconds=self.recall_part_seconds,
            recall_strict=self.recall_strict,
        )

    def _limits_of(self, tenant_id: str) -> TenantLimits:
        return TenantLimits(
            quotas=self.quotas,
            refusals=self.refusals,
            recalls=self.recalls,
            blob_room=lambda size: self.blob_bodies.take(tenant_id, size),
            request=self.long_work.request,
            part=lambda: self.long_work.part(tenant_id),
            import_lines=self.import_lines,
            import_window=max(self.import_lines, self.import_window),
            ingest_seconds=self.ingest_seconds,
            ingest_room=lambda size: self.ingest_bodies.take(tenant_id, size),
            tenant_episodes=self.tenant_episodes,
            episodes_near_limit=self.episodes_near_limit,
            window_tokens=self.window_tokens,
            background=self.background,
        )

    def _model_of(self, tenant_id: str, note: RequestNote) -> TenantLanguageModel | None:
        if self.model is None:
            return None
        return TenantLanguageModel(
            tenant_id,
            self.model,
            self.model_spend,
            self.model_shares,
            self.clock,
            ModelWaits(self.recall_model_seconds, self.recall_analysis_seconds),
            note,
        )

    def index_of(self, config: EmbeddingConfig) -> IndexAdmin:
        """Return the config's index.

        Raises:
            EmbeddingConfigMismatch: this process cannot open it.
        """
        index = self.index if config == self.embedder.config else self.registry.index(config)
        if index is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return index

    def embedder_of(self, config: EmbeddingConfig) -> Embedder:
        """Return the config's embedder.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with it: a key or a model is missing.
        """
        embedder = self.embedder if config == self.embedder.config else self.registry.embedder(config)
        if embedder is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return embedder

    def scale_of(self, config: EmbeddingConfig) -> CosineScale:
        """Return where the config's cosines lie, as far as that is known.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with it.
        """
        return self.scales.of(config, self.embedder_of(config))

    async def claim(self) -> None:
        """Make the config of the settings active, where there is no memory."""
        self.registry.seen(await embedding_configs.claim(self.database, self.embedder.config))

    @property
    def configs(self) -> EmbeddingConfigs:
        """Return the embedding configs last seen in use; every run of the database checks them."""
        return self.registry.configs or EmbeddingConfigs(self.embedder.config)
