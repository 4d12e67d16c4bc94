"""Splits a question for the length between two events into the parts that describe each event."""

import re
from typing import Final

_MAX_READ = 500
_BOTH: Final = re.compile(r"(?<!\w)(?:between|zwischen|mellan)\s+(.+)", re.IGNORECASE | re.DOTALL)
_AND: Final = re.compile(r"\s(?:and|und|och)\s", re.IGNORECASE)
_ONE: Final = re.compile(r"(?<!\w)(?:after|before|nachdem|bevor|efter att|innan)\s+(.+)", re.IGNORECASE | re.DOTALL)
_OTHER: Final = re.compile(r"\s(?=(?:did|was|were|had|has|have)\s)|,\s", re.IGNORECASE)
"""Where the second event begins: "after I moved did I marry"."""
_HOW: Final = re.compile(
    r"^\W*(?:how|hur|wie)\s(?:long|much time|many \w+|länge|många \w+|lange|vielen? \w+)\s+", re.IGNORECASE
)
_IS_OTHER: Final = re.compile(r"(?:did|was|were|had|has|have|habe|hat|wurde|war)\s+(?!it\s|that\s)\w+", re.IGNORECASE)


def two_events(question: str) -> tuple[str, str] | None:
    """Return the part of a question that describes each of its two events; None where the parts are not sure."""
    text = question[:_MAX_READ].strip().rstrip("?!. ")
    if both := _BOTH.search(text):
        return _pair(_AND.split(both[1]))
    one = _ONE.search(text)
    if one is None:
        return None
    before = _HOW.sub("", text[: one.start()]).strip()
    if _IS_OTHER.match(before) and not before.lower().endswith((" it", " pass", " passed")):
        return _pair([one[1], before])
    return _pair(_OTHER.split(one[1]))


def _pair(parts: list[str]) -> tuple[str, str] | None:
    events = [part.strip() for part in parts]
    return (events[0], events[1]) if len(events) == 2 and all(events) else None  # noqa: PLR2004 - its two ends
