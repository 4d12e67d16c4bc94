"""Makes the text of a memory fit to stand in a line: a memory is data, and must not look like anything else."""

import re
import unicodedata
from datetime import date

from app.domain.author import is_system
from app.language.dates.days import ordinal

_MAX_NAME = 40
# Line breaks and other controls; marks that turn the order of writing; spaces of no width; tags, which are invisible;
# halves of characters. A joiner stays: emoji and Persian need it.
_BREAKS = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_UNSEEN = re.compile(
    "[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]+"
)
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~]")


def plain(text: str) -> str:
    """Return a text as one line: each run of white space and controls is a space, invisible characters are left out."""
    if not text.isprintable():
        text = _BREAKS.sub(" ", _UNSEEN.sub("", text))
    return " ".join(text.split())


def in_markdown(text: str) -> str:
    """Return a line in which Markdown finds no link, image, HTML, code or emphasis by a star."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def name(speaker: str) -> str:
    """Return a speaker's name, short enough to stand before a statement; "" where there is none.

    The system's name is "program": before a text that is quoted to a model, "system" would look like an instruction.
    """
    found = plain(speaker).rstrip(":")[:_MAX_NAME].strip()
    if is_system(found):
        return "program"
    return found if any(unicodedata.category(character)[0] in "LNS" for character in found) else ""


def day(moment: int) -> str:
    """Return the day of a moment (ms since the epoch) in UTC, as in 2026-01-31, or the calendar's end next to it."""
    return date.fromordinal(ordinal(moment)).isoformat()
