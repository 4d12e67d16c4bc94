"""Makes the plan of a deployment: what is wanted, compared with what was found. It makes no call."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.adapters.cloudflare.deployment.edge_worker import SECRET, digest_of, is_bound, secret_names
from app.adapters.cloudflare.deployment.resources import DeploymentSpec, EdgeSpec, FoundDeployment
from app.adapters.cloudflare.deployment.secrets import AUTH, DeploymentSecrets, SettingsFile, r2_secret, writable
from app.adapters.cloudflare.deployment.steps import DeploymentStep, StepStatus

SETTING = "setting"
"""What a step is about that concerns a setting which the file cannot hold."""
_FOREIGN = "It is there, and this deployment did not make it"
_ANOTHER_NAME = "Choose another --name, or delete it if nobody needs it"


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """The steps of a deployment, and what they were made from."""

    wanted: DeploymentSpec
    found: FoundDeployment
    secrets: DeploymentSecrets
    file: SettingsFile
    new_secrets: bool

    @property
    def steps(self) -> list[DeploymentStep]:
        """The steps in the order in which they are done."""
        return [
            self._auth(),
            *self._file(),
            *self._settings(),
            self._database(),
            *self._index(),
            *([self._bucket()] if self.wanted.blobs else []),
            *([self._worker(), self._edge_secret()] if self.wanted.edge is not None else []),
        ]

    @property
    def secret_settings(self) -> dict[str, str]:
        """The settings that the file has to hold before anything knows them."""
        edge = {} if self.wanted.edge is None else {SECRET: self.secrets.edge}
        return {AUTH: self.secrets.auth, **edge}

    def account_settings(self, database_id: str) -> dict[str, str]:
        """Return the settings by which a service finds what was made."""
        derived = {"R2_ACCESS_KEY_ID": self.found.token_id, "R2_SECRET_ACCESS_KEY": r2_secret(self.file.api_token)}
        bound = self.wanted.placement.jurisdiction
        if bound is not None:
            host = f"{self.file.account['CLOUDFLARE_ACCOUNT_ID']}.{bound}.r2.cloudflarestorage.com"
            derived["R2_ENDPOINT"] = f"https://{host}"
        blobs = {"R2_BUCKET": self.wanted.name, **derived} if self.wanted.blobs else {}
        return {**blobs, **self.file.account, "CLOUDFLARE_D1_DATABASE_ID": database_id}

    @property
    def edge_settings(self) -> dict[str, str]:
        """The settings by which a service calls the Worker in the place of the REST API."""
        url = f"https://{self.wanted.worker}.{self.found.subdomain}.workers.dev/client/v4"
        return {"CLOUDFLARE_API_BASE_URL": url, "CLOUDFLARE_API_TOKEN": self.secrets.edge}

    @property
    def configuration(self) -> dict[str, Any] | None:
        """The Worker's configuration; None while the database or the sources are missing."""
        return self.configuration_of(self.found.database_id)

    def configuration_of(self, database_id: str | None) -> dict[str, Any] | None:
        """Return the Worker's configuration with this database; None where it, or the sources, are missing."""
        wanted = self.wanted
        if database_id is None or wanted.edge is None or wanted.edge.sources is None:
            return None
        database = wanted.name, database_id
        return wanted.edge.sources.configuration(
            wanted.worker, database, wanted.config, wanted.metadata, self.found.shards
        )

    @property
    def needs_proof(self) -> bool:
        """Whether the filters of the index are still to be proved."""
        ledger, name = self.found.ledger, self.wanted.config.index_name
        return ledger.fingerprint("index", name) != metadata_digest(self.wanted.metadata)

    def _auth(self) -> DeploymentStep:
        part, path = "secret", self.file.path
        if AUTH in self.secrets.new:
            if self.found.ledger.has("secret", AUTH) and not self.new_secrets:
                detail = f"An earlier run made it, and {path} does not hold it"
                return DeploymentStep(part, AUTH, StepStatus.BLOCKED, detail, _lost(path))
            return DeploymentStep(part, AUTH, StepStatus.CREATE, f"drawn, and written to {path} alone")
        if not writable({AUTH: self.secrets.auth}):
            cure = "Give it to the service as you give it to this command"
            return DeploymentStep(part, AUTH, StepStatus.EXISTS, f"Its characters cannot stand in {path}", cure)
        if self.file.held.get(AUTH) != self.secrets.auth:
            return DeploymentStep(part, AUTH, StepStatus.REPAIR, f"of the settings, written to {path}")
        return DeploymentStep(part, AUTH, StepStatus.EXISTS, f"in {path}")

    def _file(self) -> Iterator[DeploymentStep]:
        """Refuse a file that holds the account's token: the Worker's secret would take its place."""
        if self.wanted.edge is not None and self.file.held.get("CLOUDFLARE_API_TOKEN") == self.file.api_token:
            detail = "It holds the account's API token, in whose place the service's settings have the Worker's secret"
            cure = "Keep the token in another file, or in the environment, and name a new file with --write-env"
            yield DeploymentStep("settings file", self.file.path, StepStatus.BLOCKED, detail, cure)

    def _settings(self) -> Iterator[DeploymentStep]:
        """Leave to the operator what the file cannot hold: docker, a shell and the service read quotes differently."""
        for name in sorted(self.file.account.keys() - writable(self.file.account).keys()):
            cure = "Give it to the service as you give it to this command"
            yield DeploymentStep(
                SETTING, name, StepStatus.LEFT, f"Its characters cannot stand in {self.file.path}", cure
            )

    def _database(self) -> DeploymentStep:
        part, name, found = "D1 database", self.wanted.name, self.found
        if self.wanted.database_id not in {None, found.database_id}:
            detail = f"CLOUDFLARE_D1_DATABASE_ID names {self.wanted.database_id}, which is not of this name"
            return DeploymentStep(part, name, StepStatus.BLOCKED, detail, "Take the setting out, or give its --name")
        if found.database_id is None:
            return DeploymentStep(part, name, StepStatus.CREATE)
        return self._blocked_database() or self._own_database(found.database_id)

    def _blocked_database(self) -> DeploymentStep | None:
        part, name, found, asked = "D1 database", self.wanted.name, self.found, self.wanted.placement.jurisdiction
        if not found.is_own:
            cure = f"{_ANOTHER_NAME}. Where `provision` made it for this service, go on with that"
            return DeploymentStep(part, name, StepStatus.BLOCKED, _FOREIGN, cure)
        if asked is not None and found.jurisdiction != asked:
            detail = f"It is bound to {found.jurisdiction or 'no jurisdiction'}, which cannot be changed to {asked}"
            return DeploymentStep(part, name, StepStatus.BLOCKED, detail, "Choose another --name")
        return None

    def _own_database(self, database_id: str) -> DeploymentStep:
        part, name, found = "D1 database", self.wanted.name, self.found
        if not found.ledger.is_written:
            return DeploymentStep(part, name, StepStatus.REPAIR, "It is empty: a run that did not end has made it")
        if found.missing is not None and found.missing.migrations:
            return DeploymentStep(part, name, StepStatus.REPAIR, f"to migrate: {', '.join(found.missing.migrations)}")
        return DeploymentStep(part, name, StepStatus.EXISTS, database_id)

    def _index(self) -> Iterator[DeploymentStep]:
        part, name, found = "Vectorize index", self.wanted.config.index_name, self.found
        metadata = "metadata indexes", ", ".join(self.wanted.metadata)
        if others := [other for other in found.ledger.names("index") if other != name]:
            detail = f"The deployment has the index {', '.join(others)}, of another embedder"
            cure = "Set that embedder. To change it: memory-gateway reembed start"
            yield DeploymentStep(part, name, StepStatus.BLOCKED, detail, cure)
        elif found.index and not found.ledger.has("index", name):
            cure = "Delete it if nobody needs it, choose another embedder, or another account: its name is the model's"
            yield DeploymentStep(part, name, StepStatus.BLOCKED, _FOREIGN, cure)
        elif found.missing is None:
            yield DeploymentStep(
                part, name, StepStatus.BLOCKED, found.obstacle or "It cannot be judged without its database"
            )
        elif not found.index and found.ledger.fingerprint("index", name):
            cure = "Then make the vectors again: memory-gateway rebuild --yes"
            yield DeploymentStep(part, name, StepStatus.REPAIR, "It is gone, and is made anew", cure)
            yield DeploymentStep(*metadata, StepStatus.CREATE, "made, and proved by a probe vector")
        elif not found.index:
            yield DeploymentStep(part, name, StepStatus.CREATE, str(self.wanted.config))
            yield DeploymentStep(*metadata, StepStatus.CREATE, "made, and proved by a probe vector")
        else:
            yield DeploymentStep(part, name, StepStatus.EXISTS, str(self.wanted.config))
            yield self._metadata(*metadata)

    def _metadata(self, part: str, names: str) -> DeploymentStep:
        lacking = self.found.missing.metadata_indexes if self.found.missing is not None else {}
        if lacking:
            return DeploymentStep(part, names, StepStatus.REPAIR, f"to make and to prove: {', '.join(lacking)}")
        if self.needs_proof:
            return DeploymentStep(part, names, StepStatus.REPAIR, "to prove by a probe vector")
        return DeploymentStep(part, names, StepStatus.EXISTS)

    def _bucket(self) -> DeploymentStep:
        part, name = "R2 bucket", self.wanted.name
        if self.found.bucket is None:
            cure = "Enable R2 in the dashboard, or leave blobs out with --no-blobs"
            return DeploymentStep(part, name, StepStatus.BLOCKED, "The account has not enabled R2", cure)
        if not self.found.bucket:
            return DeploymentStep(part, name, StepStatus.CREATE)
        if not self.found.ledger.has("bucket", name):
            return DeploymentStep(part, name, StepStatus.BLOCKED, _FOREIGN, f"{_ANOTHER_NAME}. Or use --no-blobs")
        return DeploymentStep(part, name, StepStatus.EXISTS)

    def _worker(self) -> DeploymentStep:
        part, name, found, edge = "edge Worker", self.wanted.worker, self.found, self.wanted.edge
        if found.bindings is not None and not found.ledger.has("worker", name):
            return DeploymentStep(part, name, StepStatus.BLOCKED, _FOREIGN, _ANOTHER_NAME)
        if edge is None or edge.sources is None:
            cure = "Run this in a checkout of the repository, or name a copy of that folder with --edge-sources"
            return DeploymentStep(part, name, StepStatus.LEFT, "deploy/edge is not installed here", cure)
        configuration = self.configuration
        if configuration is not None and found.bindings is not None:
            current = found.ledger.fingerprint("worker", name) == edge.sources.fingerprint(configuration)
            if current and is_bound(configuration, found.bindings):
                return DeploymentStep(part, name, StepStatus.EXISTS)
        return self._worker_to_deploy(edge)

    def _worker_to_deploy(self, edge: EdgeSpec) -> DeploymentStep:
        part, name, found = "edge Worker", self.wanted.worker, self.found
        if edge.wrangler is None:
            cure = "Install Node.js 22 or newer, which has npx, or name wrangler with --wrangler; then run this again"
            return DeploymentStep(part, name, StepStatus.LEFT, "wrangler was not found", cure)
        if found.subdomain is None:
            cure = "Choose one in the dashboard (Workers & Pages), then run this again"
            return DeploymentStep(part, name, StepStatus.LEFT, "The account has no subdomain of workers.dev", cure)
        if found.bindings is None:
            return DeploymentStep(part, name, StepStatus.CREATE, "by wrangler")
        return DeploymentStep(
            part, name, StepStatus.REPAIR, "to deploy anew: its code, or what is bound to it, differs"
        )

    def _edge_secret(self) -> DeploymentStep:
        part, worker, path = "secret of the Worker", self.wanted.worker, self.file.path
        there = self.found.bindings is not None and SECRET in secret_names(self.found.bindings)
        if there and SECRET in self.secrets.new and not self.new_secrets:
            detail = f"The Worker {worker} has one, and {path} does not hold it"
            return DeploymentStep(part, SECRET, StepStatus.BLOCKED, detail, _lost(path))
        if self._worker().state is StepStatus.LEFT:
            return DeploymentStep(part, SECRET, StepStatus.LEFT, "It follows the Worker")
        if there and self.found.ledger.fingerprint("worker_secret", worker) == digest_of(self.secrets.edge):
            return DeploymentStep(part, SECRET, StepStatus.EXISTS, f"in {path} too")
        if self.wanted.edge is None or self.wanted.edge.wrangler is None:
            return DeploymentStep(part, SECRET, StepStatus.LEFT, "wrangler was not found", "See the Worker")
        state = StepStatus.REPAIR if there else StepStatus.CREATE
        return DeploymentStep(part, SECRET, state, f"put by wrangler, and written to {path}")


def metadata_digest(metadata: Mapping[str, str]) -> str:
    """Return a digest of the metadata indexes that were proved."""
    return hashlib.sha256(json.dumps(sorted(metadata.items())).encode()).hexdigest()[:16]


def _lost(path: str) -> str:
    return (
        f"Give that file as --write-env, or draw new secrets with --new-secrets: then every service needs {path} anew, "
        "and no credential holds that was signed before"
    )
