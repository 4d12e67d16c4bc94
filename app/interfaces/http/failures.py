"""Groups of errors that many routes may answer with, for the OpenAPI document."""

from app.domain.errors import (
    CircuitOpen,
    CloudflareBlocks,
    ContentTooLarge,
    CredentialsRefused,
    EmbeddingConfigMismatch,
    EmbeddingUnavailable,
    Erasing,
    Forbidden,
    InvalidRequest,
    LongTermDisabled,
    MalformedRequest,
    NotFound,
    Overloaded,
    QuotaExceeded,
    QuotaExhausted,
    RateLimited,
    SensitiveContent,
    StorageFull,
    StorageReadOnly,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)

ACCESS = (Unauthenticated, Forbidden, QuotaExceeded, Overloaded)
"""Errors of the credential, of its rate, and of waiting for the tenant's turn."""
BODY = (MalformedRequest, ContentTooLarge, UnsupportedMediaType, InvalidRequest)
"""Errors of a request's body."""
UPSTREAM = (
    RateLimited,
    CloudflareBlocks,
    UpstreamUnavailable,
    CircuitOpen,
    UpstreamOverloaded,
    QuotaExhausted,
    UpstreamTimeout,
    CredentialsRefused,
    UpstreamRejected,
)
"""Errors of calls to other services."""
READS = (*ACCESS, InvalidRequest, Unavailable, *UPSTREAM)
"""Errors of a read of the database."""
WRITES = (InvalidRequest, Unavailable, StorageFull, StorageReadOnly, *UPSTREAM)
"""Errors of a write to the database."""
OUTAGE = (Unavailable, StorageFull, StorageReadOnly, EmbeddingUnavailable, EmbeddingConfigMismatch, *UPSTREAM)
"""Errors of a request that needs the database, the embedder and the index."""
MODEL = (Unavailable, *UPSTREAM)
"""Errors of a request that reads the database and calls a model."""
RECALL = (LongTermDisabled, QuotaExceeded)
"""Refusals of a recall."""
STORE = (NotFound, Erasing, SensitiveContent, *RECALL)
"""Refusals of a store under a run."""
