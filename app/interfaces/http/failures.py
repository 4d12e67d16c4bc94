"""The errors that many routes may answer with, for the OpenAPI document."""

from app.domain.errors import (
    ContentTooLarge,
    CredentialsRefused,
    EmbeddingConfigMismatch,
    EmbeddingUnavailable,
    Forbidden,
    InvalidRequest,
    MalformedRequest,
    QuotaExhausted,
    RateLimited,
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

ACCESS = (Unauthenticated, Forbidden)
"""The credential does not let the caller in, or not this far."""
BODY = (MalformedRequest, ContentTooLarge, UnsupportedMediaType, InvalidRequest)
"""The body is not one that the route takes."""
UPSTREAM = (
    RateLimited,
    UpstreamUnavailable,
    UpstreamOverloaded,
    QuotaExhausted,
    UpstreamTimeout,
    CredentialsRefused,
    UpstreamRejected,
)
"""A call that the service makes does not succeed."""
WRITES = (InvalidRequest, Unavailable, StorageFull, StorageReadOnly, *UPSTREAM)
"""A write of the database may fail."""
OUTAGE = (Unavailable, StorageFull, StorageReadOnly, EmbeddingUnavailable, EmbeddingConfigMismatch, *UPSTREAM)
"""What needs the embedder too may fail."""
