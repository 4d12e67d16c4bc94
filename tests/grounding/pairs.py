"""The labelled pairs of statements and the lines that they cite."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.grounding import Checker, Source, Ungrounded


@dataclass(frozen=True)
class Pair:
    """A statement, its sources, and whether they support it."""

    statement: str
    sources: Sequence[Source]
    supported: bool
    kind: str
    language: str

    @property
    def found(self) -> list[Ungrounded]:
        """What guards find."""
        return ungrounded(self.statement, self.sources)


def ungrounded(statement: str, sources: Sequence[Source]) -> list[Ungrounded]:
    """Return what guards find of a statement."""
    return list(Checker().check(statement, sources).ungrounded)


def pairs(name: str) -> list[Pair]:
    """Read a file of pairs."""
    lines = Path(f"tests/data/grounding/{name}.jsonl").read_text("utf-8").splitlines()
    return [
        Pair(
            each["statement"],
            [Source(line["text"], noon(line["said"]), line["speaker"]) for line in each["sources"]],
            each["label"] == "supported",
            each["kind"],
            each["language"],
        )
        for each in map(json.loads, lines)
    ]


def noon(day: str) -> int:
    """Return noon of a day, in ms since the epoch."""
    return int(datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC).timestamp() * 1000)
