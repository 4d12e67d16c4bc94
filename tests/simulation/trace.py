"""What happened in a simulation, in order: to show where it went wrong, and that a seed runs the same again."""

import hashlib

from tests.simulation import clock

Line = tuple[object, ...]
_WIDTH = 240


class Trace:
    """Every operation, call, answer and moment. Nothing that is noted may depend on real time or on a hash seed."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def note(self, *what: object) -> None:
        self._lines.append((round(clock.now(), 6), *what))

    def __len__(self) -> int:
        return len(self._lines)

    def digest(self) -> str:
        """Return one value that differs wherever two runs differ."""
        digest = hashlib.sha256()
        for line in self._lines:
            digest.update(repr(line).encode())
        return digest.hexdigest()

    def about(self, *words: str, most: int = 60) -> str:
        """Show the last lines that name one of these."""
        lines = [text[:_WIDTH] for text in map(str, self._lines) if any(word in text for word in words)]
        return "\n".join(lines[-most:])
