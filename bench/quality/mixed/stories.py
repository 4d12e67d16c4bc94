"""Reads the story files, which are written by hand.

    == kitchen                                    a thread; the name is for the reader
    cal 2025-07-10 17:30 The text {tag}           a calendar entry
    note 2025-07-12 20:05 The text {tag}          a note; indented lines go on with it
      its second line
    sms Pete Marlowe 2025-07-14                   messages with one contact on one day
      09:12 < They write this
      09:40 > The owner writes that {tag}
    chat Jonas 2025-07-14 20:15                   a chat, from its start
      < They write this
      > The owner writes that
      Ruth| In a group, somebody says who it is
    ? single | The question | tag other-tag       no third part: nothing answers it

A line that begins with # is a remark.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from bench.quality.mixed.memory import OWNER, Ask, Draft, Kind, StoryInvalid, moment, session_id, typing_seconds

_TAG = re.compile(r"\s*\{([a-z0-9-]+)\}$")
_SINGLE = re.compile(r"(cal|note) (\d{4}-\d\d-\d\d) (\d\d:\d\d) (.+)")
_SMS = re.compile(r"sms (.+) (\d{4}-\d\d-\d\d)")
_CHAT = re.compile(r"chat (.+) (\d{4}-\d\d-\d\d) (\d\d:\d\d)")
_MESSAGE = re.compile(r"(\d\d:\d\d) ([<>]) (.+)")
_QUESTION = re.compile(r"\? (\S+) \| ([^|]+\S)(?: \| ([^|]+))?")
_TURN = re.compile(r"(<|>|[^|]+\|) (.+)")


@dataclass(slots=True)
class _Block:
    """A line that starts something, and the indented lines below it."""

    place: str
    head: str
    lines: list[str] = field(default_factory=list)


def read_stories(folder: Path) -> tuple[list[Draft], list[Ask]]:
    """Read every ``.txt`` file of a folder, in the order of their names.

    Raises:
        StoryInvalid: a line is not in the form.
    """
    drafts: list[Draft] = []
    asks: list[Ask] = []
    for file in sorted(folder.glob("*.txt")):
        for block in _blocks(file):
            if block.head.startswith("?"):
                asks.append(_ask(block))
            else:
                drafts.extend(_drafts(block))
    return drafts, asks


def _blocks(file: Path) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith(("#", "==")):
            continue
        if line.startswith("  "):
            if block is None:
                raise StoryInvalid(f"{file.name}:{number}: an indented line without a start")
            block.lines.append(line[2:].rstrip())
            continue
        if block is not None:
            yield block
        block = _Block(f"{file.name}:{number}", line.rstrip())
    if block is not None:
        yield block


def _ask(block: _Block) -> Ask:
    match = _QUESTION.fullmatch(block.head)
    if not match or block.lines:
        raise StoryInvalid(f"{block.place}: not a question: {block.head}")
    return Ask(match[1], match[2], tuple((match[3] or "").split()))


def _drafts(block: _Block) -> list[Draft]:
    if match := _SINGLE.fullmatch(block.head):
        kind: Kind = "calendar" if match[1] == "cal" else "note"
        text, tag = _untagged("\n".join([match[4], *block.lines]))
        return [Draft(kind, moment(match[2], match[3]), text, tag=tag)]
    if match := _SMS.fullmatch(block.head):
        return list(_messages(block, match[1], match[2]))
    if match := _CHAT.fullmatch(block.head):
        return list(turns(block.place, match[1], moment(match[2], match[3]), block.lines))
    raise StoryInvalid(f"{block.place}: not a start: {block.head}")


def _messages(block: _Block, contact: str, day: str) -> Iterator[Draft]:
    session = session_id("sms", contact, moment(day, "00:00"))
    for place, line in enumerate(block.lines):
        match = _MESSAGE.fullmatch(line)
        if not match:
            raise StoryInvalid(f"{block.place}: not a message: {line}")
        text, tag = _untagged(match[3])
        speaker = OWNER if match[2] == ">" else contact
        yield Draft("sms", moment(day, match[1]), text, speaker, session, place, tag)


def turns(where: str, contact: str, start: datetime, lines: Iterable[str]) -> Iterator[Draft]:
    """Make the lines of a chat into memories, each a while after the one before.

    Raises:
        StoryInvalid: a line does not say who writes.
    """
    session = session_id("chat", contact, start)
    now = start
    for place, line in enumerate(lines):
        match = _TURN.fullmatch(line)
        if not match:
            raise StoryInvalid(f"{where}: not a turn: {line}")
        text, tag = _untagged(match[2])
        speaker = {"<": contact, ">": OWNER}.get(match[1], match[1].rstrip("|"))
        now += timedelta(seconds=typing_seconds(text) if place else 0)
        yield Draft("chat", now, text, speaker, session, place, tag)


def _untagged(text: str) -> tuple[str, str]:
    match = _TAG.search(text)
    return (text[: match.start()], match[1]) if match else (text, "")
