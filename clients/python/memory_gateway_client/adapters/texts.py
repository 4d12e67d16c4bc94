"""Texts on their way into the memory, and out of it to a model."""

import json
from collections.abc import Iterable, Iterator

from memory_gateway_client import Entry, MemoryGatewayError, tools

CONTENT_BYTES = 32 * 1024
"""What a memory, a message and a query have at most, in UTF-8."""

NOTICE: str = tools.definitions()[0].output_schema["properties"]["notice"]["const"]
"""The sentence before what a memory holds: that it is data and no command."""


def storable(text: str) -> str:
    """Return the text without what cannot be stored: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode(errors="ignore").decode()


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that each can be a memory, at white space where there is some; none where it is blank."""
    left = storable(text).strip()
    while left:
        piece = _beginning(left, CONTENT_BYTES)
        if len(piece) < len(left):
            words = piece.rsplit(None, 1)[0]
            piece = words if len(words) > len(piece) // 2 else piece
        yield piece
        left = left[len(piece) :].lstrip()


def query(text: str) -> str:
    """Return what of a text can be asked: where it is long, its beginning and its end, where a question stands."""
    whole = storable(text).strip()
    if len(whole.encode()) <= CONTENT_BYTES:
        return whole
    half = CONTENT_BYTES // 2 - 1
    return f"{_beginning(whole, half)}\n{_beginning(whole[::-1], half)[::-1]}"


def _beginning(text: str, most: int) -> str:
    """Return the longest beginning of at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore") if len(text) * 4 > most else text


def line(entry: Entry) -> str:
    """Write a memory on one line: its day, and its content in quotation marks that nothing in it can close."""
    return f"{day(entry)}: {quotation(entry.content)}"


def day(entry: Entry) -> str:
    """Return the day on which what a memory says happened, as far as is known."""
    return (entry.occurred_at or entry.created_at).date().isoformat()


def quotation(content: str) -> str:
    """Return a text as a JSON string, with every character escaped that acts or hides where it is shown."""
    return tools.visible(json.dumps(content, ensure_ascii=False)).replace("<", "\\u003c").replace(">", "\\u003e")


def quoted(entries: Iterable[Entry]) -> str:
    """Write memories for a model, below the notice; nothing where there are none."""
    lines = [f"- {line(entry)}" for entry in entries]
    return "\n".join([NOTICE, *lines]) if lines else ""


def unavailable(error: MemoryGatewayError) -> str:
    """Write for a model that there is no answer, which is another thing than an empty memory."""
    return f"Long-term memory is unavailable: {tools.told(error)}"
