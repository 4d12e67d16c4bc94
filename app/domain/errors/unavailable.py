"""Errors of a part of this service that is not available now."""

from app.domain.embedding import EmbeddingConfig
from app.domain.errors.root import MemoryGatewayError


class Unavailable(MemoryGatewayError):
    """A part the service needs does not answer now; the same request may succeed later."""

    code = "unavailable"
    status = 503
    title = "Service unavailable"
    retry_after: int | None = 1
    """Seconds after which to try again; None where trying again does not help."""


class DatabaseUnavailable(Unavailable):
    """The database, or the index beside it, cannot be read or written."""

    code = "database_unavailable"
    title = "Database unavailable"


class SchemaTooNew(Unavailable):
    """The database has migrations beside which this version cannot run: a newer one has to take over."""

    code = "schema_too_new"
    title = "Database schema is newer than this service"
    retry_after = 5


class SchemaTooOld(Unavailable):
    """The database lacks migrations of this version, and what is asked does not migrate it."""

    code = "schema_too_old"
    title = "Database schema is older than this service"
    retry_after = None


class DatabaseLost(DatabaseUnavailable):
    """The database that was there is not there any more: an operator has to put it back."""

    code = "database_lost"
    title = "Database lost"
    retry_after = None


class StorageFull(DatabaseUnavailable):
    """There is no room to write: the disk, a quota or the database's own size limit."""

    code = "storage_full"
    title = "Storage full"


class StorageReadOnly(DatabaseUnavailable):
    """The data may be read, not written."""

    code = "storage_read_only"
    title = "Storage is read-only"


class ShardUnavailable(Unavailable):
    """The shard where the tenant lives is missing or cannot be used: tenants of other shards are served."""

    code = "shard_unavailable"
    title = "Shard unavailable"


class TenantMoved(Unavailable):
    """The tenant is moving to another shard or has moved there: the same request finds it within a second or two."""

    code = "tenant_moved"
    title = "Tenant is moving"

    def __init__(self, detail: str, *, repeatable: bool = False) -> None:
        """Say whether the same request may be repeated at once: it wrote nothing, and the tenant has moved already."""
        super().__init__(detail)
        self.repeatable = repeatable


class TooManyConnections(Unavailable):
    """This server answers as many requests as it may, and has no connection to spare."""

    code = "too_many_connections"
    title = "Too many connections"


class Overloaded(Unavailable):
    """More is asked than this server can answer: the request has waited, or would have to wait, for too long.

    Nothing of it was done.
    """

    code = "overloaded"
    title = "Overloaded"
    retry_after = 2


class EmbeddingUnavailable(Unavailable):
    """The embedder failed, so nothing was written or searched."""

    code = "embedding_unavailable"
    title = "Embedding unavailable"


class ReaderUnavailable(Unavailable):
    """The reader failed, or had no time; what needs it goes on without, or fails."""

    code = "reader_unavailable"
    title = "Reader unavailable"


class EmbeddingConfigMismatch(Unavailable):
    """The stored vectors were made with another embedding config than the one in the settings."""

    code = "embedding_config_mismatch"
    title = "Embedding config mismatch"

    def __init__(self, *, stored: EmbeddingConfig, configured: EmbeddingConfig) -> None:
        """Name both configs."""
        super().__init__(f"The data was embedded with {stored}, but this service is set to {configured}.")
        self.stored = stored
        self.configured = configured


class IndexNotProvisioned(Unavailable):
    """The index is not there, or was not made for this service. Serving on would mix tenants or find nothing."""

    code = "index_not_provisioned"
    title = "Index not provisioned"
    retry_after = 60


class IssuerUnavailable(Unavailable):
    """The issuer of a token does not answer, so that the token can be neither taken nor refused."""

    code = "issuer_unavailable"
    title = "Issuer unavailable"
    retry_after = 10
