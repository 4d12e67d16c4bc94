"""Everything that can go wrong, as one tree.

::

    MemoryGatewayError
    |-- InvalidRequest                 the caller's mistake, never retried unchanged
    |   |-- MalformedRequest             the body is not JSON
    |   |-- UnsupportedMediaType         the body is not sent as application/json
    |   |-- ContentTooLarge              a body or a text over its limit
    |   |-- InvalidCursor                a listing cannot go on from this cursor
    |   |-- MalformedHttp                what came is no HTTP/1.1, or its chunks hold next to nothing
    |   |-- HostNotAllowed               a request for a name that this service does not have
    |   |-- HeadersTooLarge              a request line and headers over their limit
    |   |-- RequestTimeout               a request that did not arrive in time
    |   |-- NoSuchPath                   the service has no such path
    |   |-- MethodNotAllowed             the path does not take this method
    |-- NotFound                       what is named does not exist, or not for this caller
    |   |-- BlobGone                     a pointer names an object that is not there any more
    |-- Conflict                       the state of things forbids it
    |   |-- Erasing                      the agent, or its tenant, is being erased
    |   |-- LongTermDisabled             the agent's long-term memory is switched off
    |   |-- IdempotencyKeyReused         the key was used for another request
    |   |-- Superseded                   another memory says what holds now in place of this one
    |   |-- NamespaceExists              the tenant has a namespace of this name
    |   |-- OperationRunning             the operation is not finished
    |   |-- RunEnded                     the run was completed or has failed, with something else
    |   |-- PreconditionFailed           the value is not the one that If-Match names
    |-- QuotaExceeded                  the tenant or the agent may hold, or ask in this minute, no more
    |-- AccessRefused                  who is calling
    |   |-- Unauthenticated              no credential, or one that does not hold
    |   |-- Forbidden                    a credential that does not reach this far
    |-- Unavailable                    a part the service needs does not answer; try again later
    |   |-- DatabaseUnavailable          the database cannot be read or written
    |   |   |-- StorageFull                no room to write
    |   |   |-- StorageReadOnly            the data may be read, not written
    |   |-- ShardUnavailable             the shard where the tenant lives is missing, or cannot be used
    |   |-- TenantMoved                  the tenant is moving, or has moved, to another shard
    |   |-- TooManyConnections           this server answers as many requests as it may
    |   |-- EmbeddingUnavailable         the embedder does not answer
    |   |-- EmbeddingConfigMismatch      the stored vectors were made with another embedding config
    |   |-- IndexNotProvisioned          the index is absent or not made for this service: see ``provision``
    |   |-- RateLimited                  too many calls: by our own meter or by the upstream
    |   |   |-- CloudflareBlocks             Cloudflare refuses every call of the token's owner for a while
    |   |-- UpstreamUnavailable          an upstream cannot be reached, or failed inside
    |   |-- UpstreamOverloaded           an upstream has too much to do; asking again at once makes it worse
    |   |-- UpstreamTimeout              an upstream did not answer in time
    |   |-- QuotaExhausted               a quota or credit is used up: an operator has to act
    |   |-- CredentialsRefused           an upstream refused our credentials: an operator has to act
    |   |-- UpstreamRejected             an upstream refused a call, or answered what cannot be understood
    |   |   |-- VectorRefused                the index does not take a vector as it is
    |   |   |-- ModelAnswerRejected          a language model answered twice what cannot be read
    |   |   |-- CursorExpired                a listing has to begin anew
    |-- DatabaseRejected               the database refused a statement: a defect of ours
    |-- SchemaTooNew                   a newer version of this service has migrated the database
    |-- ConfigurationError             settings that cannot work, found before serving

An adapter maps each failure of what it talks to onto this tree in one place; the HTTP layer turns any
of these into one problem+json shape (RFC 9457) by ``code``, ``status`` and ``title``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request and what is wrong with it; ``field`` is a dotted path such as ``filter.metadata``."""

    field: str
    message: str


class MemoryGatewayError(Exception):
    """Base of the tree. ``detail`` is for the caller: it never carries content or a credential."""

    code: str = "internal_error"
    status: int = 500
    title: str = "Internal error"

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = ()) -> None:
        """Keep what to tell the caller."""
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)


class InvalidRequest(MemoryGatewayError):
    """A request whose fields are wrong; ``errors`` names each."""

    code = "invalid_request"
    status = 422
    title = "Invalid request"


class MalformedRequest(InvalidRequest):
    """A body that cannot be read as JSON."""

    code = "malformed_request"
    status = 400
    title = "Malformed request"


class UnsupportedMediaType(InvalidRequest):
    """A body of another content type than application/json."""

    code = "unsupported_media_type"
    status = 415
    title = "Unsupported media type"


class ContentTooLarge(InvalidRequest):
    """A body, or a text in it, over its limit in bytes."""

    code = "content_too_large"
    status = 413
    title = "Content too large"


class InvalidCursor(InvalidRequest):
    """A cursor that is forged, too old, or of another listing: which of them is not said."""

    code = "invalid_cursor"
    status = 400
    title = "Invalid cursor"


class MalformedHttp(InvalidRequest):
    """What came is no HTTP/1.1, or its chunks say more than they hold."""

    code = "malformed_http"
    status = 400
    title = "Malformed HTTP"


class HostNotAllowed(InvalidRequest):
    """A request that is addressed to a name which this service does not have."""

    code = "host_not_allowed"
    status = 421
    title = "Host not allowed"


class HeadersTooLarge(InvalidRequest):
    """A request line and headers over their limit in bytes."""

    code = "headers_too_large"
    status = 431
    title = "Headers too large"


class RequestTimeout(InvalidRequest):
    """A request whose headers or body did not arrive in time."""

    code = "request_timeout"
    status = 408
    title = "Request timeout"


class NoSuchPath(InvalidRequest):
    """A request for a path that the service does not have."""

    code = "no_such_path"
    status = 404
    title = "No such path"


class MethodNotAllowed(InvalidRequest):
    """A request with a method that its path does not take."""

    code = "method_not_allowed"
    status = 405
    title = "Method not allowed"


class NotFound(MemoryGatewayError):
    """What the request names does not exist, or not for this caller: both look the same."""

    code = "not_found"
    status = 404
    title = "Not found"


class BlobGone(NotFound):
    """A pointer names an object that the object store does not have any more: what it held is lost."""

    code = "blob_gone"
    status = 410
    title = "Blob gone"


class Conflict(MemoryGatewayError):
    """The state of things forbids what is asked."""

    code = "conflict"
    status = 409
    title = "Conflict"


class Erasing(Conflict):
    """The agent, or its tenant, is being erased: nothing is stored until the receipt is written."""

    code = "erasing"
    title = "Being erased"


class LongTermDisabled(Conflict):
    """An administrator has switched off the agent's long-term memory: it may neither store nor recall."""

    code = "long_term_disabled"
    title = "Long-term memory disabled"

    def __init__(self) -> None:
        """Say so."""
        super().__init__("An administrator has switched off this agent's long-term memory.")


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request in the last 24 hours."""

    code = "idempotency_key_reused"
    title = "Idempotency-Key reused"


class Superseded(Conflict):
    """Another memory says what holds now in place of this one, so that there is nothing to forget."""

    code = "superseded"
    title = "Superseded"

    def __init__(self, holder: str) -> None:
        """Name the memory that holds."""
        super().__init__(
            f"The memory is superseded, and no recall returns it as what holds: {holder} says what holds now.",
            errors=[FieldError("memory_id", f"is superseded by {holder}")],
        )
        self.holder = holder


class NamespaceExists(Conflict):
    """The tenant has a namespace of this name; nothing was changed."""

    code = "namespace_exists"
    title = "Namespace exists"


class OperationRunning(Conflict):
    """The operation is not finished, so that nothing of it can be tried again; nothing was changed."""

    code = "operation_running"
    title = "Operation running"


class RunEnded(Conflict):
    """The run has ended already, and in another way than is asked for now; nothing was changed."""

    code = "run_ended"
    title = "Run ended"


class PreconditionFailed(Conflict):
    """The value is another one than ``If-Match`` or ``If-None-Match`` names (RFC 9110); nothing was changed."""

    code = "precondition_failed"
    status = 412
    title = "Precondition failed"


class QuotaExceeded(MemoryGatewayError):
    """A limit of the tenant or of the agent is reached; nothing was stored, or recalled."""

    code = "quota_exceeded"
    status = 429
    title = "Quota exceeded"

    def __init__(self, detail: str, *, reached: str, retry_after: int | None = None) -> None:
        """Name the limits as a header does, and say after how many seconds to try again, where waiting helps."""
        super().__init__(detail)
        self.reached = reached
        self.retry_after = retry_after


class AccessRefused(MemoryGatewayError):
    """The caller is not let in, or not this far."""


class Unauthenticated(AccessRefused):
    """No credential, or one that is expired, unsigned, wrongly signed or incomplete."""

    code = "unauthenticated"
    status = 401
    title = "Unauthenticated"


class Forbidden(AccessRefused):
    """A valid credential without the scope, or for another agent."""

    code = "forbidden"
    status = 403
    title = "Forbidden"


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
        """Say whether the same request may be made again at once: it has written nothing, and has moved already."""
        super().__init__(detail)
        self.repeatable = repeatable


class TooManyConnections(Unavailable):
    """This server answers as many requests as it may, and has no connection to spare."""

    code = "too_many_connections"
    title = "Too many connections"


class EmbeddingUnavailable(Unavailable):
    """The embedder failed, so nothing was written or searched."""

    code = "embedding_unavailable"
    title = "Embedding unavailable"


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


class RateLimited(Unavailable):
    """Too many calls: ours are counted before Cloudflare blocks, and a block is waited out."""

    code = "rate_limited"
    status = 429
    title = "Rate limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """Say after how many seconds a call may succeed."""
        super().__init__(detail)
        self.retry_after = retry_after


class CloudflareBlocks(RateLimited):
    """Cloudflare has blocked all calls of the token's owner, for what others have called too; it is waited out."""

    code = "cloudflare_blocks"
    status = 503
    title = "Cloudflare blocks"


class UpstreamUnavailable(Unavailable):
    """A service that this one calls cannot be reached, or failed inside."""

    code = "upstream_unavailable"
    title = "Upstream unavailable"


class UpstreamOverloaded(Unavailable):
    """A service that this one calls has too much to do."""

    code = "upstream_overloaded"
    title = "Upstream overloaded"
    retry_after = 5


class UpstreamTimeout(Unavailable):
    """A service that this one calls did not answer in time. A write may have been done: doing it again is safe."""

    code = "upstream_timeout"
    status = 504
    title = "Upstream timed out"


class QuotaExhausted(Unavailable):
    """A quota or credit with an upstream is used up. It does not cure itself soon: an operator has to act."""

    code = "quota_exhausted"
    title = "Upstream quota exhausted"
    retry_after = None


class CredentialsRefused(Unavailable):
    """An upstream refused this service's credentials. It does not cure itself: an operator has to act."""

    code = "upstream_credentials_refused"
    status = 502
    title = "Upstream refused our credentials"
    retry_after = None


class UpstreamRejected(Unavailable):
    """An upstream refused a call that it should have taken, or its answer cannot be understood."""

    code = "upstream_rejected"
    status = 502
    title = "Upstream rejected a call"
    retry_after = None


class VectorRefused(UpstreamRejected):
    """The index refuses a vector for what it is: sending it again unchanged is of no use."""

    code = "vector_refused"
    title = "Vector refused"


class ModelAnswerRejected(UpstreamRejected):
    """A language model's answer, and a second one, have no form that can be read."""

    code = "model_answer_rejected"
    title = "Model answer rejected"


class CursorExpired(UpstreamRejected):
    """The index no longer knows the cursor of a listing."""

    code = "cursor_expired"
    title = "Cursor expired"


class DatabaseRejected(MemoryGatewayError):
    """The database refused a statement that the service should not have sent."""

    code = "database_rejected"
    title = "Database rejected a statement"


class SchemaTooNew(MemoryGatewayError):
    """The database has migrations this version does not know."""

    code = "schema_too_new"
    status = 503
    title = "Database schema is newer than this service"


class ConfigurationError(MemoryGatewayError):
    """Settings that cannot work; the message says which and why."""

    code = "configuration_error"
    title = "Configuration error"
