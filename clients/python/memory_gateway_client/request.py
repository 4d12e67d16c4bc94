"""What every call is made of: one request, not yet sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, not yet sent.

    Attributes:
        answer: What the answer is read as; ``bytes`` is not read as JSON.
        content: The body where it is no JSON; ``headers`` have its Content-Type.
        status: The status with which the service does what is asked.
        also: The others with which it does so.
        repeatable: Whether it may be sent again when nobody knows what became of it.
        of_tool: Whether it calls a tool over MCP, so that the answer comes in an envelope of JSON-RPC.
    """

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    also: tuple[int, ...] = ()
    repeatable: bool = True
    of_tool: bool = False
    content: bytes | None = None

    def __str__(self) -> str:
        """Name the request, without what is in it."""
        return f"{self.method} {self.path}"


def one_agent(said: str | None, own: str | None) -> str:
    """Return the agent that the call names, else the client's own.

    Raises:
        ValueError: there is neither.
    """
    agent = own if said is None else said
    if agent is None:
        raise ValueError("No agent: say agent_id=, or give the client one (agent_id= or MEMORY_GATEWAY_AGENT).")
    return agent


def agent_or_every(said: str | None, own: str | None, *, every_agent: bool) -> str | None:
    """Return the agent that the call names, else the client's own; None is for every agent.

    Raises:
        ValueError: the call names one and wants every one.
    """
    if every_agent and said is not None:
        raise ValueError("Say agent_id= or every_agent=True, not both.")
    return None if every_agent else own if said is None else said


def given(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a request holds
    """Return the fields that are not None, as they are sent.

    Raises:
        ValueError: a time has no time zone.
    """
    return {name: _sent(value) for name, value in fields.items() if value is not None}


def conditions_of(if_match: str | None, if_none_match: str | None) -> dict[str, str]:
    """Return the headers that make a change depend on what is there; none where nothing is asked."""
    return given(**{"If-Match": if_match, "If-None-Match": if_none_match})


def _sent(value: object) -> object:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("A time needs its time zone: datetime.now(UTC), not datetime.now().")
        return value.astimezone(UTC).isoformat()
    return dict(value) if isinstance(value, Mapping) else value


def segment(text: str) -> str:
    """Return the text as one segment of a path; dots are written so that none is taken for a step up.

    Raises:
        ValueError: it is empty, which would be another path.
    """
    if not text:
        raise ValueError("An id must not be empty.")
    return quote(text, safe="").replace(".", "%2E")


def is_visible(text: str) -> bool:
    """Whether the text can be in a header: visible ASCII alone."""
    return all("!" <= each <= "~" for each in text)
