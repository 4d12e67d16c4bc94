"""Memories of an import before they are stored: their batches, their ids, and the rows that are there of them."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.domain.embedding import Vector
from app.domain.json_types import same_json
from app.domain.memory import superseded_hash
from app.ports.database import Row
from app.services.transfer.record import Record
from app.services.transfer.report import ImportLine
from app.storage.batches import Bulk
from app.storage.scoped import ScopedStatement

T = TypeVar("T")

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TO_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _CROCKFORD.encode())
_TIME_CHARACTERS = 10
BATCH_BYTES = 800_000
"""The bytes of the lines of one batch at most, by their sizes."""
_CANDIDATES = 3
_ORDERED_BYTES = 5
"""The bytes of a content's hash in an id: the rest of its random part tells tenants and agents apart."""
_COMPARED = ("agent_id", "created_at", "expires_at", "content", "session_id", "occurred_at")


@dataclass(slots=True, kw_only=True)
class MemoryImportLine(ImportLine):
    """A line with a memory."""

    record: Record
    candidates: Sequence[str]
    """The ids that the memory may be stored under."""
    at: int = 0
    """When the memory is stored, unless the record has a ``created_at`` (ms since the epoch)."""
    stored_id: str = ""
    """The id under which the memory is to be stored."""
    undoes: int = 0
    """The revision of the deletion under way that storing the memory undoes; 0: no deletion."""
    vector: Vector | None = None
    embedded: bool = False
    """Whether the vector was made for the import."""

    @property
    def first_id(self) -> str:
        """The id that the memory is stored under, if it is free."""
        return self.candidates[0]

    @property
    def content(self) -> tuple[str, str]:
        """The agent and the hash of the content: only one memory has both."""
        return self.record.agent_id, self.record.content_hash


@dataclass(frozen=True, slots=True)
class ExistingRows:
    """The rows that the database has of a batch's ids and contents."""

    own: Mapping[str, Row]
    taken: frozenset[str]
    holders: Mapping[int, str]
    removed: Mapping[str, tuple[str | None, int]] = field(default_factory=dict)

    def free(self, line: MemoryImportLine) -> str | None:
        """Return the first id that the tenant may use for the line's agent, or uses already; None without such an id.

        A memory that is moved to another agent does not take the id of another agent's memory.
        """
        agent_id = line.record.agent_id
        for id_ in line.candidates:
            others = line.moved and id_ in self.own and self.own[id_]["agent_id"] != agent_id
            if not others and id_ not in self.taken and self.removed.get(id_, (agent_id, 0))[0] == agent_id:
                return id_
        return None

    def has(self, line: MemoryImportLine) -> bool:
        """Tell whether the agent has the same memory, equal in every field, under one of its candidates."""
        record = line.record
        for id_ in line.candidates:
            row = self.own.get(id_)
            if row is None or row["agent_id"] != record.agent_id:
                continue
            alike = row["content_hash"] in {record.identity, superseded_hash(record.identity, id_)}
            times = record.created_at in {None, row["created_at"]} and record.expires_at == row["expires_at"]
            if alike and times and same_json(json.loads(str(row["metadata"])), record.metadata):
                return True
        return False


def batches(lines: Sequence[MemoryImportLine], most: int) -> Iterator[list[MemoryImportLine]]:
    """Group lines into batches. Several batches are in the order of their ids, so that each has consecutive ids.

    Lines with the same content or the same id stay in the order of the file, since the first of them is stored.
    """
    if len(lines) > most:
        firsts: dict[tuple[str, str], str] = {}
        lines = sorted(lines, key=lambda line: firsts.setdefault(line.content, line.first_id))
    return grouped(lines, lambda line: line.size, most, BATCH_BYTES)


def grouped(items: Iterable[T], size: Callable[[T], int], most: int, most_bytes: int) -> Iterator[list[T]]:
    """Group items in their order: a group has at most ``most`` items, and ``most_bytes`` bytes or one item."""
    group: list[T] = []
    taken = 0
    for item in items:
        item_bytes = size(item)
        if group and (len(group) == most or taken + item_bytes > most_bytes):
            yield group
            group, taken = [], 0
        group.append(item)
        taken += item_bytes
    if group:
        yield group


def candidates(tenant_id: str, record: Record, *, moved: bool = False) -> list[str]:
    """Return the ids a memory may be stored under, in the order in which they are tried.

    An id is unique over all tenants. Where another tenant has the id, the memory gets an id that follows from its own
    tenant and the first id, so that a later import finds the memory. A tenant that guesses and takes this id takes only
    the first of several. Where a memory is ``moved`` from one agent to another, the ids follow from the new agent too.
    """
    if record.id is not None:
        return id_candidates(tenant_id, record.agent_id, record.id, moved=moved)
    own = _random_part(tenant_id, record.agent_id, record.content_hash)
    # The order of such ids is the order of the contents' hashes too, which another index has.
    ordered = _crockford(bytes.fromhex(record.content_hash)[:_ORDERED_BYTES])
    first = _time(record) + ordered + own[: len(own) - len(ordered)]
    earlier = _time(record) + own  # the id from earlier versions, under which the memory may be there
    return [*id_candidates(tenant_id, record.agent_id, first, moved=moved), earlier]


def id_candidates(tenant_id: str, agent_id: str, first: str, *, moved: bool) -> list[str]:
    """Return the ids under which the agent may have the memory whose line has the id ``first``."""
    whose = (tenant_id, agent_id) if moved else (tenant_id,)
    ids = [first]
    while len(ids) < _CANDIDATES:
        ids.append(ids[-1][:_TIME_CHARACTERS] + _random_part(*whose, ids[-1]))
    return ids


def look_up(bulk: Bulk, lines: Sequence[MemoryImportLine]) -> list[ScopedStatement]:
    """Make the statements whose results ``existing`` reads."""
    ids = sorted({id_ for line in lines for id_ in line.candidates})
    return [bulk.by_id(ids), bulk.taken(ids), bulk.by_content([line.content for line in lines]), bulk.removed(ids)]


def existing(results: Sequence[Sequence[Row]]) -> ExistingRows:
    """Read the results of the statements of ``look_up``."""
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


def judge(lines: Sequence[MemoryImportLine], there: ExistingRows) -> list[MemoryImportLine]:
    """Settle the lines whose memories are not new, and return the other lines with their ids."""
    new: dict[str, MemoryImportLine] = {}
    contents: dict[tuple[str, str], MemoryImportLine] = {}
    for number, line in enumerate(lines):
        if there.has(line):
            line.settle("unchanged")
            continue
        free = there.free(line)
        if free is None:
            line.settle("rejected", "its id cannot be used")
        elif free in new and _same(line.record, new[free].record):
            line.settle("unchanged")
        elif free in there.own or free in new:
            line.settle("conflict", "another memory has this id")
        elif number in there.holders or line.content in contents:
            holder = there.holders.get(number) or contents[line.content].id
            line.settle("duplicate", "the agent has this content" + (f" as {holder}" if holder else ""))
        else:
            line.stored_id, line.undoes = free, there.removed.get(free, (None, 0))[1]
            new[free] = contents[line.content] = line
    return list(new.values())


def _same(one: Record, other: Record) -> bool:
    alike = all(getattr(one, name) == getattr(other, name) for name in _COMPARED)
    return alike and same_json(one.metadata, other.metadata)


def _time(record: Record) -> str:
    moment = 0 if record.created_at is None else max(0, min(record.created_at, 2**48 - 1))
    return "".join(_CROCKFORD[moment >> shift & 31] for shift in range(45, -1, -5))


def _random_part(*what: str) -> str:
    """Return 80 bits that follow from texts, as the second part of a ULID."""
    digest = hashlib.sha256("\0".join(what).encode()).digest()
    return _crockford(digest[:10])


def _crockford(data: bytes) -> str:
    return base64.b32encode(data).translate(_TO_CROCKFORD).decode()
