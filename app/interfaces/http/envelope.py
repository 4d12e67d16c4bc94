"""The v4 envelope of Cloudflare's API, around every result and every error below ``/client/v4/``.

https://developers.cloudflare.com/fundamentals/api/how-to/make-api-calls/
https://developers.cloudflare.com/agent-memory/api/http-api/#error-responses
"""

from collections.abc import Mapping
from typing import Any, Final, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from app.domain.errors import (
    FieldError,
    Forbidden,
    InvalidRequest,
    MalformedRequest,
    MemoryGatewayError,
    MethodNotAllowed,
    NamespaceExists,
    NoSuchPath,
    NotFound,
    Unauthenticated,
)
from app.interfaces.fields import is_none
from app.interfaces.http.schemas import examples

PREFIX = "/client/v4/"
"""The beginning of the paths whose answers have the envelope, without the path that the service is under."""
MEDIA_TYPE = "application/json"

_T = TypeVar("_T")
_INVALID = 400
# The codes that Cloudflare documents, shows in its examples, or was seen to answer.
_CODES: Final[Mapping[type[MemoryGatewayError], int]] = {
    NamespaceExists: 10008,
    NotFound: 1003,
    NoSuchPath: 10003,
    MethodNotAllowed: 7001,
    Unauthenticated: 10000,
    Forbidden: 9109,
}
_NO_CODE = 1000
"""The code of an error for which Cloudflare has none is this plus the error's status."""


class CloudflareErrorSource(BaseModel):
    """Where in a request a mistake is."""

    pointer: str = Field(description="The field, as a JSON pointer.", examples=["/messages/3/content"])


class CloudflareError(BaseModel):
    """One error, or one message."""

    code: int = Field(description="Cloudflare's code where it has one, else 1000 and the status.", examples=[10008])
    message: str = Field(examples=["Namespace name already exists"])
    source: CloudflareErrorSource | None = Field(None, exclude_if=is_none)


class Envelope(BaseModel, Generic[_T]):
    """An answer around its result."""

    result: _T
    success: bool = Field(default=True, description="Whether there is a result.")
    errors: list[CloudflareError] = Field(default_factory=list)
    messages: list[CloudflareError] = Field(default_factory=list, description="Always empty.")


class CloudflareResultInfo(BaseModel):
    """Where a listing goes on."""

    cursor: str = Field(description="For the next page; empty: there is none.", examples=[examples.CURSOR])
    per_page: int = Field(examples=[20])
    count: int = Field(description="Entries of this page.", examples=[1])


class Page(Envelope[list[_T]], Generic[_T]):
    """A page of a listing."""

    result_info: CloudflareResultInfo

    @classmethod
    def of(cls, result: list[_T], *, cursor: str | None, per_page: int) -> Self:
        """Make a page of its entries; ``cursor`` is None where there are no more."""
        info = CloudflareResultInfo(cursor=cursor or "", per_page=per_page, count=len(result))
        return cls(result=result, result_info=info)


class CloudflareNothing(Envelope[dict[str, Any] | None]):
    """An answer without a result."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"result": None, "success": True, "errors": [], "messages": []}]}
    )

    result: dict[str, Any] | None = Field(None, description="Always null.")


class CloudflareFailure(BaseModel):
    """What went wrong."""

    result: dict[str, Any] | None = Field(None, description="Always null.")
    success: bool = Field(default=False, description="Always false.")
    errors: list[CloudflareError] = Field(description="One for each field that is wrong, or one.")
    messages: list[CloudflareError] = Field(default_factory=list, description="Always empty.")


def succeeded(result: Any) -> dict[str, Any]:  # noqa: ANN401 - any result
    """Return an example of an answer with this result."""
    return {"result": result, "success": True, "errors": [], "messages": []}


def listed(*results: Any) -> dict[str, Any]:  # noqa: ANN401 - any results
    """Return an example of a page with these results, behind which there are more pages."""
    result_info = {"cursor": examples.CURSOR, "per_page": len(results), "count": len(results)}
    return {**succeeded([*results]), "result_info": result_info}


def failure(error: MemoryGatewayError) -> CloudflareFailure:
    """Return an error of the tree as Cloudflare writes one; each field that is wrong is an entry of its own."""
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), _NO_CODE + status(error))
    entries = [_entry(code, field) for field in error.errors if not isinstance(error, MalformedRequest)]
    return CloudflareFailure(errors=entries or [CloudflareError(code=code, message=error.detail)])


def status(error: MemoryGatewayError) -> int:
    """Return the status of an error: a request whose fields are wrong is a 400 here."""
    return _INVALID if error.status == InvalidRequest.status else error.status


def responses(*errors: type[MemoryGatewayError]) -> dict[int | str, dict[str, Any]]:
    """Describe, for a route's OpenAPI entry, the errors it may answer with, each with an example."""
    described: dict[int | str, dict[str, Any]] = {}
    for kind in dict.fromkeys(errors):
        error = examples.error(kind)
        entry = described.setdefault(
            status(error), {"description": "", "model": CloudflareFailure, "content": {MEDIA_TYPE: {"examples": {}}}}
        )
        entry["description"] = ", ".join(filter(None, [entry["description"], error.title]))
        value = failure(error).model_dump()
        entry["content"][MEDIA_TYPE]["examples"][error.code] = {"summary": error.title, "value": value}
    return described


def _entry(code: int, field: FieldError) -> CloudflareError:
    source = CloudflareErrorSource(pointer=_pointer(field.field))
    return CloudflareError(code=code, message=f"{field.field} {field.message}", source=source)


def _pointer(field: str) -> str:
    """Write a dotted path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in field.split("."))
