"""What a memory states explicitly: what whoever stored it has put into parts, a fact or a topic.

The key of a fact is its subject and its predicate where one object holds at a time (``single``), so that the later one
supersedes the earlier. Else its object is a part of the key: all of them hold. Parts are compared without difference of
case, spaces and underscores, and no word of them is understood. A doubtful fact has a key of its own kind beside it
(``app.domain.claim.PERHAPS``): so it supersedes doubtful ones alone.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from app.domain.author import Author
from app.domain.claim import PERHAPS, RELATION, TOPIC, Claim, MemoryType, Stated
from app.domain.facts import About, Fact, fact_in
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.domain.memory import STORE_KEY, Memory
from app.domain.messages import digest
from app.domain.words import folded

_MAX_SUBJECT, _MAX_PREDICATE, _MAX_VALUE = 90, 60, 40
"""Characters of the parts of a key, which fit together behind ``PERHAPS``: of a longer one the rest is a digest."""
_APART = re.compile(f"[_/{RELATION}\\s]+")
_KEYED = frozenset[MemoryType | None](("fact", "instruction"))


def permitted(memory: Memory, author: Author) -> Stated:
    """Return what a memory states explicitly; of an author who is bound to speakers, facts of these alone.

    What a program keeps for itself states nothing. A memory that a model made states what it says of its topic, if its
    author may speak for anybody: nobody knows about whom a topic is. All else waits for a reader.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    return said_by(stated, author.speakers) if may_state(memory, author) else replace(stated, claims=())


def may_state(memory: Memory, author: Author) -> bool:
    """Tell whether an author may speak for whom a memory names; for a topic's, only who may speak for anybody."""
    if memory.learned is not None:
        return author.speakers is None
    return author.may_speak_in(memory.content, memory.metadata)


def read_explicit(
    metadata: Mapping[str, Json], learned: Learned | None, content: str, type_: MemoryType | None
) -> Stated:
    """Return the claim of a fact, or of a topic; all else waits for a reader.

    Until a reader has said what it is, it is a fact, unless a language model has.
    """
    if learned is not None:
        return replace(read_learned(content, learned, type_), waits=True)
    fact = fact_in(metadata)
    stated = Stated(type="fact") if fact is None else read_fact(fact)
    return replace(stated, waits=True)


def read_learned(content: str, learned: Learned, type_: MemoryType | None) -> Stated:
    """Return what a memory states that a language model made: of a fact or an instruction, what it says of its topic.

    No fact has a key without "/": so it supersedes other such memories only, whatever the model has written.
    """
    if learned.topic is None or type_ not in _KEYED:
        return Stated(type=type_)
    value = digest(" ".join(folded(content).split()))
    return Stated([Claim(f"{TOPIC}{learned.topic}", value, whole=True)], type_)


def read_fact(fact: Fact) -> Stated:
    """Return what a fact states: one claim, which is all that its memory says."""
    value = _plain(fact.object)
    key = f"{_subject(fact.subject)}/{_relation(fact.predicate)}"
    if not fact.single:
        key = f"{key}/{_fitting(value, _MAX_VALUE)}"
    return Stated([Claim(key if fact.confident else PERHAPS + key, value, whole=True)], "fact")


def about(subject: str | None, predicate: str | None) -> About:
    """Return which keys tell of a subject, of a predicate, or of both."""
    of = None if subject is None else _subject(subject)
    return About(
        None if of is None else [of, PERHAPS + of], None if predicate is None else _relation(predicate), predicate
    )


def said_by(stated: Stated, speakers: Collection[str] | None) -> Stated:
    """Return what a memory states where its author may speak for these speakers alone; None: for anybody."""
    if speakers is None:
        return stated
    return replace(stated, claims=[claim for claim in stated.claims if claim.subject in speakers])


def _subject(subject: str) -> str:
    return _fitting(_plain(subject), _MAX_SUBJECT)


def _relation(predicate: str) -> str:
    return _fitting(_plain(predicate).replace(" ", "_"), _MAX_PREDICATE)


def _plain(text: str) -> str:
    """Return a text as words of one form, whatever its case, spaces and underscores; never an empty one."""
    words = _APART.sub(" ", folded(text))
    return words.strip(" .,;:!?") or words.strip() or digest(text)


def _fitting(part: str, most: int) -> str:
    """Return a part of a key that is as long as it may be."""
    mark = digest(part)
    return part if len(part) <= most else f"{part[: most - len(mark) - 1]} {mark}"
