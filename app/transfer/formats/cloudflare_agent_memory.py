"""Cloudflare Agent Memory (private beta): what its HTTP API answers when it lists memories and gets one.

Read: ``{"result": [...]}`` or ``{"result": {...}}`` in the envelope of Cloudflare's API v4, one or lines of them, with
``id``, ``type``, ``summary``, ``content``, ``sessionId``, ``createdAt``, ``updatedAt``; ``{"memories": [...]}`` as the
binding lists them; and the bodies written here.
Sources: developers.cloudflare.com/agent-memory/api/http-api and .../workers-api, as cloudflare/cloudflare-docs keeps
them in ``src/content/docs/agent-memory/api/``.

Mapping: no answer names its profile, so that the agent is always the one given; ``sessionId`` is the session. A listed
memory has no ``content``: its ``summary`` is taken for the text, and ``cloudflare-agent-memory.text`` says ``summary``.
To have the texts, get each memory. Every other field is kept as ``cloudflare-agent-memory.<field>``.

Written: lines of JSON, each the body of one remember (``POST .../profiles/{profile}/remember``): ``content`` and, of at
most 64 characters, ``sessionId``. There is nothing else to write to: agent, metadata, times, ids and vectors are lost.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from app.model import Json, to_json
from app.transfer.formats.entries import Fields, finished, is_name
from app.transfer.formats.form import Dialect, Flaw, Format, Located, listed
from app.transfer.formats.reading import records
from app.transfer.record import Record

NAME = "cloudflare-agent-memory"
SESSION_MOST = 64
"""The characters of the longest session id that Agent Memory takes."""


def read(stream: TextIO, agent_id: str) -> Iterator[Record | Flaw]:
    """Read answers."""
    return records(stream, agent_id, Dialect(NAME, _entries, _take))


def write(records_: Iterable[Record]) -> Iterator[str]:
    """Write the bodies of remembers."""
    return (f"{to_json(_body(record))}\n" for record in records_)


def _entries(value: Json) -> Sequence[Located] | None:
    if isinstance(value, Mapping) and isinstance(result := value.get("result"), Mapping):
        return [("result", result)] if "id" in result else None
    return listed(value, within=["result", "memories"], marks=["content"])


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop_repeated("updatedAt", of="createdAt")
    fields.drop_repeated("summary", of="content")
    listed_only = "content" not in fields
    record = Record(
        agent_id=agent_id,
        content=fields.content("content", "summary"),
        session_id=fields.name("sessionId"),
        created_at=fields.moment("createdAt"),
    )
    return finished(record, NAME, fields.left() | ({"text": "summary"} if listed_only else {}))


def _body(record: Record) -> dict[str, Json]:
    fits = is_name(record.session_id) and len(record.session_id or "") <= SESSION_MOST
    return {"content": record.content} | ({"sessionId": record.session_id} if fits else {})


FORMAT = Format(NAME, read, write)
