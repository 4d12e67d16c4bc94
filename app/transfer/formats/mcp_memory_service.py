"""mcp-memory-service: the JSON file that its sync exports and imports.

Read: ``{"export_metadata": {...}, "memories": [...]}``, or such memories alone, with ``content``, ``content_hash``,
``tags``, ``memory_type``, ``metadata`` and ``created_at``, ``updated_at`` in seconds since the epoch.
Sources: doobidoo/mcp-memory-service ``src/mcp_memory_service/sync/importer.py``, ``models/memory.py``,
``utils/hashing.py``, ``sync/converters/mem0.py``; ``sync/exporter.py`` as vanfleet-dev/mcp-memory-service keeps it.

Mapping: ``metadata.agent_id``, where that service keeps a memory's agent, is the agent where it has the form of one.
Tags, type, hash and every other field are kept as ``mcp-memory-service.<field>``; ``export_metadata`` is not, and
neither is an ``embedding``: it names no model.

Written: one document of that form. ``content_hash`` is SHA-256 of the text and the metadata, as that service makes it,
so that one text of two agents or sessions is two memories there as well. What it has no field for stands in the
metadata (see ``envelope``). Its importer adds a tag ``source:memory-gateway`` and ``metadata.import_info``.
Not carried: vectors.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from app.limits import is_id
from app.model import Json, to_json
from app.transfer.formats.entries import Fields, are_names, finished, is_name, native
from app.transfer.formats.envelope import packed
from app.transfer.formats.form import Dialect, Flaw, Format, Located, listed
from app.transfer.formats.moments import names_exactly
from app.transfer.formats.reading import records
from app.transfer.record import Record

NAME = "mcp-memory-service"

_AGENT = "agent_id"
_OWN = {"tags": are_names, "memory_type": is_name, "content_hash": is_name}


def read(stream: TextIO, agent_id: str) -> Iterator[Record | Flaw]:
    """Read an export."""
    return records(stream, agent_id, Dialect(NAME, _entries, _take))


def write(records_: Iterable[Record]) -> Iterator[str]:
    """Write a document to import; its ``export_metadata`` comes last, because it counts."""
    yield '{"memories":['
    count = 0
    for record in records_:
        yield f"{',' if count else ''}\n{to_json(_memory(record))}"
        count += 1
    about: Json = {"source_machine": "memory-gateway", "total_memories": count}
    yield f'\n],"export_metadata":{to_json(about)}}}\n'


def _entries(value: Json) -> Sequence[Located] | None:
    return listed(value, within=["memories"], marks=["content"])


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop("embedding")
    content, metadata = fields.content("content"), fields.metadata("metadata")
    if _AGENT in metadata and fields.peek("content_hash") == _hash(content, metadata):
        fields.drop("content_hash")
    if fields.peek("tags") == []:
        fields.drop("tags")
    fields.drop_repeated("updated_at", of="created_at")
    created = "created_at" if "created_at" in fields else "created_at_iso"
    named = metadata.get(_AGENT)
    if is_id(named):
        del metadata[_AGENT]
    record = Record(
        agent_id=str(named) if is_id(named) else agent_id,
        content=content,
        metadata=metadata,
        created_at=fields.moment(created),
    )
    fields.drop("created_at_iso", *(["updated_at_iso"] if created == "created_at" else []))
    return finished(record, NAME, fields.left())


def _memory(record: Record) -> dict[str, Json]:
    own, rest = native(record.metadata, NAME, _OWN)
    created = None if record.created_at is None else record.created_at / 1000
    carried = {_AGENT} | ({"created_at"} if names_exactly(created, record.created_at or 0) else set())
    metadata = packed(record, rest, carried=carried, reserved=[_AGENT]) | {_AGENT: record.agent_id}
    return {
        "content": record.content,
        "content_hash": _hash(record.content, metadata),
        "tags": [],
        "created_at": created,
        "updated_at": created,
        "metadata": metadata,
        **own,
    }


def _hash(content: str, metadata: dict[str, Json]) -> str:
    changing = ("timestamp", "content_hash", "embedding")
    lasting = {key: value for key, value in metadata.items() if key not in changing}
    text = content.strip().lower() + (json.dumps(lasting, sort_keys=True) if lasting else "")
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


FORMAT = Format(NAME, read, write)
