"""Builds the store of blobs from the settings."""

from app.adapters.breaker import Breakers
from app.adapters.objects.folder import FolderObjects
from app.adapters.objects.r2 import R2Objects
from app.bootstrap.account import missing
from app.bootstrap.files import BLOBS_FOLDER, data_dir
from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.ports.object_store import NoObjectStore, ObjectStore
from app.settings import Settings


def build_objects(
    settings: Settings, metrics: Metrics, breakers: Breakers | None = None, *, embedded: bool
) -> ObjectStore:
    """Choose the store of blobs: a folder in DATA_DIR, or on Cloudflare the bucket of the settings, if they name one.

    Raises:
        ConfigurationError: the settings name a bucket incompletely, or do not say where it answers; or the archive or
            snapshots are set without a bucket.
    """
    if embedded:
        return FolderObjects(data_dir(settings) / BLOBS_FOLDER, metrics)
    bucket, key, secret = settings.r2_bucket, settings.r2_access_key_id, settings.r2_secret_access_key
    given = {"R2_BUCKET": bucket, "R2_ACCESS_KEY_ID": key, "R2_SECRET_ACCESS_KEY": secret}
    if not any(given.values()):
        for name, value in (("SNAPSHOTS_KEPT", settings.snapshots_kept), ("ARCHIVE_DAYS", settings.archive_days)):
            if value:
                raise ConfigurationError(f"{name} is set, and needs an object store: R2_BUCKET is not set.")
        return NoObjectStore()
    if not (bucket and key and secret):
        raise ConfigurationError(missing(given))
    account_id = settings.cloudflare_account_id or ""
    if settings.r2_endpoint is None and not account_id.strip("0"):  # in a Container, whose bindings need no account
        raise ConfigurationError(
            "R2_ENDPOINT is not set, and CLOUDFLARE_ACCOUNT_ID names no account that it would follow from. "
            "Set R2_ENDPOINT to https://<account id>.r2.cloudflarestorage.com."
        )
    return R2Objects(
        endpoint=settings.r2_endpoint or f"https://{account_id}.r2.cloudflarestorage.com",
        bucket=bucket,
        access_key_id=key,
        secret_access_key=secret,
        metrics=metrics,
        breakers=breakers,
    )
