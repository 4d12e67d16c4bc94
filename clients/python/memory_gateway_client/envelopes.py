"""What a tool answers over MCP, out of its envelope of JSON-RPC, and what a refusal says there or in Cloudflare's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_gateway_client.errors import FieldError
from memory_gateway_client.reading import read

_INVALID_PARAMS = -32602
"""The error of JSON-RPC for a tool that is not there, or that the agent is not given."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of the service (RFC 9457)."""

    code: str
    detail: str
    request_id: str = ""
    errors: tuple[FieldError, ...] = ()
    advice: str = ""


class Refused(Exception):
    """The call was refused, in an answer with the status of a success."""

    def __init__(self, problem: Problem, status: int, retry_after: int | None = None) -> None:
        """Keep what a problem over HTTP would have said."""
        super().__init__(problem.code)
        self.problem = problem
        self.status = status
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Told:
    code: str
    status: int
    advice: str
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Result:
    content: tuple[_Text, ...]
    structuredContent: dict[str, Any] | None = None  # noqa: N815 - the protocol's name
    isError: bool = False  # noqa: N815 - the protocol's name
    _meta: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Error:
    code: int
    message: str
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Envelope:
    errors: tuple[_Error, ...]


@dataclass(frozen=True, slots=True)
class _Message:
    result: _Result | None = None
    error: _Error | None = None


def opened(said: object) -> Mapping[str, Any]:
    """Return what the tool has answered.

    Raises:
        Refused: it did not.
        ValueError: this is no message of the service.
    """
    message = read(_Message, said)
    if message.error is not None:
        raise Refused(_refusal(message.error), 404 if message.error.code == _INVALID_PARAMS else 500)
    if message.result is None:
        raise ValueError("the answer has no result")
    if not message.result.isError:
        return message.result.structuredContent or {}
    told = read(_Told, message.result._meta, at="the answer.result._meta")  # noqa: SLF001 - the protocol's name
    text = " ".join(part.text for part in message.result.content)
    detail = text.removesuffix(told.advice).rstrip()
    raise Refused(Problem(told.code, detail, advice=told.advice), told.status, told.retry_after)


def problem(said: object) -> Problem:
    """Return what a refusal with the status of a failure says: a problem, or an error of JSON-RPC or of Cloudflare.

    Raises:
        ValueError: it is none of them.
    """
    if isinstance(said, Mapping) and "jsonrpc" in said:
        message = read(_Message, said)
        if message.error is not None:
            return _refusal(message.error)
    if isinstance(said, Mapping) and said.get("success") is False:
        first, *others = read(_Envelope, said).errors
        return Problem(str(first.code), " ".join(each.message for each in (first, *others)))
    return read(Problem, said)


def _refusal(error: _Error) -> Problem:
    code = (error.data or {}).get("code")
    return Problem(code if isinstance(code, str) else "not_found", error.message)
