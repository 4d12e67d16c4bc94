"""What a guard finds of a statement beside one line of a user, said on Tuesday, 10 March 2026."""

from app.grounding import Checker, Source
from tests.grounding.pairs import noon


def found(guard: str, statement: str, *lines: str, speaker: str = "user") -> list[str]:
    """Return what a guard rejects, as the statement has it."""
    sources = [Source(line, noon("2026-03-10"), speaker) for line in lines]
    return [each.text for each in Checker().check(statement, sources, guards=[guard]).ungrounded]
