"""Refuses what no memory can be, whoever proposes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.services.learning.transcript import Line

MAX_CONTENT = 1_000
"""Characters of a memory that is learned."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A memory that was proposed and is none."""

    content: str
    """What it says, or the beginning of it."""
    message_ids: Sequence[str]
    """The messages of the lines that it cites, as far as they exist."""
    reason: str


def whats_wrong(content: str, cited: Sequence[Line]) -> str:
    """Return why a statement can be no memory of the lines that it cites; "" where it may be one."""
    if not any(letter.isalpha() for letter in content):
        return "It says nothing."
    if len(content) > MAX_CONTENT:
        return f"It is longer than {MAX_CONTENT} characters."
    if "<<<" in content or ">>>" in content:
        return "It holds the fence of the prompt."
    del cited
    return ""
