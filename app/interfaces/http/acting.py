"""Routes that do administrative acts: the act is declared with the route, and its row is written around it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import wraps
from typing import Any, TypeAlias

from pydantic import BaseModel
from starlette.responses import StreamingResponse

from app.domain.acts import ActName
from app.interfaces.http.dependencies import dependencies_of, is_administrative
from app.runtime.entry import CallEntry
from app.services.access.acting import Acting

Endpoint: TypeAlias = Callable[..., Awaitable[Any]]
_IDS = (
    *("agent_id", "archive_id", "blob_id", "consolidation_id", "credential_id", "item_id", "memory_id", "name"),
    *("namespace_name", "profile", "profile_name", "run_id", "session_id", "version", "workflow_id"),
)
"""The fields of requests and parts of paths that name what an act is about."""


def administrates(endpoint: Callable[..., object]) -> bool:
    """Tell whether a route asks for an administrator's credential."""
    return any(map(is_administrative, dependencies_of(endpoint)))


def acts(endpoint: Endpoint, name: ActName) -> Endpoint:
    """Return a route's function that writes the act's row before it does the act, and the outcome after it.

    What the answer counts is kept with the outcome. An answer in parts has its outcome when it is sent.
    """

    @wraps(endpoint)
    async def acting(**given: Any) -> Any:  # noqa: ANN401 - as FastAPI calls it
        caller: CallEntry = given["caller"]
        begun = await caller.begin(name, **dict(_ids_of(given)))
        begun.counts.update({"dry_run": True} if any(_is_dry_run(value) for value in given.values()) else {})
        try:
            answer = await endpoint(**given)
        except BaseException as error:
            await begun.end(error)
            raise
        if isinstance(answer, StreamingResponse):
            answer.body_iterator = _sent(begun, answer.body_iterator)
            return answer
        fields = _fields_of(answer)
        begun.subject["id"] = fields.get("id")
        for field, value in fields.items():
            begun.counts.setdefault(field, value)
        await begun.end()
        return answer

    return acting


async def _sent(begun: Acting, parts: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - as Starlette has it
    """Yield the parts of an answer, and end the act with the last of them, or where the caller goes away."""
    try:
        async for part in parts:
            yield part
    except BaseException as error:
        await begun.end(error)
        raise
    await begun.end()


def _ids_of(given: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the ids that a request names, in its path, its query and its body."""
    for name, value in given.items():
        if isinstance(value, str | int):
            if name in _IDS:
                yield name, value
        elif isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, CallEntry)):
            yield from ((field, getattr(value, field)) for field in _IDS if hasattr(value, field))


def _is_dry_run(request: object) -> bool:
    return isinstance(request, BaseModel) and getattr(request, "dry_run", False) is True


def _fields_of(answer: object) -> dict[str, object]:
    if isinstance(answer, BaseModel):
        return {name: getattr(answer, name) for name in type(answer).model_fields}
    return asdict(answer) if is_dataclass(answer) and not isinstance(answer, type) else {}
