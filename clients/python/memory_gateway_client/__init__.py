"""A typed client of Memory Gateway: ``MemoryClient``, and ``AsyncMemoryClient`` to await."""

from memory_gateway_client import types
from memory_gateway_client.client import AsyncMemoryClient, MemoryClient
from memory_gateway_client.episode_buffer import AsyncEpisodeBuffer, EpisodeBuffer
from memory_gateway_client.errors import (
    AnswerNotUnderstood,
    Conflict,
    FieldError,
    Forbidden,
    InvalidRequest,
    MemoryGatewayError,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    Unauthenticated,
    Unavailable,
)
from memory_gateway_client.request import Line, Lines
from memory_gateway_client.types import *  # noqa: F403 - each is named in its __all__

__all__ = [
    "AnswerNotUnderstood",
    "AsyncEpisodeBuffer",
    "AsyncMemoryClient",
    "Conflict",
    "EpisodeBuffer",
    "FieldError",
    "Forbidden",
    "InvalidRequest",
    "Line",
    "Lines",
    "MemoryClient",
    "MemoryGatewayError",
    "NotFound",
    "PreconditionFailed",
    "QuotaExceeded",
    "Unauthenticated",
    "Unavailable",
]
__all__ += types.__all__
__all__.sort()
