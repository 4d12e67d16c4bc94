"""Paths below ``/memories`` as a model writes them."""

import re
from dataclasses import dataclass

MAX_BYTES = 512
"""Of a path in UTF-8."""
MAX_LEVELS = 8
"""Of names below ``/memories``."""

_ROOT = "/memories"
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPING = re.compile(r"\\|%(2e|2f|5c)", re.IGNORECASE)


class NotAPath(ValueError):
    """What a model wrote names nothing below ``/memories``; the message is for the model."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place below ``/memories``: the names on the way to it; none of them is ``/memories`` itself."""

    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write it as a path."""
        return "/".join((_ROOT, *self.names))

    @property
    def above(self) -> "list[Place]":
        """The directories on the way to it, outermost first, without ``/memories``."""
        return [Place(self.names[:level]) for level in range(1, len(self.names))]

    def is_within(self, other: "Place") -> bool:
        """Whether it is the other one, or below it."""
        return self.names[: len(other.names)] == other.names

    def moved(self, old: "Place", new: "Place") -> "Place":
        """Return where it is once the directory ``old``, which it is in, is ``new``.

        Raises:
            NotAPath: that is too long.
        """
        return place(str(Place(new.names + self.names[len(old.names) :])))


def place(path: str) -> Place:
    """Read a path; slashes that are doubled, or at its end, mean nothing.

    Raises:
        NotAPath: it is not below ``/memories``, may lead out of it, is too long, or has hidden characters.
    """
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise NotAPath(f"Path must start with /memories, got: {path[:MAX_BYTES]}")
    names = tuple(name for name in path[len(_ROOT) :].split("/") if name)
    if _ESCAPING.search(path) or not {".", ".."}.isdisjoint(names):
        raise NotAPath(f"Path {path[:MAX_BYTES]} would escape /memories directory")
    if _HIDDEN.search(path):
        raise NotAPath("Path has characters that cannot be seen. Please provide a valid path.")
    if len(path.encode()) > MAX_BYTES or len(names) > MAX_LEVELS:
        raise NotAPath(f"Path is too long: at most {MAX_BYTES} bytes, and {MAX_LEVELS} names below /memories.")
    return Place(names)
