"""The status of each line of an import, kept in a temporary file until the whole import has been read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Literal, TypeAlias

from app.domain.json_types import Json, to_json

Status: TypeAlias = Literal["imported", "unchanged", "duplicate", "conflict", "rejected"]
"""The status of a line.

- ``imported``: the memory or the row is new.
- ``unchanged``: the tenant had the memory or the row already, the same in every field.
- ``duplicate``: the agent has this content under another id.
- ``conflict``: another memory has the id, or another row has the key.
- ``rejected``: the line cannot be taken, for the reason in its ``detail``.
"""
STATUSES: tuple[Status, ...] = ("imported", "unchanged", "duplicate", "conflict", "rejected")
Ending: TypeAlias = Literal["holds", "wrong", "missing"]
"""Whether the closing line agrees with the lines before it, or is missing."""

MAX_REJECTED_LISTED = 1000
"""Rejected lines that a report lists; further lines are only counted: a line of a byte would get a line of 60 bytes."""

_MAX_AGENTS = 1000
"""Agents for each of which a report counts memories and rows."""
_IN_MEMORY = 256 * 1024
_CHUNK = 64 * 1024


@dataclass(slots=True)
class ImportLine:
    """A line of an import with its status; a line that cannot be taken has its status from the start."""

    number: int
    id: str | None
    """The id of the memory or row, as the line has it."""
    status: Status | None = None
    detail: str | None = None
    agent_id: str | None = None
    """The agent that the memory or row is imported to; None: it belongs to all agents."""
    size: int = 0
    """How many bytes the line takes in a statement, about."""
    moved: bool = False
    """Whether the line names another agent than the one that it is imported to."""

    def settle(self, status: Status, detail: str | None = None) -> None:
        """Give the line its status."""
        self.status, self.detail = status, detail

    @property
    def first_id(self) -> str:
        """The id that orders lines which wait to be stored; empty where their order does not matter."""
        return ""


class ImportReport:
    """Takes lines in their order, and yields them with a summary once all lines are there."""

    def __init__(self) -> None:
        """Begin without lines."""
        self.counts: Counter[Status] = Counter()
        self.agents: Counter[str] = Counter()
        """How many memories and rows were imported to each agent; the agents beyond the first thousand are left out."""
        self.listable = MAX_REJECTED_LISTED
        """How many rejected lines may still be listed; further lines are only counted."""
        self.lines = 0
        self.manifest = False
        self.of_tenant: str | None = None
        """The tenant that the file is an export of, where that is another one."""
        self.end: Ending = "missing"
        self._file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - ``close`` closes it

    def add(self, line: ImportLine) -> None:
        """Take a line with its status, and count its memory or row for the agent that it was imported to."""
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
        """The counts, whether the file had a manifest and its closing line agrees, and which other tenant it is of."""
        counts: dict[str, Json] = {status: self.counts[status] for status in STATUSES}
        summary: dict[str, Json] = {"type": "summary", "lines": self.lines, **counts}
        if (unlisted := self.counts["rejected"] - MAX_REJECTED_LISTED) > 0:
            summary["rejected_unlisted"] = unlisted
        of_another: dict[str, Json] = {} if self.of_tenant is None else {"of_tenant": self.of_tenant}
        return summary | {"manifest": self.manifest, "end": self.end} | of_another

    @property
    def flawless(self) -> bool:
        """Whether every line was taken, and no line is missing."""
        return self.end == "holds" and not self.counts["rejected"] and not self.counts["conflict"]

    def chunks(self) -> Iterator[bytes]:
        """Yield the lines as they were added, then the summary."""
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk
        yield to_json(self.summary).encode() + b"\n"

    def close(self) -> None:
        """Close the temporary file."""
        self._file.close()
