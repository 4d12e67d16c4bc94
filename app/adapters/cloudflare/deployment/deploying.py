"""Makes a deployment: it looks at the account, and makes what is missing. Safe to run again after any end.

The order keeps three promises. Secrets are in their file before anything knows them. A resource is noted in the ledger
before it is made, and only where its name was free. The file names the Worker only once the Worker answers with the
file's secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.adapters.cloudflare.deployment.edge_worker import SECRET, digest_of
from app.adapters.cloudflare.deployment.plan import DeploymentPlan, metadata_digest
from app.adapters.cloudflare.deployment.resources import (
    CloudflareResources,
    DeploymentSpec,
    find_deployment,
)
from app.adapters.cloudflare.deployment.rights import Permission, check_reading, check_writing, needed, token_id
from app.adapters.cloudflare.deployment.secrets import AUTH, DeploymentSecrets, SettingsFile, writable
from app.adapters.cloudflare.deployment.steps import Progress, StepStatus, in_state
from app.adapters.cloudflare.provisioning import Provisioning
from app.domain.errors import ConfigurationError
from app.storage.system.deployment import note

_WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class DeploymentOutcome:
    """What a run has left: the database's id, the index's name, and whether the service reaches them by the Worker."""

    database_id: str
    index: str
    by_edge: bool


class Deployment:
    """Plans and makes a deployment."""

    def __init__(
        self,
        wanted: DeploymentSpec,
        resources: CloudflareResources,
        provisioning: Provisioning,
        file: SettingsFile,
        secrets: DeploymentSecrets,
    ) -> None:
        """Take what is wanted, the account, and the file and the secrets of the service."""
        self._wanted = wanted
        self._resources = resources
        self._provisioning = provisioning
        self._file = file
        self._secrets = secrets

    @property
    def _permissions(self) -> list[Permission]:
        worker = None if self._wanted.edge is None else self._wanted.worker
        return needed(worker, blobs=self._wanted.blobs)

    async def plan(self, *, new_secrets: bool = False) -> DeploymentPlan:
        """Look at the account and make the plan. Nothing is changed.

        Raises:
            ConfigurationError: the token does not hold, or may not look at all that it has to.
            Unavailable: the account does not answer.
        """
        client = self._resources.client
        if (await client.discover()).name == "edge":
            raise ConfigurationError(
                "CLOUDFLARE_API_BASE_URL is an edge Worker, which creates nothing: take it, and the "
                "CLOUDFLARE_API_TOKEN that is the Worker's secret, out of the environment of this command."
            )
        id_ = await token_id(client)
        await check_reading(client, self._permissions)
        found = await find_deployment(self._wanted, self._resources, self._provisioning, id_)
        return DeploymentPlan(self._wanted, found, self._secrets, self._file, new_secrets)

    async def apply(self, plan: DeploymentPlan, report: Progress) -> DeploymentOutcome:
        """Make what the plan says is missing.

        Raises:
            ConfigurationError: the plan has a step that cannot be done, or the token may not change what it has to;
                nothing was changed.
            Unavailable: the account does not answer, or refuses a call; another run goes on from there.
        """
        if blocked := in_state(plan.steps, StepStatus.BLOCKED):
            raise ConfigurationError(f"Nothing was changed, because of: {'; '.join(map(str, blocked))}.")
        if in_state(plan.steps, StepStatus.CREATE, StepStatus.REPAIR):
            await check_writing(self._resources.client, self._permissions)
        self._keep(plan, plan.secret_settings, report)
        database_id = await self._make_database(plan, report)
        await self._make_index(plan, database_id, report)
        if self._wanted.blobs:
            await self._make_bucket(plan, database_id, report)
        self._keep(plan, plan.account_settings(database_id), report)
        by_edge = self._wanted.edge is not None and await self._make_worker(plan, database_id, report)
        if by_edge:
            self._keep(plan, plan.edge_settings, report)
        return DeploymentOutcome(database_id, self._wanted.config.index_name, by_edge)

    def _keep(self, plan: DeploymentPlan, settings: Mapping[str, str], report: Progress) -> None:
        """Write the settings that the file does not hold yet; a value is never reported."""
        kept = {name: value for name, value in writable(settings).items() if plan.file.held.get(name) != value}
        if kept:
            plan.file.write(kept)
            report(f"wrote {', '.join(kept)} to {plan.file.path}")

    async def _make_database(self, plan: DeploymentPlan, report: Progress) -> str:
        missing = plan.found.missing
        if missing is None:
            raise ConfigurationError(plan.found.obstacle)
        database_id = await self._provisioning.apply_database(missing, report)
        database, ledger = self._resources.open_database(database_id), plan.found.ledger
        if not ledger.is_written:
            await note(database, "deployment", self._wanted.name, _WHOLE)
        digest = digest_of(plan.secrets.auth)
        if ledger.fingerprint("secret", AUTH) != digest:
            await note(database, "secret", AUTH, digest)
        return database_id

    async def _make_index(self, plan: DeploymentPlan, database_id: str, report: Progress) -> None:
        missing, name = plan.found.missing, self._wanted.config.index_name
        if missing is None:
            raise ConfigurationError(plan.found.obstacle)
        database = self._resources.open_database(database_id)
        if not plan.found.ledger.has("index", name):
            await note(database, "index", name)
        lacking = missing.index or bool(missing.metadata_indexes)
        due = replace(missing, proof=lacking or (missing.proof and plan.needs_proof))
        if lacking or due.proof or missing.migrations:
            await self._provisioning.apply_index(due, database_id, report)
        if plan.needs_proof or lacking:
            await note(database, "index", name, metadata_digest(self._wanted.metadata))

    async def _make_bucket(self, plan: DeploymentPlan, database_id: str, report: Progress) -> None:
        if plan.found.bucket:
            return
        name, placement = self._wanted.name, self._wanted.placement
        await note(self._resources.open_database(database_id), "bucket", name, placement.jurisdiction or "default")
        await self._resources.buckets.create(name, placement)
        report(f"created the R2 bucket {name}")

    async def _make_worker(self, plan: DeploymentPlan, database_id: str, report: Progress) -> bool:
        """Deploy the Worker and give it its secret, where they differ; return whether the Worker is there."""
        edge, name = self._wanted.edge, self._wanted.worker
        states = {step.part: step.state for step in plan.steps}
        if edge is None or states["edge Worker"] is StepStatus.LEFT:
            return False
        database, configuration = self._resources.open_database(database_id), plan.configuration_of(database_id)
        if states["edge Worker"] is not StepStatus.EXISTS:
            if edge.sources is None or edge.wrangler is None or configuration is None:
                return False
            await note(database, "worker", name)
            await edge.wrangler.deploy(configuration)
            await note(database, "worker", name, edge.sources.fingerprint(configuration))
            report(f"deployed the Worker {name}")
        if states["secret of the Worker"] is not StepStatus.EXISTS:
            if edge.wrangler is None:
                return False
            await edge.wrangler.put_secret(name, SECRET, plan.secrets.edge)
            await note(database, "worker_secret", name, digest_of(plan.secrets.edge))
            report(f"gave the Worker {name} its {SECRET}")
        return True
