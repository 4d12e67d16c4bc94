"""What the model is shown of files and directories, in the words of the memory tool's documentation."""

from collections.abc import Sequence

from memory_gateway_client.adapters.anthropic.files import File
from memory_gateway_client.adapters.anthropic.paths import Place

MAX_LISTED = 1000
"""Lines of one listing."""

_LEVELS = 2
_AROUND = 2
"""Lines that are shown before and after one that was changed."""
_NUMBER_WIDTH = 6
_UNIT = 1024


def listing(directory: Place, files: Sequence[File]) -> str:
    """Show what is in a directory, two levels deep, with sizes; that of a directory is of all files in it.

    Args:
        directory: Which.
        files: All files in it, at any depth.
    """
    sizes: dict[Place, tuple[bool, int]] = {}
    depth = len(directory.names)
    for file in files:
        names = file.place.names[depth:]
        for level, name in enumerate(names[:_LEVELS], start=1):
            if name.startswith(".") or name == "node_modules":
                break
            at = Place(file.place.names[: depth + level])
            sizes[at] = (level < len(names), sizes.get(at, (False, 0))[1] + file.size)
    lines = [f"{_size(size)}\t{at}{'/' if is_directory else ''}" for at, (is_directory, size) in sorted(sizes.items())]
    more = (
        [f"({len(lines) - MAX_LISTED} more are not shown: view a directory in it)"] if len(lines) > MAX_LISTED else []
    )
    shown = f"Here're the files and directories up to 2 levels deep in {directory}"
    header = f"{shown}, excluding hidden items and node_modules:"
    return "\n".join([header, f"{_size(sum(file.size for file in files))}\t{directory}", *lines[:MAX_LISTED], *more])


def content(file: File, first: int, last: int | None) -> str:
    """Show the lines of a file from ``first`` to ``last``, counted from 1."""
    shown = _numbered(file.text.split("\n"), first, last)
    return f"Here's the content of {file.place} with line numbers:\n{shown}"


def edited(text: str, position: int) -> str:
    """Show the lines around the place in a text where something was replaced."""
    changed = text[:position].count("\n") + 1
    shown = _numbered(text.split("\n"), max(1, changed - _AROUND), changed + _AROUND)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"


def _numbered(lines: Sequence[str], first: int, last: int | None) -> str:
    numbered = enumerate(lines[first - 1 : last], start=first)
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in numbered)


def _size(bytes_: int) -> str:
    """Write a size as the SDK's own tool does: ``17B``, ``1.5K``, ``2M``."""
    unit = min(max(bytes_.bit_length() - 1, 0) // 10, 3)
    size = bytes_ / _UNIT**unit
    return f"{size:.0f}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
