"""Holds the backends of a shard, and gives each tenant's requests their part of them."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.domain.author import Author
from app.domain.circuits import Circuit
from app.domain.embedding import CosineScale, EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import EmbeddingConfigMismatch
from app.domain.query import RECALL_PART_SECONDS
from app.domain.request_note import RequestNote
from app.domain.shards import MAIN
from app.indexing.cosine_scales import CosineScales
from app.indexing.delivery import Acknowledgements, Deliveries
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.jobs.erase import Moving, nobody_moves
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
from app.services.access.credentials import Principal
from app.services.access.delegation import Delegation
from app.services.access.issuers import Issuers
from app.services.access.revocations import CredentialUses, Revocations
from app.services.access.scopes import CredentialWanted
from app.services.models.language_model import ModelShares, ModelWaits, TenantLanguageModel
from app.services.models.reader import READER_SECONDS, TenantReader
from app.services.models.reranker import TenantReranker
from app.services.models.spend import ModelSpend
from app.services.tenant.backends import (
    Clock,
    TenantAccess,
    TenantBackends,
    TenantData,
    TenantIndex,
    TenantLimits,
    TenantModels,
)
from app.services.tenant.background import Background
from app.services.tenant.caches import TenantCaches
from app.services.tenant.embedder import TenantEmbedder, embed_queries
from app.services.tenant.objects import TenantObjects
from app.services.tenant.recall_log import RecallLog, TenantAudit
from app.services.tenant.screened_model import ScreenedLanguageModel
from app.services.tenant.screening import Screening
from app.services.turns.admission import Admission, TenantAdmission
from app.storage import embedding_configs
from app.storage.migrations.runner import Migration, known_migrations
from app.storage.presence import Presence
from app.storage.request_state import request_state
from app.storage.scoped import Explain, TenantDatabase


@dataclass(slots=True)
class LastAnswer:
    """When the database last answered a request."""

    at: float = -math.inf
    """The moment, in seconds of ``time.monotonic``."""


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends that all tenants share. ``index`` and ``embedder`` are those of the config in the settings."""

    database: Database
    index: IndexAdmin
    embedder: Embedder
    clock: Clock
    scales: CosineScales
    """The scales of cosines, by embedding config."""
    registry: EmbeddingRegistry = field(default_factory=EmbeddingRegistry)
    limits: TenantLimits = field(default_factory=TenantLimits)
    admission: Admission = field(default_factory=Admission)
    caches: TenantCaches = field(default_factory=TenantCaches)
    channels: Sequence[Channel] = CHANNELS
    """The channels by which recalls find and score memories."""

    last_answer: LastAnswer = field(default_factory=LastAnswer)
    """When the database last answered a request: after an answer, a failed check of readiness is soon made again."""

    revocations: Revocations = field(default_factory=Revocations)
    """The credentials that hold no longer."""
    issuers: Issuers | None = None
    """Those who let in callers beside this service's own credentials; None where the settings name none."""
    delegation: Delegation = field(default_factory=Delegation)
    """What callers without a credential are told of the issuer."""

    mint: Callable[[str, CredentialWanted, int], tuple[str, Principal]] | None = None
    """Signs a credential of a tenant, as ``Credentials.mint`` does; None: nothing is minted here."""
    credential_uses: CredentialUses = field(default_factory=CredentialUses)
    """The uses of credentials, until they are written."""

    recall_log: RecallLog = field(default_factory=lambda: RecallLog(keep=False))
    """The notes of recalls and runs, until they are written."""

    reader: Reader | None = None
    """The reader, which finds the relations of memories; None where the settings name none."""
    reader_seconds: float = READER_SECONDS
    """How long a request waits for the reader."""
    reading_queue: ReadingQueue = field(default_factory=ReadingQueue)
    """The memories that this process has stored and the reader has still to compare."""
    reranker: Reranker | None = None
    """The reranker, which rates the best candidates of a recall; None where the settings name none."""
    reranker_seconds: float = 2.0
    """How long a recall waits for the reranker."""

    model: LanguageModel | None = None
    """The model that learns of messages, analyses queries and writes answers; None where the settings name none."""
    recall_model_seconds: float = 8.0
    """How long a recall waits for the model in all."""
    recall_analysis_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for the model's analysis of the query; 0: no query is analysed."""
    model_shares: ModelShares = field(default_factory=ModelShares)
    """Limits how many calls of the model each tenant makes at once."""
    model_spend: ModelSpend = field(default_factory=ModelSpend)
    """The calls and tokens of each tenant's use of the model today."""

    shard: str = MAIN
    """The name of the shard that has these backends."""
    processes: Processes = field(default_factory=lambda: UnknownProcesses("process"))
    """This process and the others that use the shard's data on this machine."""
    presence: Presence = field(default_factory=Presence)
    """The check of each run of statements that its tenant lives in this database."""
    shards_seen: Callable[[int], None] = lambda _: None
    """Takes the number of shards beside the first, as the first shard's database tells it."""
    moving: Moving = nobody_moves
    """Reads the tenants that are moved from one shard to another."""
    stored_bytes: Callable[[], Awaitable[int]] | None = None
    """Returns the size of the database in bytes; None where the size is not measured."""
    check_room: Callable[[], Awaitable[None]] | None = None
    """Raises ``StorageFull`` where the database cannot grow; None where this cannot be told beforehand."""
    limited: bool = True
    """Whether D1's and Vectorize's limits hold for the shard."""

    migrates: bool = True
    """Whether a start brings the schema up to date, as a service does and a command does not."""
    migrations: Sequence[Migration] = field(default_factory=known_migrations)
    """The migrations that this version knows."""
    explain: Explain | None = None
    """Explains the refusal of a statement by the database."""

    screening: Screening = field(default_factory=Screening)
    """The rule about content that should not be kept, without the notes of a request."""
    background: Background = field(default_factory=Background)
    """The work that goes on after its request was answered."""
    deliveries: Deliveries = field(default_factory=Deliveries)
    """The index writes that go on after their request was answered."""
    recall_part_seconds: float = RECALL_PART_SECONDS
    """How long a recall waits for a service that it can do without."""
    recall_strict: bool = False
    """Whether a recall is strict where its query does not say."""
    circuits: Callable[[], Sequence[Circuit]] = tuple
    """Returns the circuits of this process, which tell to which services no calls are made."""
    calls: ProcessCalls | None = None
    """The calls of a service that limits all processes together; None where no such service is called."""
    call_shares: CallShares | None = None
    """This process's share of these calls; None where none is leased, or another runtime of the process leases it."""
    objects: ObjectStore = field(default_factory=NoObjectStore)
    """The object store, which holds the bytes of blobs."""
    archive_days: int | None = None
    """Age in days from which memories, episodes and ended runs are archived; None: nothing is archived."""
    snapshots_kept: int = 0
    """How many snapshots of each tenant are kept in the object store; 0: no snapshots are made."""

    @property
    def acknowledgements(self) -> Acknowledgements:
        """The delivery acknowledgements that wait for the indexer."""
        return self.deliveries.acknowledgements

    def of_tenant(
        self, tenant_id: str, author: Author | None = None, note: RequestNote | None = None
    ) -> TenantBackends:
        """Return the backends of one tenant's requests; the author by default may replace nothing.

        ``note``: the notes of the one request that the backends are for.
        """

        def observe(state: Row) -> EmbeddingConfigs | None:
            self.last_answer.at = time.monotonic()
            read = request_state(state)
            self.caches.seen(tenant_id, read.epoch)
            self.revocations.seen(read.revoked_at)
            self.shards_seen(read.shards)
            if read.unattended:
                self.acknowledgements.wake()
            configs = read.configs_of_memories
            if configs is not None:
                self.registry.seen(configs)
            return configs

        audit, rule = TenantAudit(tenant_id, self.recall_log, note or RequestNote()), self.screening
        admission = TenantAdmission(tenant_id, self.admission)
        return TenantBackends(
            tenant_id=tenant_id,
            author=author or Author(),
            clock=self.clock,
            channels=self.channels,
            audit=audit,
            process=self.processes.name,
            admission=admission,
            data=self._data_of(tenant_id, admission, observe),
            models=self._models_of(admission, audit),
            screening=replace(rule, note=audit.request, in_thread=admission.in_thread),
            limits=self.limits,
            background=self.background,
            access=TenantAccess()
            if self.mint is None
            else TenantAccess(partial(self.mint, tenant_id), self.revocations.seen),
        )

    def _data_of(
        self, tenant_id: str, admission: TenantAdmission, observe: Callable[[Row], EmbeddingConfigs | None]
    ) -> TenantData:
        return TenantData(
            database=TenantDatabase(tenant_id, self.database, admission.read, self.presence, self.explain),
            index_of=lambda config: TenantIndex(
                tenant_id,
                self.index_of(config),
                lambda: config.index_name in self.configs.building,
                admission.index_query,
            ),
            objects=TenantObjects(tenant_id, self.objects),
            deliveries=self.deliveries,
            observe=observe,
            claim=self.claim,
            seen_configs=lambda: self.configs,
            caches=self.caches,
        )

    def _models_of(self, admission: TenantAdmission, audit: TenantAudit) -> TenantModels:
        tenant_id, shares = audit.tenant_id, self.admission

        def embedder_of(config: EmbeddingConfig) -> TenantEmbedder:
            return TenantEmbedder(self.embedder_of(config), admission, audit)

        return TenantModels(
            embedder_of=embedder_of,
            embed_queries=lambda config, texts: embed_queries(
                tenant_id, texts, embedder_of(config), self.caches.queries
            ),
            scale_of=self.scale_of,
            reader=None
            if self.reader is None
            else TenantReader(tenant_id, self.reader, shares.readings, self.reader_seconds),
            compared_later=self.reading_queue.note,
            reranker=None
            if self.reranker is None
            else TenantReranker(tenant_id, self.reranker, shares.rerankings, self.reranker_seconds),
            model=self._model_of(tenant_id, audit.request),
            recall_part_seconds=self.recall_part_seconds,
            recall_strict=self.recall_strict,
        )

    def _model_of(self, tenant_id: str, note: RequestNote) -> TenantLanguageModel | None:
        if self.model is None:
            return None
        screened = ScreenedLanguageModel(self.model, self.screening) if self.screening.detector else self.model
        return TenantLanguageModel(
            tenant_id,
            screened,
            self.model_spend,
            self.model_shares,
            self.clock,
            ModelWaits(self.recall_model_seconds, self.recall_analysis_seconds),
            note,
        )

    def index_of(self, config: EmbeddingConfig) -> IndexAdmin:
        """Return the config's index.

        Raises:
            EmbeddingConfigMismatch: this process cannot open the index.
        """
        index = self.index if config == self.embedder.config else self.registry.index(config)
        if index is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return index

    def embedder_of(self, config: EmbeddingConfig) -> Embedder:
        """Return the config's embedder.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with the config: a key or a model is missing.
        """
        embedder = self.embedder if config == self.embedder.config else self.registry.embedder(config)
        if embedder is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return embedder

    def scale_of(self, config: EmbeddingConfig) -> CosineScale:
        """Return the scale of the config's cosines, or a usual scale where they were not measured yet.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with the config.
        """
        return self.scales.of(config, self.embedder_of(config))

    async def claim(self) -> None:
        """Make the config of the settings active, where the database has no memory."""
        self.registry.seen(await embedding_configs.claim(self.database, self.embedder.config))

    @property
    def configs(self) -> EmbeddingConfigs:
        """Return the embedding configs last seen in use; every run of the database checks them."""
        return self.registry.configs or EmbeddingConfigs(self.embedder.config)
