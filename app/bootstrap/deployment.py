"""Builds what ``memory-gateway deploy`` needs: the account's control plane, wrangler, and the file of settings."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import app
from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.buckets import Buckets
from app.adapters.cloudflare.client import BASE_URL, CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.deployment.deploying import Deployment
from app.adapters.cloudflare.deployment.destroying import Destruction
from app.adapters.cloudflare.deployment.edge_worker import EdgeSources
from app.adapters.cloudflare.deployment.resources import CloudflareResources, DeploymentSpec, EdgeSpec
from app.adapters.cloudflare.deployment.secrets import DeploymentSecrets, SettingsFile
from app.adapters.cloudflare.deployment.wrangler import Wrangler, find_wrangler
from app.adapters.cloudflare.provisioning import Provisioning, ProvisioningPlan
from app.adapters.cloudflare.vectorize import SCOPE_TYPES, VectorizeIndex
from app.adapters.cloudflare.worker_scripts import WorkerScripts
from app.adapters.objects.r2 import R2Objects
from app.bootstrap.account import Close, open_short_command
from app.bootstrap.models import build_embedder
from app.observability.metrics import Metrics
from app.ports.object_store import ObjectStore
from app.settings import Settings
from app.settings.embedding import NO_PREFIX

_CARRIED = (
    "embedder",
    "embedding_model",
    "embedding_dimensions",
    "embedding_query_prefix",
    "embedding_document_prefix",
    "openai_base_url",
    "local_model_dir",
    "r2_access_key_id",
    "r2_secret_access_key",
    "r2_endpoint",
)
"""Settings that decide what is made, or by which it is reached: where they are set, the service needs the same."""

_APP = Path(app.__file__).resolve().parent
_EDGE_SOURCES = (_APP / "adapters" / "cloudflare" / "deployment" / "edge", _APP.parent / "deploy" / "edge")
"""The Worker's sources in a wheel, and in a checkout."""


@dataclass(frozen=True, slots=True)
class DeploymentOptions:
    """What the command was told.

    Attributes:
        name: The name of the deployment.
        placement: Where a new database and a new bucket are put.
        blobs: Whether there is a bucket for blobs.
        edge: Whether there is an edge Worker.
        edge_sources: The folder of the Worker's sources, where it is not the repository's.
        wrangler: The path of wrangler, where it is not that of npx.
        poll_seconds: The pause between looks at the index.
    """

    name: str
    placement: Placement
    blobs: bool = True
    edge: bool = True
    edge_sources: Path | None = None
    wrangler: str | None = None
    poll_seconds: float = 5.0


def build_deployment(
    settings: Settings,
    options: DeploymentOptions,
    path: Path,
    held: Mapping[str, str],
    write: Callable[[Mapping[str, str]], None],
) -> tuple[Deployment, Close]:
    """Make a deployment, whose settings are in a file; the second value closes it.

    Raises:
        ConfigurationError: a setting is missing.
    """
    metrics = Metrics()
    client = open_short_command(settings, metrics, first=settings.cloudflare_d1_database_id is None)
    embedder = build_embedder(settings, client, metrics)
    resources = _resources(client)
    given = ",".join(f"{kid}={secret}" for kid, secret in settings.auth_secrets.items()) or None
    token = settings.cloudflare_api_token or ""
    file = SettingsFile(str(path), held, _carried(settings), token, write)
    secrets = DeploymentSecrets.of(file, given)
    wanted = DeploymentSpec(
        name=options.name,
        placement=options.placement,
        config=embedder.config,
        metadata={**SCOPE_TYPES, **settings.filterable_metadata},
        blobs=options.blobs,
        edge=_edge(settings, options, [token, secrets.auth, secrets.edge]) if options.edge else None,
        database_id=settings.cloudflare_d1_database_id,
    )
    plan = ProvisioningPlan(options.name, None, options.placement, embedder.config, settings.filterable_metadata)
    index = VectorizeIndex(client, embedder.config, filterable=settings.filterable_metadata)
    provisioning = Provisioning(
        resources.account, index, plan, open_database=resources.open_database, poll_seconds=options.poll_seconds
    )
    deployment = Deployment(wanted, resources, provisioning, file, secrets)
    return deployment, _closing(embedder.close, client.close)


def build_destruction(settings: Settings, name: str) -> tuple[Destruction, Close]:
    """Make the destruction of a deployment; the second value closes it.

    Raises:
        ConfigurationError: a setting is missing.
    """
    metrics = Metrics()
    client = open_short_command(settings, metrics)
    embedder = build_embedder(settings, client, metrics)
    open_objects = partial(_open_objects, settings, metrics)
    token = settings.cloudflare_api_token or ""
    destruction = Destruction(name, embedder.config, _resources(client), open_objects, token)
    return destruction, _closing(embedder.close, client.close)


def _resources(client: CloudflareClient) -> CloudflareResources:
    return CloudflareResources(
        client, Account(client), Buckets(client), WorkerScripts(client), lambda id_: D1Database(client, id_)
    )


def _edge(settings: Settings, options: DeploymentOptions, secrets: list[str]) -> EdgeSpec:
    places = [options.edge_sources] if options.edge_sources is not None else _EDGE_SOURCES
    folder = next((place for place in places if (place / "wrangler.jsonc").is_file()), None)
    if folder is None:
        return EdgeSpec(None, None)
    sources = EdgeSources(folder)
    command = find_wrangler(options.wrangler, sources.wrangler_version)
    account = {
        "CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id or "",
        "CLOUDFLARE_API_TOKEN": settings.cloudflare_api_token or "",
    }
    if settings.cloudflare_api_base_url != BASE_URL:
        account["CLOUDFLARE_API_BASE_URL"] = settings.cloudflare_api_base_url
    return EdgeSpec(sources, None if command is None else Wrangler(command, folder, account, secrets))


def _carried(settings: Settings) -> dict[str, str]:
    """Return the settings that the service is to have as the command has them, as a file has them."""
    given = {name: getattr(settings, name) for name in _CARRIED if name in settings.model_fields_set}
    filterable = ",".join(f"{key}:{kind}" for key, kind in settings.filterable_metadata.items())
    carried = {name.upper(): str(value) or NO_PREFIX for name, value in given.items() if value is not None}
    account = {"CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id or ""}
    return {**account, **carried, **({"FILTERABLE_METADATA": filterable} if filterable else {})}


def _open_objects(
    settings: Settings, metrics: Metrics, bucket: str, key: str, secret: str, jurisdiction: str | None
) -> ObjectStore:
    host = ".".join(filter(None, [settings.cloudflare_account_id, jurisdiction, "r2.cloudflarestorage.com"]))
    return R2Objects(
        endpoint=settings.r2_endpoint or f"https://{host}",
        bucket=bucket,
        access_key_id=key,
        secret_access_key=secret,
        metrics=metrics,
    )


def _closing(*closers: Callable[[], Awaitable[None]]) -> Close:
    async def close() -> None:
        for each in closers:
            await each()

    return close
