"""What a deployment consists of, and how the account is found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.buckets import Buckets
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.deployment.edge_worker import EdgeSources
from app.adapters.cloudflare.deployment.wrangler import Wrangler
from app.adapters.cloudflare.provisioning import MissingSteps, Provisioning
from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.adapters.cloudflare.worker_scripts import WorkerScripts
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, IndexNotProvisioned
from app.domain.shards import Shard
from app.ports.database import Database
from app.storage.system import directory
from app.storage.system.deployment import DeploymentLedger, read_ledger


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """The edge Worker that a deployment is to have; None as ``sources`` or ``wrangler`` where it is not installed."""

    sources: EdgeSources | None
    wrangler: Wrangler | None


@dataclass(frozen=True, slots=True)
class DeploymentSpec:
    """What a deployment is to be.

    Attributes:
        name: The name of the deployment, from which those of its resources follow.
        placement: Where a new database and a new bucket are put.
        config: The embedding config, which names the index.
        metadata: The metadata indexes of the index.
        blobs: Whether there is a bucket for blobs.
        edge: The edge Worker; None where the service is to call the REST API.
        database_id: The database that the settings name, if any.
    """

    name: str
    placement: Placement
    config: EmbeddingConfig
    metadata: Mapping[str, IndexType]
    blobs: bool
    edge: EdgeSpec | None
    database_id: str | None = None

    @property
    def worker(self) -> str:
        """The name of the edge Worker."""
        return f"{self.name}-edge"


@dataclass(frozen=True, slots=True)
class CloudflareResources:
    """The parts of the account's control plane, by one client."""

    client: CloudflareClient
    account: Account
    buckets: Buckets
    scripts: WorkerScripts
    open_database: Callable[[str], Database]


@dataclass(frozen=True, slots=True)
class FoundDeployment:
    """The account as it was found.

    Attributes:
        database_id: The database of the deployment's name, if there is one.
        jurisdiction: The jurisdiction of this database, where one is wanted.
        ledger: The ledger of this database.
        shards: The shards beside the first.
        missing: What is missing of the database and the index; None where the index cannot be what is wanted.
        obstacle: Why it cannot.
        index: Whether the index exists.
        bucket: Whether the bucket exists; None where the account has not enabled R2.
        bindings: What is bound to the Worker; None where there is none.
        subdomain: The account's subdomain of workers.dev, if it has one.
        token_id: The id of the API token.
    """

    database_id: str | None = None
    jurisdiction: str | None = None
    ledger: DeploymentLedger = field(default_factory=DeploymentLedger)
    shards: Sequence[Shard] = ()
    missing: MissingSteps | None = None
    obstacle: str = ""
    index: bool = False
    bucket: bool | None = False
    bindings: Sequence[Mapping[str, Any]] | None = None
    subdomain: str | None = None
    token_id: str = ""

    @property
    def is_own(self) -> bool:
        """Whether the database is the deployment's, or is free to become that: there is none, or it is empty."""
        return self.database_id is None or self.ledger.empty or self.ledger.is_written


async def find_deployment(
    wanted: DeploymentSpec, resources: CloudflareResources, provisioning: Provisioning, token_id: str
) -> FoundDeployment:
    """Look at everything that a deployment consists of, and change nothing."""
    database_id = await resources.account.database_id(wanted.name)
    ledger, jurisdiction, shards = DeploymentLedger(), None, list[Shard]()
    if database_id is not None:
        ledger = await read_ledger(resources.open_database(database_id))
        shards = await read_shards(resources.open_database(database_id), ledger)
        if wanted.placement.jurisdiction is not None:
            jurisdiction = await resources.account.jurisdiction(database_id)
    found = FoundDeployment(database_id, jurisdiction, ledger, shards)
    missing, obstacle = await _missing(provisioning) if found.is_own else (None, "")
    edge = wanted.edge is not None
    return FoundDeployment(
        database_id,
        jurisdiction,
        ledger,
        shards,
        missing,
        obstacle,
        await resources.account.index_exists(wanted.config.index_name),
        await find_bucket(resources, wanted.name, wanted.placement.jurisdiction) if wanted.blobs else False,
        await resources.scripts.bindings(wanted.worker) if edge else None,
        await resources.scripts.subdomain() if edge else None,
        token_id,
    )


async def read_shards(database: Database, ledger: DeploymentLedger) -> list[Shard]:
    """Return the shards beside the first; a database without a schema has none."""
    if "shards" not in ledger.tables or not ledger.is_written:
        return []
    (rows,) = await database.run([directory.READ_SHARDS])
    return directory.read_shards(rows)


async def find_bucket(resources: CloudflareResources, name: str, jurisdiction: str | None) -> bool | None:
    """Return whether there is a bucket of this name; None where the account has not enabled R2."""
    try:
        return await resources.buckets.exists(name, jurisdiction)
    except ConfigurationError:
        return None


async def _missing(provisioning: Provisioning) -> tuple[MissingSteps | None, str]:
    try:
        return await provisioning.plan(), ""
    except (IndexNotProvisioned, ConfigurationError) as error:
        return None, error.detail
