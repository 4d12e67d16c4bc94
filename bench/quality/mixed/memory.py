"""What the data set is made of before it gets its ids."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, get_args

Kind = Literal["calendar", "sms", "note", "chat"]

KINDS: tuple[Kind, ...] = get_args(Kind)
OWNER = "Maren"
"""Whose phone it is."""
FIRST_DAY = date(2025, 6, 1)
LAST_DAY = date(2026, 5, 31)
ASKED_AT = "2026-06-01T09:00:00Z"


class StoryInvalid(Exception):
    """A data file is not in its form; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory that has no id yet."""

    kind: Kind
    date: datetime
    text: str
    speaker: str = ""
    session: str = ""
    place: int = 0
    """Its place within its session, for two turns of the same second."""
    tag: str = ""
    """The name by which a question refers to it; most have none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and the tags of its evidence: none where nothing answers it."""

    category: str
    text: str
    tags: tuple[str, ...]


def moment(day: str, clock: str) -> datetime:
    """Read a day such as ``2025-07-03`` and a time such as ``18:20`` as UTC."""
    return datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=UTC)


def session_id(kind: Kind, contact: str, start: datetime) -> str:
    """Name a session: one for each contact and day by SMS, one for each contact and start in a chat."""
    name = "-".join("".join(c if c.isalnum() else " " for c in contact.lower()).split())
    stamp = f"{start:%Y%m%d}" if kind == "sms" else f"{start:%Y%m%d-%H%M}"
    return f"{kind}-{name}-{stamp}"


def typing_seconds(text: str) -> int:
    """How long after the turn before it a chat turn comes: longer ones take longer to write."""
    return 18 + len(text) // 2
