"""The explicit claims of a memory: those of a fact that was stored in parts, or of a learned memory's topic.

The key of a fact is its subject and its predicate where one object holds at a time (``single``), so that the later fact
supersedes the earlier. Else the object is a part of the key, so that all such facts hold. Parts are compared without
difference of case, spaces and underscores, and no word of them is understood. The key of a doubtful fact has a prefix
(``app.domain.claim.PERHAPS``): so the fact supersedes doubtful facts alone.
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
"""Characters of the parts of a key, which fit together behind ``PERHAPS``; a longer part ends in a digest."""
_APART = re.compile(f"[_/{RELATION}\\s]+")
_KEYED = frozenset[MemoryType | None](("fact", "instruction"))


def permitted(memory: Memory, author: Author) -> Stated:
    """Return a memory's explicit claims; where the author is bound to speakers, only facts about these speakers.

    A memory that a program keeps for itself has no claim. A memory that a model made has the claim of its topic if its
    author may speak for every speaker, since the subject of a topic is not known. All other memories wait for a reader.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    return said_by(stated, author.speakers) if may_state(memory, author) else replace(stated, claims=())


def may_state(memory: Memory, author: Author) -> bool:
    """Tell whether an author may speak for the speaker that a memory names; for a learned one, for every speaker."""
    if memory.learned is not None:
        return author.speakers is None
    return author.may_speak_in(memory.content, memory.metadata)


def read_explicit(
    metadata: Mapping[str, Json], learned: Learned | None, content: str, type_: MemoryType | None
) -> Stated:
    """Return the claim of a fact, or of a topic; the memory waits for a reader.

    Until a reader tells the memory's kind, it is a fact, unless a language model has told another kind.
    """
    if learned is not None:
        return replace(read_learned(content, learned, type_), waits=True)
    fact = fact_in(metadata)
    stated = Stated(type="fact") if fact is None else read_fact(fact)
    return replace(stated, waits=True)


def read_learned(content: str, learned: Learned, type_: MemoryType | None) -> Stated:
    """Return the claim of a memory that a language model made: where it is a fact or an instruction, that of its topic.

    Every key of a fact has a "/", and the key of a topic has none: so such a memory supersedes only memories of its
    topic, whatever the model has written.
    """
    if learned.topic is None or type_ not in _KEYED:
        return Stated(type=type_)
    value = digest(" ".join(folded(content).split()))
    return Stated([Claim(f"{TOPIC}{learned.topic}", value, whole=True)], type_)


def read_fact(fact: Fact) -> Stated:
    """Return the one claim of a fact, which is all that its memory says."""
    value = _plain(fact.object)
    key = f"{_subject(fact.subject)}/{_relation(fact.predicate)}"
    if not fact.single:
        key = f"{key}/{_fitting(value, _MAX_VALUE)}"
    return Stated([Claim(key if fact.confident else PERHAPS + key, value, whole=True)], "fact")


def about(subject: str | None, predicate: str | None) -> About:
    """Return the condition on keys of a subject, of a predicate, or of both."""
    of = None if subject is None else _subject(subject)
    return About(
        None if of is None else [of, PERHAPS + of], None if predicate is None else _relation(predicate), predicate
    )


def said_by(stated: Stated, speakers: Collection[str] | None) -> Stated:
    """Return the statement with only the claims whose subject is one of these speakers; None: with all claims."""
    if speakers is None:
        return stated
    return replace(stated, claims=[claim for claim in stated.claims if claim.subject in speakers])


def _subject(subject: str) -> str:
    return _fitting(_plain(subject), _MAX_SUBJECT)


def _relation(predicate: str) -> str:
    return _fitting(_plain(predicate).replace(" ", "_"), _MAX_PREDICATE)


def _plain(text: str) -> str:
    """Return a text in one form, whatever its case, spaces and underscores; the form is never empty."""
    words = _APART.sub(" ", folded(text))
    return words.strip(" .,;:!?") or words.strip() or digest(text)


def _fitting(part: str, most: int) -> str:
    """Return a part of a key, cut to ``most`` characters: of a longer part the end is replaced by a digest."""
    mark = digest(part)
    return part if len(part) <= most else f"{part[: most - len(mark) - 1]} {mark}"
