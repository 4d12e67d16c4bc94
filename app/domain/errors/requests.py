"""Errors of a request that is wrong in itself."""

from collections.abc import Sequence
from typing import Self

from app.domain.errors.root import FieldError, MemoryGatewayError


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


class SensitiveContent(InvalidRequest):
    """A text with a key, a token or another content that the settings refuse to keep; it never says which."""

    code = "sensitive_content"
    status = 422
    title = "Content that is not kept"

    @classmethod
    def of(cls, errors: Sequence[FieldError]) -> Self:
        """Return the error of fields, each with the kind of what it has."""
        detail = "; ".join(f"{error.field} {error.message}" for error in errors)
        return cls(f"{detail}. Nothing was kept.", errors=errors)


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
