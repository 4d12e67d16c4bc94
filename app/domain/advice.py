"""Advice about an error, in a sentence that a model or a person can follow."""

from app.domain.errors import (
    BlobGone,
    Conflict,
    ContentTooLarge,
    Erasing,
    Forbidden,
    HeadersTooLarge,
    HostNotAllowed,
    IdempotencyKeyReused,
    InvalidCursor,
    InvalidRequest,
    LongTermDisabled,
    MalformedHttp,
    MalformedRequest,
    MemoryGatewayError,
    MethodNotAllowed,
    NamespaceExists,
    NoSuchPath,
    NotFound,
    QuotaExceeded,
    RequestTimeout,
    SensitiveContent,
    Superseded,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)

_OPERATOR = "Do not try again now: tell the operator of the memory service, and go on without it."

_ADVICE: dict[type[MemoryGatewayError], str] = {
    ContentTooLarge: "Shorten it to what is worth keeping, or store it in several parts, and try again.",
    SensitiveContent: "Leave out what is named, or write what it is for instead, and try again.",
    MalformedRequest: "Send valid JSON.",
    UnsupportedMediaType: "Send it with the content type that is asked for.",
    InvalidCursor: "Begin the listing anew, without a cursor.",
    MalformedHttp: "Send HTTP/1.1 as a common client library writes it.",
    HostNotAllowed: "Use the address that the operator names, or have this one added to ALLOWED_HOSTS.",
    HeadersTooLarge: "Send fewer or shorter headers.",
    RequestTimeout: "Send the whole request at once.",
    BlobGone: "What it held is lost: go on without it.",
    InvalidRequest: "Correct what is named and try again.",
    NoSuchPath: "Look in /docs for the service's paths and what each takes; a path ends without a slash.",
    MethodNotAllowed: "Send it with a method that the path takes; /docs shows what each is for.",
    NotFound: "Check the id; what is not there need not be deleted.",
    Erasing: "Store nothing for this agent until its erasure is done.",
    LongTermDisabled: "Go on without long-term memory; an administrator can switch it on again.",
    IdempotencyKeyReused: "Use a new Idempotency-Key for another request.",
    Superseded: "If what holds now is to be forgotten, forget the memory that the answer names.",
    NamespaceExists: "Use the namespace that is there, or another name.",
    Conflict: "Look at the present state before trying again.",
    Unauthenticated: "Ask the operator of the memory service for a credential that holds.",
    Forbidden: "Do not try again with this credential: ask the operator of the service for one that reaches this far.",
}
"""The advice by the class of an error: the error's own class, or the nearest class above it that is listed."""


def advice(error: MemoryGatewayError) -> str:
    """Return what the caller should do: wait, correct the request, shorten it, or ask the operator."""
    if isinstance(error, QuotaExceeded | Unavailable):
        if error.retry_after is None:
            return _OPERATOR
        return f"Wait {error.retry_after} s and try again; if it fails twice, go on without it and say so."
    return next((_ADVICE[kind] for kind in type(error).__mro__ if kind in _ADVICE), _OPERATOR)
