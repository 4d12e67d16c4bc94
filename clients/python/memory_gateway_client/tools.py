"""The tools by which a model uses its memory, for an adapter to give to its framework.

There are two sets, and an agent is given one: ``recall_store`` unless an administrator has set ``profile``.
``tools.json`` and ``tools-profile.json`` are what the service gives out at ``GET /tools``: names, descriptions and
schemas are the same in every framework. A client's ``call_tool`` calls one for the client's agent; ``text`` and
``told`` write for the model.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from memory_gateway_client.agents import one_agent
from memory_gateway_client.errors import InvalidRequest, MemoryGatewayError
from memory_gateway_client.request import Call
from memory_gateway_client.types import Entry, Recall, Restatement, Source, Stored

# Control, bidirectional and invisible characters: they act where they are shown, or hide there.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u2064\u2066-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd]+|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]+"
)


ToolSet: TypeAlias = Literal["recall_store", "profile"]
"""``recall_memory`` and ``store_memory``, or ``remember``, ``recall``, ``forget`` and ``list``."""

_FILES: Mapping[ToolSet, str] = {"recall_store": "tools.json", "profile": "tools-profile.json"}


@dataclass(frozen=True, slots=True)
class Told:
    """What one of the four tools answers: a text for the model."""

    answer: str


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model is told of one tool; the schemas are JSON Schema."""

    name: str
    title: str
    description: str
    tags: Sequence[str]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]


@cache
def definitions(tool_set: ToolSet = "recall_store") -> Sequence[Tool]:
    """Return the tools of a set; they are read once."""
    text = files("memory_gateway_client").joinpath(_FILES[tool_set]).read_text(encoding="utf-8")
    return tuple(Tool(**tool) for tool in json.loads(text))


def call_tool(_own: str | None, /, name: str, arguments: Mapping[str, Any]) -> Call[Recall | Stored | Told]:
    """Call a tool with what a model has written, for the client's agent, and return its answer.

    Args:
        name: Of a tool of either set.
        arguments: As the tool's input schema says; null stands for what is left out.

    Raises:
        ValueError: there is no such tool, or the client has no agent.
        InvalidRequest: an argument is missing, unknown, over its limits or no JSON; nothing was stored.
        NotFound: the tool is one of the four, and the agent is not given these.
        MemoryGatewayError: as ``recall`` and ``store`` say.
    """
    tool = next((each for one in _FILES for each in definitions(one) if each.name == name), None)
    if tool is None:
        raise ValueError(f"There is no tool {name!r}.")
    unknown = sorted(arguments.keys() - tool.input_schema["properties"])
    if unknown:
        raise InvalidRequest(f"{', '.join(unknown)}: not an argument of {name}.", advice="Leave it out and try again.")
    said = _said(arguments)
    if isinstance(conditions := said.get("filter"), Mapping):
        said["filter"] = _said(conditions)
    try:
        json.dumps(said, allow_nan=False)
    except (ValueError, RecursionError) as error:
        # Python reads NaN, 1e999 and any depth where JSON is read, so a model's arguments may hold them.
        raise InvalidRequest(f"The arguments are not JSON: {error}.", advice="Correct them and try again.") from error
    agent_id = one_agent(None, _own)
    if tool in definitions("profile"):
        return _over_mcp(agent_id, name, said)
    body = {**said, "agent_id": agent_id}
    if name == "recall_memory":
        return Call("POST", "/recall", Recall, body={**body, "for_model": True})
    once = {"Idempotency-Key": secrets.token_hex(16)}
    return Call("POST", "/store", Stored, body=body, headers=once, status=201)


def _over_mcp(agent_id: str, name: str, arguments: Mapping[str, Any]) -> Call[Recall | Stored | Told]:
    """Call a tool as an MCP host does: one message, without a session.

    ``forget`` is not sent again where it may have been done: words might mean another memory then.
    """
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json", "X-Agent-Id": agent_id}
    return Call("POST", "/mcp", Told, body=message, headers=headers, repeatable=name != "forget", of_tool=True)


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def text(answer: Recall | Stored | Told) -> str:
    """Write a tool's answer for the model: the text of one of the four, else JSON, as the output schema says."""
    if isinstance(answer, Told):
        return answer.answer
    if isinstance(answer, Stored):
        return json.dumps({"stored": answer.stored, **({"kept": answer.kept} if answer.kept else {})})
    entries = [_shown(entry) for entry in answer.entries]
    found = {
        "notice": definitions()[0].output_schema["properties"]["notice"]["const"],
        "entries": entries,
        "confidence": answer.confidence,
    }
    found |= {"degraded": answer.degraded} if answer.degraded else {}
    return visible(json.dumps(found, ensure_ascii=False))


def visible(text: str) -> str:
    """Write characters that act or hide where they are shown as JSON writes them."""
    return _HIDDEN.sub(lambda run: json.dumps(run[0])[1:-1], text)


def _shown(entry: Entry) -> dict[str, Any]:
    """Return an entry as a model reads it; the day comes before the content, which may be long."""
    return {
        "id": entry.id,
        "date": _day(entry),
        "content": entry.content,
        "metadata": entry.metadata,
        "score": entry.score,
        "created_at": _moment(entry.created_at),
        "occurred_at": None if entry.occurred_at is None else _moment(entry.occurred_at),
        "session_id": entry.session_id,
        "source": _source(entry.source),
        **({"also": [{"id": other.id, "date": _day(other)} for other in entry.also]} if entry.also else {}),
    }


def _day(memory: Entry | Restatement) -> str:
    return (memory.occurred_at or memory.created_at).date().isoformat()


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _source(source: Source | None) -> str:
    if source is None:
        return "unknown"
    return source.channel if source.credential_id is None else f"{source.channel} {source.credential_id}"


def told(error: MemoryGatewayError) -> str:
    """Write for the model what went wrong and what to do about it."""
    return f"{error.detail} {error.advice or 'Go on without long-term memory, and say so.'}"
