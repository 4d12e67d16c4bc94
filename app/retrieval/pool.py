"""The candidates of one recall, and who stands beside whom."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.json_types import Json
from app.ports.database import Row


@dataclass(slots=True)
class Candidate:
    """A memory that may be an entry."""

    id: str
    content: str
    metadata_json: str
    created_at: int
    happened_at: int
    session_id: str | None
    before: str | None
    """The memory before it in its session, which need not be a candidate."""
    bytes: int
    words: tuple[int, ...]
    """The numbers of the query's terms it holds."""
    expired: bool = False
    added: bool = False
    """Whether it is a candidate only because it was asked for."""
    after: str | None = None

    @property
    def metadata(self) -> Mapping[str, Json]:
        """What was stored with it."""
        read: Mapping[str, Json] = json.loads(self.metadata_json)
        return read


@dataclass(frozen=True)
class Pool:
    """Candidates by id, and of their scope how many memories it has, how long they are and how many hold a term."""

    candidates: Mapping[str, Candidate]
    memories: int = 0
    mean_bytes: float = 1.0
    found: Mapping[int, int] = field(default_factory=dict)

    def beside(self, candidate: Candidate, reach: int) -> Iterator[tuple[int, Candidate]]:
        """Give the candidates before and after one in its session, nearest first, with their distance."""
        for before in (True, False):
            id_ = candidate.before if before else candidate.after
            for distance in range(1, reach + 1):
                near = None if id_ is None else self.candidates.get(id_)
                if near is None:
                    break
                yield distance, near
                id_ = near.before if before else near.after

    @cached_property
    def sessions(self) -> Mapping[str, list[Candidate]]:
        """The candidates of each session."""
        sessions: dict[str, list[Candidate]] = {}
        for candidate in self.candidates.values():
            if candidate.session_id is not None:
                sessions.setdefault(candidate.session_id, []).append(candidate)
        return sessions


def read(rows: Iterable[Row]) -> Pool:
    """Make the pool of what ``app.storage.candidates`` has gathered."""
    candidates: dict[str, Candidate] = {}
    row: Row | None = None
    for row in rows:
        candidates[str(row["id"])] = Candidate(
            id=str(row["id"]),
            content=str(row["content"]),
            metadata_json=str(row["metadata"]),
            created_at=int(row["created_at"] or 0),
            happened_at=int(row["happened_at"] or 0),
            session_id=None if row["session_id"] is None else str(row["session_id"]),
            before=None if row["before"] is None else str(row["before"]),
            bytes=int(row["bytes"] or 0),
            words=_bits(int(row["words"] or 0)),
            expired=bool(row["expired"]),
            added=bool(row["added"]),
        )
    if row is None:
        return Pool({})
    for candidate in candidates.values():
        if candidate.before in candidates:
            candidates[candidate.before].after = candidate.id
    found = {int(term): count for term, count in json.loads(str(row["found"])).items()}
    return Pool(candidates, int(row["memories"] or 0), float(row["mean"] or 1), found)


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
