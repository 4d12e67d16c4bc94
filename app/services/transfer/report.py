"""What became of each line of an import, kept in a temporary file until all of it has been read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Literal, TypeAlias

from app.domain.json_types import Json, to_json

Status: TypeAlias = Literal["imported", "unchanged", "duplicate", "conflict", "rejected"]
"""What became of a line.

- ``imported``: the memory is new.
- ``unchanged``: it was there already, the same in everything.
- ``duplicate``: the agent has this content under another id.
- ``conflict``: its id is that of another memory.
- ``rejected``: the line cannot be taken, for the reason it is told with.
"""
STATUSES: tuple[Status, ...] = ("imported", "unchanged", "duplicate", "conflict", "rejected")
Ending: TypeAlias = Literal["holds", "wrong", "missing"]
"""Whether the closing line says of the lines before it what they are."""

MAX_REJECTED_LISTED = 1000
"""Rejected lines that a report lists; more of them are only counted: a line of a byte would get a line of 60."""

_MAX_AGENTS = 1000
"""Agents whose memories and rows a report counts one by one."""
_IN_MEMORY = 256 * 1024
_CHUNK = 64 * 1024


@dataclass(slots=True)
class ImportLine:
    """A line of an import, and what became of it: it is settled from the first where it cannot be taken."""

    number: int
    id: str | None
    """The id that its line has."""
    status: Status | None = None
    detail: str | None = None
    agent_id: str | None = None
    """Whom its memory or its row is imported to; None: all agents."""
    size: int = 0
    """What it takes in a statement, in bytes, about."""
    moved: bool = False
    """Whether the line names another agent than the one that it is imported to."""

    def settle(self, status: Status, detail: str | None = None) -> None:
        """Say what became of it."""
        self.status, self.detail = status, detail

    @property
    def first_id(self) -> str:
        """The first of the ids by which lines are stored in order; most need none."""
        return ""


class ImportReport:
    """Takes lines in their order and gives them back, with a summary, once all are there."""

    def __init__(self) -> None:
        """Begin with none."""
        self.counts: Counter[Status] = Counter()
        self.agents: Counter[str] = Counter()
        """How many memories and rows were imported to each agent; the agents beyond the first thousand are left out."""
        self.listable = MAX_REJECTED_LISTED
        """How many rejected lines may still be listed; those beyond are only counted."""
        self.lines = 0
        self.manifest = False
        self.end: Ending = "missing"
        self._file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by whoever made the report

    def add(self, line: ImportLine) -> None:
        """Note what became of a line, and to which agent a memory or a row was imported."""
        status, agent_id = line.status or "rejected", line.agent_id
        self.counts[status] += 1
        if status == "imported" and agent_id and (agent_id in self.agents or len(self.agents) < _MAX_AGENTS):
            self.agents[agent_id] += 1
        if status == "rejected":
            if not self.listable:
                return
            self.listable -= 1
        fields: dict[str, Json] = {"line": line.number, "id": line.id, "status": status, "detail": line.detail}
        given = {name: value for name, value in fields.items() if value is not None}
        self._file.write(to_json(given).encode() + b"\n")

    def count_rejected(self, times: int) -> None:
        """Count rejected lines that are not listed."""
        self.counts["rejected"] += times

    @property
    def summary(self) -> dict[str, Json]:
        """The counts, and whether the file was whole."""
        counts: dict[str, Json] = {status: self.counts[status] for status in STATUSES}
        summary: dict[str, Json] = {"type": "summary", "lines": self.lines, **counts}
        if (unlisted := self.counts["rejected"] - MAX_REJECTED_LISTED) > 0:
            summary["rejected_unlisted"] = unlisted
        return summary | {"manifest": self.manifest, "end": self.end}

    @property
    def flawless(self) -> bool:
        """Whether every line was taken, and none is missing."""
        return self.end == "holds" and not self.counts["rejected"] and not self.counts["conflict"]

    def chunks(self) -> Iterator[bytes]:
        """Yield the report, line by line as they were added, and the summary."""
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk
        yield to_json(self.summary).encode() + b"\n"

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
