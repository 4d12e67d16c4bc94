"""Everything that can go wrong, as one tree.

::

    MemoryGatewayError
    |-- InvalidRequest                 the caller's mistake, never retried unchanged
    |   |-- MalformedRequest             the body is not JSON
    |   |-- UnsupportedMediaType         the body is not sent as application/json
    |   |-- ContentTooLarge              a body or a text over its limit
    |   |-- SensitiveContent             a text has a key, a token or the like, which the settings refuse to keep
    |   |-- InvalidCursor                a listing cannot go on from this cursor
    |   |-- MalformedHttp                what came is no HTTP/1.1, or its chunks hold next to nothing
    |   |-- HostNotAllowed               a request for a name that this service does not have
    |   |-- HeadersTooLarge              a request line and headers over their limit
    |   |-- RequestTimeout               a request that did not arrive in time
    |   |-- NoSuchPath                   the service has no such path
    |   |-- MethodNotAllowed             the path does not take this method
    |-- NotFound                       what is named does not exist, or not for this caller
    |   |-- BlobGone                     a pointer names an object that is not there any more
    |   |-- ObjectGone                   an object of a snapshot or the archive is missing or changed
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
    |   |   |-- DatabaseLost               its file was there, and is not any more
    |   |   |-- StorageFull                no room to write
    |   |   |-- StorageReadOnly            the data may be read, not written
    |   |-- SchemaTooNew                 a newer version has migrated the database, and this one cannot run beside it
    |   |-- SchemaTooOld                 the database was not migrated, and a command that reads does not do it
    |   |-- ShardUnavailable             the shard where the tenant lives is missing, or cannot be used
    |   |-- TenantMoved                  the tenant is moving, or has moved, to another shard
    |   |-- TooManyConnections           this server answers as many requests as it may
    |   |-- Overloaded                   the request would wait for its turn for too long
    |   |-- EmbeddingUnavailable         the embedder does not answer
    |   |-- ReaderUnavailable            the model that reads statements does not answer, or not in time
    |   |-- EmbeddingConfigMismatch      the stored vectors were made with another embedding config
    |   |-- IndexNotProvisioned          the index is absent or not made for this service: see ``provision``
    |   |-- IssuerUnavailable            the issuer of a token does not answer, and its key is not known
    |   |-- RateLimited                  too many calls: by our own meter or by the upstream
    |   |   |-- CloudflareBlocks             Cloudflare refuses every call of the token's owner for a while
    |   |-- UpstreamUnavailable          an upstream cannot be reached, or failed inside
    |   |   |-- CircuitOpen                  it did not answer for a while, so no call was made
    |   |-- UpstreamOverloaded           an upstream has too much to do; asking again at once makes it worse
    |   |-- UpstreamTimeout              an upstream did not answer in time
    |   |-- QuotaExhausted               a quota or credit is used up: an operator has to act
    |   |-- CredentialsRefused           an upstream refused our credentials: an operator has to act
    |   |-- UpstreamRejected             an upstream refused a call, or answered what cannot be understood
    |   |   |-- VectorRefused                the index does not take a vector as it is
    |   |   |-- ModelAnswerRejected          a language model answered twice what cannot be read
    |   |   |-- CursorExpired                a listing has to begin anew
    |-- DatabaseRejected               the database refused a statement: a defect of ours
    |-- ConfigurationError             settings that cannot work, found before serving

An adapter maps each failure of what it talks to onto this tree in one place; the HTTP layer turns any
of these into one problem+json shape (RFC 9457) by ``code``, ``status`` and ``title``.

The classes lie in one module for each subject; the rest of the service imports them from here.
"""

from app.domain.errors.defects import (
    ConfigurationError,
    DatabaseRejected,
)
from app.domain.errors.refusals import (
    AccessRefused,
    BlobGone,
    Conflict,
    Erasing,
    Forbidden,
    IdempotencyKeyReused,
    LongTermDisabled,
    NamespaceExists,
    NotFound,
    ObjectGone,
    OperationRunning,
    PreconditionFailed,
    QuotaExceeded,
    RunEnded,
    Superseded,
    Unauthenticated,
)
from app.domain.errors.requests import (
    ContentTooLarge,
    HeadersTooLarge,
    HostNotAllowed,
    InvalidCursor,
    InvalidRequest,
    MalformedHttp,
    MalformedRequest,
    MethodNotAllowed,
    NoSuchPath,
    RequestTimeout,
    SensitiveContent,
    UnsupportedMediaType,
)
from app.domain.errors.root import (
    FieldError,
    MemoryGatewayError,
)
from app.domain.errors.unavailable import (
    DatabaseLost,
    DatabaseUnavailable,
    EmbeddingConfigMismatch,
    EmbeddingUnavailable,
    IndexNotProvisioned,
    IssuerUnavailable,
    Overloaded,
    ReaderUnavailable,
    SchemaTooNew,
    SchemaTooOld,
    ShardUnavailable,
    StorageFull,
    StorageReadOnly,
    TenantMoved,
    TooManyConnections,
    Unavailable,
)
from app.domain.errors.upstreams import (
    CircuitOpen,
    CloudflareBlocks,
    CredentialsRefused,
    CursorExpired,
    ModelAnswerRejected,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
    VectorRefused,
)

__all__ = [
    "AccessRefused",
    "BlobGone",
    "CircuitOpen",
    "CloudflareBlocks",
    "ConfigurationError",
    "Conflict",
    "ContentTooLarge",
    "CredentialsRefused",
    "CursorExpired",
    "DatabaseLost",
    "DatabaseRejected",
    "DatabaseUnavailable",
    "EmbeddingConfigMismatch",
    "EmbeddingUnavailable",
    "Erasing",
    "FieldError",
    "Forbidden",
    "HeadersTooLarge",
    "HostNotAllowed",
    "IdempotencyKeyReused",
    "IndexNotProvisioned",
    "InvalidCursor",
    "InvalidRequest",
    "IssuerUnavailable",
    "LongTermDisabled",
    "MalformedHttp",
    "MalformedRequest",
    "MemoryGatewayError",
    "MethodNotAllowed",
    "ModelAnswerRejected",
    "NamespaceExists",
    "NoSuchPath",
    "NotFound",
    "ObjectGone",
    "OperationRunning",
    "Overloaded",
    "PreconditionFailed",
    "QuotaExceeded",
    "QuotaExhausted",
    "RateLimited",
    "ReaderUnavailable",
    "RequestTimeout",
    "RunEnded",
    "SchemaTooNew",
    "SchemaTooOld",
    "SensitiveContent",
    "ShardUnavailable",
    "StorageFull",
    "StorageReadOnly",
    "Superseded",
    "TenantMoved",
    "TooManyConnections",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedMediaType",
    "UpstreamOverloaded",
    "UpstreamRejected",
    "UpstreamTimeout",
    "UpstreamUnavailable",
    "VectorRefused",
]
