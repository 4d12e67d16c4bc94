"""mem0: what ``get_all`` answers (platform and open source), and what its add takes.

Read: ``{"results": [...]}`` or a list of memories, with ``memory``, ``created_at``, ``agent_id``, ``user_id``,
``run_id``, ``metadata``, ``expiration_date`` and more, one or several such answers; and the bodies written here. A
platform export has the schema that was asked for: it is read where that has ``results`` or ``memories`` of this form.
Sources: docs.mem0.ai/api-reference/memory/get-memories, .../v1-get-memories, .../add-memories,
docs.mem0.ai/platform/features/timestamp; mem0ai/mem0 ``server/main.py`` (MemoryCreate), ``mem0/memory/main.py`` (get).

Mapping: ``agent_id`` is the agent, else ``user_id`` (so that two users' memories stay apart), where it has the form of
an agent id; ``user_id`` also stays in the metadata as ``mem0.user_id``. ``run_id`` is the session. Every other field
is kept as ``mem0.<field>``.

Written: lines of JSON, each the body of one add (``POST /v1/memories/``, open source ``POST /memories``) with
``infer: false``, so that the text is stored as it is. ``timestamp`` has whole seconds and ``expiration_date`` days: the
exact moments, and what mem0 has no field for, stand in the metadata (see ``envelope``). Not carried: vectors.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from app.limits import is_id
from app.model import Json, format_moment, to_json
from app.transfer.formats.entries import Fields, finished, is_name, native
from app.transfer.formats.envelope import packed
from app.transfer.formats.form import Dialect, Flaw, Format, Located, Untaken, listed
from app.transfer.formats.moments import names_exactly
from app.transfer.formats.reading import records
from app.transfer.record import Record

NAME = "mem0"

_OWN = {"user_id": is_name, "app_id": is_name}


def read(stream: TextIO, agent_id: str) -> Iterator[Record | Flaw]:
    """Read what mem0 answers."""
    return records(stream, agent_id, Dialect(NAME, _entries, _take))


def write(records_: Iterable[Record]) -> Iterator[str]:
    """Write the bodies of adds."""
    return (f"{to_json(_body(record))}\n" for record in records_)


def _entries(value: Json) -> Sequence[Located] | None:
    return listed(value, within=["results", "memories"], marks=["memory", "messages"])


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop("infer")
    fields.drop_repeated("updated_at", of="created_at")
    content = fields.content("memory") if "memory" in fields else _said(fields)
    created = fields.moment("timestamp") if "timestamp" in fields else fields.moment("created_at")
    record = Record(
        agent_id=_agent(fields) or agent_id,
        content=content,
        metadata=fields.metadata("metadata"),
        session_id=fields.name("run_id"),
        created_at=created,
        expires_at=fields.moment("expiration_date"),
    )
    return finished(record, NAME, fields.left())


def _agent(fields: Fields) -> str | None:
    if is_id(fields.peek("agent_id")):
        return str(fields.take("agent_id"))
    user = fields.peek("user_id")
    return str(user) if is_id(user) else None


def _said(fields: Fields) -> str:
    messages = fields.take("messages")
    if not isinstance(messages, list) or len(messages) != 1:
        raise Untaken("has no text in memory, nor a single message")
    return Fields(messages[0]).content("content")


def _body(record: Record) -> dict[str, Json]:
    own, metadata = native(record.metadata, NAME, _OWN)
    body: dict[str, Json] = {"messages": [{"role": "user", "content": record.content}], **own, "infer": False}
    carried = {"agent_id"}
    if own.get("user_id") != record.agent_id:
        body["agent_id"] = record.agent_id
    if record.session_id is not None and record.session_id.strip():
        body["run_id"] = record.session_id
        carried.add("session_id")
    if record.created_at is not None:
        body["timestamp"] = record.created_at // 1000
        carried |= {"created_at"} if names_exactly(body["timestamp"], record.created_at) else set()
    if record.expires_at is not None:
        body["expiration_date"] = format_moment(record.expires_at)[:10]
        carried |= {"expires_at"} if names_exactly(body["expiration_date"], record.expires_at) else set()
    body["metadata"] = packed(record, metadata, carried=carried)
    return body


FORMAT = Format(NAME, read, write)
