"""A batch of an import: its lines, what the database knows of them, and what is to become of each."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.embedding import Vector
from app.domain.memory import superseded_hash
from app.ports.database import Row
from app.services.transfer.lines import same
from app.services.transfer.record import Record
from app.services.transfer.report import Status
from app.storage.batches import Bulk
from app.storage.scoped import ScopedStatement

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TO_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _CROCKFORD.encode())
_TIME_CHARACTERS = 10
BATCH_BYTES = 800_000
"""Of the lines of one batch, as their sizes tell."""
_CANDIDATES = 3
_ORDERED_BYTES = 5
"""Of a content's hash: what is left of the random part of an id tells tenants and agents apart."""


@dataclass(slots=True)
class ImportLine:
    """One line: a memory, or what is wrong with the line; and what became of it."""

    number: int
    record: Record | None = None
    candidates: Sequence[str] = ()
    told_id: str | None = None
    status: Status | None = None
    detail: str | None = None
    id: str = ""
    """Under which id it is to be stored."""
    undoes: int = 0
    """The revision of the deletion under way that storing it undoes; 0: of none."""
    vector: Vector | None = None
    embedded: bool = False
    size: int = 0
    """What it takes in a statement, in bytes, about."""
    at: int = 0
    """When it is stored, unless the record says so (ms since the epoch)."""
    moved: bool = False
    """Whether the line names another agent than the one that its memory is imported to."""

    def settle(self, status: Status, detail: str | None = None) -> None:
        """Say what became of it."""
        self.status, self.detail = status, detail


@dataclass(frozen=True, slots=True)
class ExistingRows:
    """What the database has of a batch's ids and contents."""

    own: Mapping[str, Row]
    taken: frozenset[str]
    holders: Mapping[int, str]
    removed: Mapping[str, tuple[str | None, int]] = field(default_factory=dict)

    def free(self, id_: str, agent_id: str, *, moved: bool = False) -> bool:
        """Whether the tenant may use the id for this agent, or does so already.

        A memory that is ``moved`` from one agent to another leaves the first agent's memory its id.
        """
        if moved and id_ in self.own and self.own[id_]["agent_id"] != agent_id:
            return False
        return id_ not in self.taken and (id_ not in self.removed or self.removed[id_][0] == agent_id)


def batches(entries: Sequence[ImportLine], lines: int) -> Iterator[list[ImportLine]]:
    """Group entries into batches; where there are several, in the order of their ids, so that each has ids in a row.

    Those with the same content or the same id stay in the order of the file, since the first of them is the one that is
    stored.
    """
    if len(entries) > lines:
        firsts: dict[tuple[str, str], str] = {}
        contents = [("", "") if entry.record is None else _content(entry.record) for entry in entries]
        keys = [firsts.setdefault(one, entry.candidates[0]) for one, entry in zip(contents, entries, strict=True)]
        entries = [entries[number] for number in sorted(range(len(entries)), key=keys.__getitem__)]
    batch: list[ImportLine] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == lines or size + entry.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def candidates(tenant_id: str, record: Record, *, moved: bool = False) -> list[str]:
    """Return the ids a memory may be stored under, in the order in which they are tried.

    An id is unique over all tenants. Should another one have it, the memory gets one that follows from its tenant
    and its id, so that importing it again finds it; and who could guess that one has taken nothing but the first.
    Where a memory is ``moved`` from one agent to another, it follows from the other agent too.
    """
    first = _id_of(tenant_id, record) if record.id is None else record.id
    ids = id_candidates(tenant_id, record.agent_id, first, moved=moved)
    return ids if record.id is not None else [*ids, _earlier_id_of(tenant_id, record)]


def id_candidates(tenant_id: str, agent_id: str, first: str, *, moved: bool) -> list[str]:
    """Return the ids under which the agent may have the memory that has the ``first`` of them in its line."""
    whose = (tenant_id, agent_id) if moved else (tenant_id,)
    ids = [first]
    while len(ids) < _CANDIDATES:
        ids.append(ids[-1][:_TIME_CHARACTERS] + _random_part(*whose, ids[-1]))
    return ids


def _id_of(tenant_id: str, record: Record) -> str:
    """Return the id of a memory that brings none: its moment, the beginning of its content's hash, and who has it.

    Memories in the order of such ids are in that of their contents' hashes too, by which another index has them.
    """
    own = _random_part(tenant_id, record.agent_id, record.content_hash)
    ordered = _crockford(bytes.fromhex(record.content_hash)[:_ORDERED_BYTES])
    return _time(record) + ordered + own[: len(own) - len(ordered)]


def _earlier_id_of(tenant_id: str, record: Record) -> str:
    """Return the id that versions before gave it, under which it may be there."""
    return _time(record) + _random_part(tenant_id, record.agent_id, record.content_hash)


def _time(record: Record) -> str:
    moment = 0 if record.created_at is None else max(0, min(record.created_at, 2**48 - 1))
    return "".join(_CROCKFORD[moment >> shift & 31] for shift in range(45, -1, -5))


def look_up(bulk: Bulk, entries: Sequence[ImportLine]) -> list[ScopedStatement]:
    """Make the statements that ``known`` reads."""
    ids = sorted({id_ for entry in entries for id_ in entry.candidates})
    contents = [(entry.record.agent_id, entry.record.content_hash) for entry in entries if entry.record is not None]
    return [bulk.by_id(ids), bulk.taken(ids), bulk.by_content(contents), bulk.removed(ids)]


def known(results: Sequence[Sequence[Row]]) -> ExistingRows:
    """Read what ``look_up`` asked."""
    own, taken, holders, removed = results
    return ExistingRows(
        own={str(row["id"]): row for row in own},
        taken=frozenset(str(row["id"]) for row in taken),
        holders={int(row["line"] or 0): str(row["id"]) for row in holders},
        removed={
            str(row["id"]): (None if row["agent_id"] is None else str(row["agent_id"]), int(row["revision"] or 0))
            for row in removed
        },
    )


def judge(entries: Sequence[ImportLine], known: ExistingRows) -> list[ImportLine]:
    """Settle every entry but those that are new, and return these with their ids; all have a record."""
    new: dict[str, ImportLine] = {}
    contents: dict[tuple[str, str], ImportLine] = {}
    for number, entry in enumerate(entries):
        record = entry.record
        if record is None or _is_there(entry, known):
            continue
        free = next((id_ for id_ in entry.candidates if known.free(id_, record.agent_id, moved=entry.moved)), None)
        content = (record.agent_id, record.content_hash)
        if free is None:
            entry.settle("rejected", "its id cannot be used")
        elif free in known.own or free in new:
            entry.settle(*_against(entry, new.get(free)))
        elif number in known.holders or content in contents:
            holder = known.holders.get(number) or contents[content].told_id
            entry.settle("duplicate", "the agent has this content" + (f" as {holder}" if holder else ""))
        else:
            entry.id, entry.undoes = free, known.removed.get(free, (None, 0))[1]
            new[free] = contents[content] = entry
    return list(new.values())


def _content(record: Record) -> tuple[str, str]:
    return record.agent_id, record.content_hash


def _against(entry: ImportLine, earlier: ImportLine | None) -> tuple[Status, str | None]:
    """Compare an entry with what has its id: another memory, or an earlier line of the batch."""
    if earlier is not None and earlier.record is not None and entry.record is not None:
        one, other = earlier.record, entry.record
        alike = one.agent_id == other.agent_id and (one.created_at, one.expires_at, one.content, one.session_id) == (
            other.created_at,
            other.expires_at,
            other.content,
            other.session_id,
        )
        if alike and one.occurred_at == other.occurred_at and same(one.metadata, other.metadata):
            return "unchanged", None
    return "conflict", "another memory has this id"


def _is_there(entry: ImportLine, known: ExistingRows) -> bool:
    """Settle an entry whose memory is there in every respect, under one of its candidates."""
    record = entry.record
    for id_ in entry.candidates:
        row = known.own.get(id_)
        if row is None or record is None:
            continue
        held_as = (record.identity, superseded_hash(record.identity, id_))
        alike = row["agent_id"] == record.agent_id and row["content_hash"] in held_as
        times = record.created_at in {None, row["created_at"]} and record.expires_at == row["expires_at"]
        if alike and times and same(json.loads(str(row["metadata"])), record.metadata):
            entry.settle("unchanged")
            return True
    return False


def _random_part(*what: str) -> str:
    """Return 80 bits that follow from what is given, as the second part of a ULID."""
    digest = hashlib.sha256("\0".join(what).encode()).digest()
    return _crockford(digest[:10])


def _crockford(data: bytes) -> str:
    return base64.b32encode(data).translate(_TO_CROCKFORD).decode()
