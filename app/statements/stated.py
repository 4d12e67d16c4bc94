"""What a memory states: the keyed statements of its content, and its type."""

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.author import speaker_of
from app.domain.claim import Claim, MemoryType, Stated
from app.domain.facts import fact_in
from app.domain.json_types import Json
from app.statements.facts import read_fact
from app.statements.rules import Statement, speaks, statements

_MAX_READ = 4000
"""Characters of a content that are read for statements: it is done on the event loop, and takes some milliseconds."""

_ROLES = frozenset(("user", "assistant", "system", "tool", "bot", "ai"))
_MAX_NAME = 3
"""Words of a name."""
_PRECEDENCE: Final[Sequence[MemoryType]] = ("instruction", "task", "fact", "event")
"""Of a memory without claims: what it is where it says several things."""


def read(content: str, metadata: Mapping[str, Json]) -> Stated:
    """Return what a memory of this content and metadata states: its claims, each key once, and its type.

    One that is a fact states this alone, whatever the words of its content are.
    """
    fact = fact_in(metadata)
    if fact is not None:
        return read_fact(fact)
    stated = statements(content[:_MAX_READ], _speaker(content, metadata))
    cut = len(content) > _MAX_READ
    if cut:  # the last sentence may be half of one
        stated = stated[:-1]
    keyed = {one.key: one.value for one in stated if one.key is not None and one.value is not None}
    whole = len(stated) == len(keyed) == 1 and not cut
    return Stated([Claim(key, value, whole) for key, value in keyed.items()], _type(stated))


def _speaker(content: str, metadata: Mapping[str, Json]) -> str | None:
    """Return who speaks: whom the metadata names, else the name before the first colon; a label is no name."""
    speaker = speaker_of(content, metadata)
    if isinstance(metadata.get("speaker"), str) or not speaker:
        return speaker or None
    words = speaker.split()
    if speaker.strip().casefold() in _ROLES:
        return speaker
    is_name = len(words) <= _MAX_NAME and all(word[:1].isupper() and word[1:].islower() for word in words)
    return speaker if is_name and speaks(speaker, content[:_MAX_READ].partition(":")[2]) else None


def _type(stated: Sequence[Statement]) -> MemoryType:
    """Return the type of what states the value of a key, which is no mere event, else of what says the most."""
    for one in stated:
        if one.key is not None:
            return "fact" if one.type == "event" else one.type
    types = {one.type for one in stated}
    return next((each for each in _PRECEDENCE if each in types), "event")
