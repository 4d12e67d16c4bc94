"""Reads what the user and the assistant have said in a transcript of Claude Code."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Message = Mapping[str, str]

MAX_CONTENT_BYTES = 32 * 1024
"""Of one message: a longer one is divided."""

_TAG = re.compile(
    r"<(/?)(system-reminder|task-notification|user-prompt-submit-hook|(?:local-command|command|bash)-\w+)>"
)
"""What begins and ends a part of a user's message that Claude Code writes by itself."""
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\[\n]*\]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")
_ROLES = ("user", "assistant")


def messages(lines: Iterable[str | bytes]) -> Iterator[Message]:
    """Give what the user and the assistant have said, as messages that the service takes.

    Left out are results and calls of tools, thinking, what subagents say, and what Claude Code writes by itself, such
    as the summary of a compaction. A line that is no JSON is passed over.
    """
    for line in lines:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(said, dict) or not _is_said(said):
            continue
        text = _text(said["message"].get("content"))
        if said["type"] == "user":
            text = _INTERRUPTED.sub("", _without_tags(text))
        yield from divided(said["type"], text, said.get("timestamp"))


def given(listed: object) -> Iterator[Message]:
    """Give the messages that a harness hands over as a list: each has a role, a content and perhaps a timestamp.

    What is no message of the user or the assistant is passed over.
    """
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each.get("role") in _ROLES:
            yield from divided(each["role"], _text(each.get("content")), each.get("timestamp"))


def divided(role: str, text: str, moment: object) -> Iterator[Message]:
    """Give what was said as messages of at most ``MAX_CONTENT_BYTES``, divided where a line ends, else a word.

    The same text is always divided alike, so that its parts are the same messages.
    """
    dated = {"timestamp": moment} if isinstance(moment, str) and _MOMENT.fullmatch(moment) else {}
    text = text.strip()
    start = 0
    while start < len(text):
        part = text[start : start + MAX_CONTENT_BYTES].encode()[:MAX_CONTENT_BYTES].decode(errors="ignore")
        if start + len(part) < len(text):
            ends = (part.rfind(mark) for mark in ("\n", " "))
            part = part[: next((end for end in ends if end > len(part) // 2), len(part))]
        start += len(part)
        if part.strip():
            yield {"role": role, "content": part.strip(), **dated}


def _without_tags(text: str) -> str:
    """Leave out what stands between a tag of Claude Code and the next one that ends it, in one pass over the text."""
    tags = list(_TAG.finditer(text))
    ends: dict[str, list[int]] = {}
    for tag in reversed(tags):
        if tag[1]:
            ends.setdefault(tag[2], []).append(tag.end())
    parts, said = [], 0
    for tag in tags:
        closing = ends.get(tag[2], [])
        while closing and closing[-1] <= tag.end():
            closing.pop()
        if not tag[1] and closing and tag.start() >= said:
            parts.append(text[said : tag.start()])
            said = closing[-1]
    return "".join([*parts, text[said:]])


def _is_said(line: Mapping[str, Any]) -> bool:
    """Tell whether a line of the transcript is something that the user or the assistant has said."""
    message = line.get("message")
    return (
        line.get("type") in _ROLES
        and isinstance(message, dict)
        and message.get("model") != "<synthetic>"
        and not any(line.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage"))
    )


def _text(content: object) -> str:
    """Return the words of a message: a text, or the blocks of text among others."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    text = "\n\n".join(each for each in texts if isinstance(each, str))
    return _UNSTORABLE.sub("\ufffd", text)
