"""Takes a deployment back: the Worker with its secrets, the bucket, the index and the database.

Only what the ledger names is deleted, and a database without a ledger only where it is empty. The database goes last,
since it has the ledger: whatever ends a run, the next one goes on.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from app.adapters.cloudflare.deployment.resources import CloudflareResources, find_bucket, read_shards
from app.adapters.cloudflare.deployment.rights import Permission, check_reading, check_writing, needed, token_id
from app.adapters.cloudflare.deployment.secrets import r2_secret
from app.adapters.cloudflare.deployment.steps import DeploymentStep, Progress, StepStatus, in_state
from app.domain.embedding import EmbeddingConfig, index_name_in_shard
from app.domain.errors import ConfigurationError
from app.ports.object_store import ObjectStore
from app.storage.system.deployment import DeploymentLedger, read_index_names, read_ledger

OpenObjects = Callable[[str, str, str, str | None], ObjectStore]
"""Opens a bucket by its name, an access key's id, its secret and its jurisdiction."""

_LEFT = "It is there, and no ledger says that a deployment made it: it stays"


@dataclass(frozen=True, slots=True)
class DestructionPlan:
    """What is to be deleted, in this order, and what stays."""

    database_id: str | None
    worker: str | None = None
    bucket: str | None = None
    jurisdiction: str | None = None
    indexes: Sequence[str] = ()
    steps: Sequence[DeploymentStep] = ()
    token_id: str = ""


@dataclass(slots=True)
class _Found:
    ledger: DeploymentLedger = field(default_factory=DeploymentLedger)
    steps: list[DeploymentStep] = field(default_factory=list)

    def add(self, part: str, name: str, state: StepStatus, detail: str = "", cure: str = "") -> None:
        self.steps.append(DeploymentStep(part, name, state, detail, cure))


class Destruction:
    """Plans what a deployment of a name is to lose, and deletes it."""

    def __init__(
        self,
        name: str,
        config: EmbeddingConfig,
        resources: CloudflareResources,
        open_objects: OpenObjects,
        api_token: str,
    ) -> None:
        """Take the name of the deployment; ``config`` names the index to look for where there is no ledger."""
        self._name = name
        self._config = config
        self._resources = resources
        self._open_objects = open_objects
        self._api_token = api_token

    async def plan(self, *, with_data: bool) -> DestructionPlan:
        """Look at the account. Nothing is changed.

        Raises:
            ConfigurationError: the token does not hold, or may not look at all that it has to.
            Unavailable: the account does not answer.
        """
        client, account = self._resources.client, self._resources.account
        if (await client.discover()).name == "edge":
            raise ConfigurationError("CLOUDFLARE_API_BASE_URL is an edge Worker, which deletes nothing.")
        id_ = await token_id(client)
        await check_reading(client, needed(None, blobs=False))
        database_id = await account.database_id(self._name)
        found = _Found()
        if database_id is not None:
            found.ledger = await read_ledger(self._resources.open_database(database_id))
            if not found.ledger.is_written and not found.ledger.empty:
                cure = "Delete it yourself, if nobody needs it"
                found.add("D1 database", self._name, StepStatus.BLOCKED, "No deployment made it", cure)
                return DestructionPlan(database_id, steps=found.steps)
        worker = await self._worker(found)
        bucket, jurisdiction = await self._bucket(found, with_data=with_data)
        indexes = [name async for name in self._indexes(found)]
        if database_id is not None:
            await self._others(found, database_id, indexes)
            found.add("D1 database", self._name, StepStatus.DELETE, f"with all that it holds: {database_id}")
        return DestructionPlan(database_id, worker, bucket, jurisdiction, indexes, found.steps, id_)

    async def apply(self, plan: DestructionPlan, report: Progress) -> None:
        """Delete what the plan names.

        Raises:
            ConfigurationError: something of it may not be deleted, or the token may not delete; nothing was changed.
            Unavailable: the account does not answer, or refuses a call; another run goes on from there.
        """
        if blocked := in_state(plan.steps, StepStatus.BLOCKED):
            raise ConfigurationError(f"Nothing was changed, because of: {'; '.join(map(str, blocked))}.")
        await check_writing(self._resources.client, self._permissions(plan))
        if plan.worker is not None:
            await self._resources.scripts.delete(plan.worker)
            report(f"deleted the Worker {plan.worker} and its secrets")
        if plan.bucket is not None:
            await self._delete_bucket(plan, plan.bucket, report)
        for index in plan.indexes:
            await self._resources.account.delete_index(index)
            report(f"deleted the Vectorize index {index}")
        if plan.database_id is not None:
            await self._resources.account.delete_database(plan.database_id)
            report(f"deleted the D1 database {self._name}")

    def _permissions(self, plan: DestructionPlan) -> list[Permission]:
        """Return the permissions that the plan needs, of products that it deletes something of."""
        if plan.database_id is None:
            return []
        return needed(plan.worker, blobs=plan.bucket is not None)

    async def _worker(self, found: _Found) -> str | None:
        name = f"{self._name}-edge"
        noted = found.ledger.has("worker", name)
        if not await self._may_look("Workers Scripts", noted=noted):
            return None
        if await self._resources.scripts.bindings(name) is None:
            return None
        if not noted:
            found.add("edge Worker", name, StepStatus.LEFT, _LEFT)
            return None
        found.add("edge Worker", name, StepStatus.DELETE, "with its secrets")
        return name

    async def _bucket(self, found: _Found, *, with_data: bool) -> tuple[str | None, str | None]:
        name, noted = self._name, found.ledger.has("bucket", self._name)
        bound = found.ledger.fingerprint("bucket", name)
        jurisdiction = None if bound in {"", "default"} else bound
        if not await self._may_look("Workers R2 Storage", noted=noted):
            return None, None
        if not await find_bucket(self._resources, name, jurisdiction):
            return None, None
        if not noted:
            found.add("R2 bucket", name, StepStatus.LEFT, _LEFT)
            return None, None
        empty = await self._resources.buckets.is_empty(name, jurisdiction)
        if not empty and not with_data:
            found.add("R2 bucket", name, StepStatus.BLOCKED, "It holds objects", "Delete them too with --with-data")
        else:
            found.add("R2 bucket", name, StepStatus.DELETE, "" if empty else "with all objects that it holds")
        return name, jurisdiction

    async def _may_look(self, permission: str, *, noted: bool) -> bool:
        """Return whether the token may look at a product, which a deployment that has nothing of it does not need.

        Raises:
            ConfigurationError: it may not, and something of the product is ``noted`` in the ledger.
        """
        every = needed(f"{self._name}-edge", blobs=True)
        try:
            await check_reading(self._resources.client, [each for each in every if each.name == permission])
        except ConfigurationError:
            if noted:
                raise
            return False
        return True

    async def _indexes(self, found: _Found) -> AsyncIterator[str]:
        noted = found.ledger.names("index")
        for name in noted:
            if await self._resources.account.index_exists(name):
                found.add("Vectorize index", name, StepStatus.DELETE, "with all vectors")
                yield name
        own = self._config.index_name
        if own not in noted and await self._resources.account.index_exists(own):
            found.add("Vectorize index", own, StepStatus.LEFT, _LEFT)

    async def _others(self, found: _Found, database_id: str, indexes: Sequence[str]) -> None:
        """Refuse where the service has shards or indexes that other commands made: nothing else would name them."""
        database, account = self._resources.open_database(database_id), self._resources.account
        names = await read_index_names(database, found.ledger)
        shards = await read_shards(database, found.ledger)
        in_shards = [index_name_in_shard(name, shard.name) for name in names for shard in shards]
        for name in [*names, *in_shards]:
            if name not in indexes and await account.index_exists(name):
                cure = f"Delete it first: npx wrangler vectorize delete {name}"
                found.add("Vectorize index", name, StepStatus.BLOCKED, "Another command made it for this service", cure)
        for shard in shards:
            name = f"memory-gateway-{shard.name}"
            if shard.database_id is not None and await account.database_id(name) == shard.database_id:
                cure = f"Delete it first: npx wrangler d1 delete {name}"
                found.add("D1 database", name, StepStatus.BLOCKED, "It is a shard of this service", cure)

    async def _delete_bucket(self, plan: DestructionPlan, name: str, report: Progress) -> None:
        secret = r2_secret(self._api_token)
        objects = self._open_objects(name, plan.token_id, secret, plan.jurisdiction)
        count = 0
        if not await self._resources.buckets.is_empty(name, plan.jurisdiction):
            async for page in objects.list(""):
                for stored in page:
                    await objects.delete(stored.key)
                count += len(page)
                report(f"deleted {count} objects of the R2 bucket {name}")
        await self._resources.buckets.delete(name, plan.jurisdiction)
        report(f"deleted the R2 bucket {name}")
