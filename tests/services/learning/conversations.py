"""Conversations and answers for the tests of learning."""

from collections.abc import Sequence

from app.domain.learned import Proposal
from app.domain.messages import Role
from app.services.learning.extracting import Extracted, ExtractedMemory
from app.services.learning.transcript import TranscriptLine

MARK = "5f1c0e7a"
MONDAY = 1_777_899_600_000
"""2026-05-04 13:00 UTC."""
DAY_MS = 86_400_000


def line(
    content: str, number: int = 1, role: Role = "user", said_at: int = MONDAY, *, context: bool = False
) -> TranscriptLine:
    return TranscriptLine(number, f"m{number}", role, content, said_at, context)


def conversation(*contents: str) -> list[TranscriptLine]:
    return [line(content, number) for number, content in enumerate(contents, 1)]


def said(statement: str, *lines: int, day: str = "") -> ExtractedMemory:
    return ExtractedMemory(statement, list(lines), day)


def answer(*memories: ExtractedMemory) -> Extracted:
    return Extracted(list(memories))


def proposed(content: str, *ids: str, happened_at: int | None = None) -> Proposal:
    return Proposal(content, list(ids) or ["m1"], happened_at)


def lengths(number: int, characters: int) -> Sequence[tuple[str, int]]:
    return [(f"m{place}", characters) for place in range(number)]
