"""Letta: archival passages as its API lists them, and the memory blocks of an agent file (``.af``).

Read: a list of passages or lines of them, with ``text``, ``tags``, ``metadata``, ``created_at``, ``agent_id`` and more;
or an agent file: ``blocks`` beside ``agents`` with their ``block_ids``, or, as older ones have it, ``core_memory``. No
documented agent file holds passages; one with ``passages`` is read as a list of them.
Sources: docs.letta.com/api/resources/agents/subresources/passages (list), .../archives/subresources/passages (create),
docs.letta.com/guides/core-concepts/agent-file; letta-ai/letta-python ``src/letta_client/types/passage.py``,
letta-ai/letta ``letta/schemas/agent_file.py``, ``letta/serialize_schemas/pydantic_agent_schema.py``.

Mapping: ``agent_id`` is the agent where it has the form of one; of a block it is the name of each agent that holds it,
where that has the form. Tags, ids, label and every other field are kept as ``letta.<field>``. A deleted passage is not
taken. ``embedding`` and ``embedding_config`` are left out: Letta pads its vectors, so that they compare with no other.

Written: lines of JSON, each the body of one create (``POST /v1/archives/{archive_id}/passages``): ``text``,
``created_at``, ``tags``, ``metadata``. What it has no field for stands in the metadata (see ``envelope``). Not carried:
vectors; and no agent file is written, which is a whole agent and not its memories.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from app.limits import is_id
from app.model import Json, format_moment, to_json
from app.transfer.formats.entries import Fields, are_names, finished, native
from app.transfer.formats.envelope import packed
from app.transfer.formats.form import Dialect, Flaw, Format, Located, Untaken, listed
from app.transfer.formats.reading import records
from app.transfer.record import Record

NAME = "letta"

_HOLDERS = ("passages", "blocks", "core_memory")


def read(stream: TextIO, agent_id: str) -> Iterator[Record | Flaw]:
    """Read passages, or the blocks of an agent file."""
    return records(stream, agent_id, Dialect(NAME, _entries, _take))


def write(records_: Iterable[Record]) -> Iterator[str]:
    """Write the bodies of creates."""
    return (f"{to_json(_passage(record))}\n" for record in records_)


def _entries(value: Json) -> Sequence[Located] | None:
    holders = [field for field in _HOLDERS if isinstance(value, Mapping) and isinstance(value.get(field), list)]
    if not isinstance(value, Mapping) or not holders:
        return listed(value, within=(), marks=["text"])
    found = [located for field in holders for located in listed(value, within=[field], marks=()) or ()]
    return [(place, one) for place, entry in found for one in _held(entry, value)]


def _held(entry: Json, file: Mapping[str, Json]) -> Sequence[Json]:
    """Give a block to each agent of the file that holds it and whose name can be an agent's id."""
    if not isinstance(entry, Mapping) or "text" in entry:
        return [entry]
    agents = file.get("agents")
    names = [name for agent in (agents if isinstance(agents, list) else [file]) if (name := _name(agent, entry))]
    return [{**entry, "agent_id": name} for name in dict.fromkeys(names)] or [entry]


def _name(agent: Json, block: Mapping[str, Json]) -> str | None:
    if not isinstance(agent, Mapping):
        return None
    ids = agent.get("block_ids")
    holds = block.get("id") in ids if isinstance(ids, list) else "core_memory" in agent
    name = agent.get("name")
    return str(name) if holds and is_id(name) else None


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    if fields.take("is_deleted") is True:
        raise Untaken("is deleted")
    fields.drop("embedding", "embedding_config")
    fields.drop_repeated("updated_at", of="created_at")
    if fields.peek("tags") == []:
        fields.drop("tags")
    named = fields.peek("agent_id")
    if is_id(named):
        fields.drop("agent_id")
    record = Record(
        agent_id=str(named) if is_id(named) else agent_id,
        content=fields.content("text", "value"),
        metadata=fields.metadata("metadata", "metadata_"),
        created_at=fields.moment("created_at"),
    )
    return finished(record, NAME, fields.left())


def _passage(record: Record) -> dict[str, Json]:
    own, metadata = native(record.metadata, NAME, {"tags": are_names})
    created = {} if record.created_at is None else {"created_at": format_moment(record.created_at)}
    return {"text": record.content, **created, **own, "metadata": packed(record, metadata, carried={"created_at"})}


FORMAT = Format(NAME, read, write)
