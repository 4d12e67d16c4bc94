"""What goes over the wire: a request, a reply, and a refusal that knows the reply it stands for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

JSON = "application/json"


@dataclass(slots=True)
class Request:
    """One request, read whole. Header names are in lower case; ``parameters`` come from the path, unquoted."""

    operation: str
    method: str
    path: str
    parameters: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    stop_batch_after: int | None = None
    """Set by a fault: after how many statements a D1 batch is to die."""
    shorten_vectors: bool = False
    """Set by a fault: embeddings are to come back one dimension short."""
    wrong_indexes: bool = False
    """Set by a fault: a reranking is to name a text that it was not sent."""

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Read the body.

        Raises:
            ValueError: it is not JSON.
        """
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, whole."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Request], Awaitable[Reply]]


class Refusal(Exception):
    """The call is not done; ``reply`` is what the caller gets instead."""

    def __init__(self, reply: Reply) -> None:
        """Keep the reply."""
        super().__init__(reply.body.decode("utf-8", "replace"))
        self.reply = reply


class ConnectionCut(Exception):
    """The caller gets no answer: the connection is to be closed."""


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Reply:
    """Write a JSON answer; numpy arrays become lists, NaN and infinity become null."""
    return Reply(status, orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), headers=headers or {})
