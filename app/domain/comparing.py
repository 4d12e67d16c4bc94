"""Which memories are compared with each other, and what follows of how they bear on each other (docs/reader.md).

Of two memories the older is the one that was said first. Whether the newer may take its place is a matter of who wrote
both; whether it does, of what a reader says.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final, Literal, TypeAlias

from app.domain.author import is_system, speaker_of
from app.domain.facts import fact_in
from app.domain.json_types import Json
from app.domain.reading import Relation, RelationName, Thresholds, is_readable
from app.domain.words import as_written

MAX_PAIRS: Final = 8
"""Pairs of which a memory that is new is one, and pairs that a recall decides."""
MAX_READ_PAIRS: Final = 6
"""Pairs of passages that are read for one pair of memories."""
MACHINES: Final = frozenset(("assistant", "system", "tool", "bot", "ai"))
"""Speakers whose words take the place of nothing, and are not replaced."""

Effect: TypeAlias = Literal["hides", "newer_first"]
"""What a relation does: the older memory is not returned, or it comes behind the newer one."""

_PASSAGE = 240
"""Characters of a passage: a text up to this length is read at once."""
_MAX_PASSAGES = 8
_SENTENCE = 200
"""Characters of a sentence that says one thing; a longer one says several, as several sentences do."""
_SENTENCE_END = re.compile("(?<=[.!?\u2026])[\"'\u201d\u2019)\\]]{0,2}\\s+|(?<=[\u3002\uff01\uff1f])|\n+")
"""An end of a sentence with white space behind it, one of Chinese or Japanese without, or the end of a line."""
_WORD = re.compile(r"\w+")
_FRAME = 3
"""Words, at least, that two statements share which differ in one place."""


@dataclass(frozen=True)
class ComparedStatement:
    """A memory as it is compared.

    Attributes:
        metadata: What was stored with it.
        happened_at: When it was said.
        speaker_holds: Whether its author may speak for whom it names.
        speakers: The speakers for whom alone its author may speak, in lower case; None: for anybody.
        message_id: The message that it is.
        message_ids: The messages that it was learned of.
    """

    id: str
    content: str
    metadata: Mapping[str, Json]
    happened_at: int
    speaker_holds: bool = True
    speakers: Collection[str] | None = None
    message_id: str | None = None
    message_ids: Collection[str] = ()

    @cached_property
    def speaker(self) -> str:
        """Who speaks, in lower case; empty where nobody is named."""
        return speaker_of(self.content, self.metadata).strip().lower()

    @property
    def is_of_a_machine(self) -> bool:
        """Whether no person says it; the system is known however its name is written."""
        return self.speaker in MACHINES or is_system(self.speaker)

    @cached_property
    def passages(self) -> Sequence[str]:
        """What of it is read at once: all of a short one, else consecutive sentences, each part with the one before."""
        named = self.metadata.get("speaker")
        before = f"{named}: " if isinstance(named, str) and named.lower() not in ("", "user") else ""
        return [before + passage for passage in passages(self.content)]

    @cached_property
    def wording(self) -> str:
        """Its text, as it is told apart from another one."""
        return as_written(self.content)

    @cached_property
    def is_one(self) -> bool:
        """Whether it is one short sentence, so that what replaces this replaces all of it."""
        return len(self.content) <= _SENTENCE and len(sentences(self.content)) <= 1

    @property
    def is_fact(self) -> bool:
        """Whether whoever stored it has put it into subject, predicate and object."""
        return fact_in(self.metadata) is not None

    @property
    def is_doubtful(self) -> bool:
        """Whether it is a fact of which nobody is sure: it replaces nothing, and nothing replaces it."""
        fact = fact_in(self.metadata)
        return fact is not None and not fact.confident

    def is_before(self, other: "ComparedStatement") -> bool:
        """Tell whether it was said before another one; of one moment, as the claims of a key have it."""
        return (self.happened_at, self.id) < (other.happened_at, other.id)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a newer memory bears on an older one, as a reader has found.

    Attributes:
        name: What the newer does to the older.
        probability: How likely it is that the older holds no longer.
        effect: What follows of it; None: nothing.
        version: The name of the reader's weights.
        compared_at: When it was recorded, in ms since the epoch; None: a recall has found it for itself.
    """

    older_id: str
    newer_id: str
    name: RelationName
    probability: float
    effect: Effect | None
    version: str
    compared_at: int | None = None


def ordered(one: ComparedStatement, other: ComparedStatement) -> tuple[ComparedStatement, ComparedStatement]:
    """Return the older and the newer of two memories."""
    return (one, other) if one.is_before(other) else (other, one)


def may_bear(older: ComparedStatement, newer: ComparedStatement) -> bool:
    """Tell whether two memories are compared at all.

    No reader reads another script than Latin. Of what is written alike neither is an update of the other, whatever a
    reader would say. Facts replace facts by their keys, and doubtful ones nothing else. What a language model has
    learned takes the place of what it has learned before alone: not of what somebody said or stored.
    """
    if not (is_readable(older.content) and is_readable(newer.content)):
        return False
    if not _may_speak(older, newer):
        return False
    if (older.is_fact and newer.is_fact) or older.is_doubtful or newer.is_doubtful or older.wording == newer.wording:
        return False
    if newer.message_ids and not older.message_ids:
        return False
    return newer.message_id is None or newer.message_id not in older.message_ids


def _may_speak(older: ComparedStatement, newer: ComparedStatement) -> bool:
    """Tell whether the newer memory may say what the older one says otherwise.

    The author of the newer may speak for whom it names. One who is bound to speakers takes the place of nothing but
    what these said. Machines are told nothing and tell nothing.
    """
    if not newer.speaker_holds or older.is_of_a_machine or newer.is_of_a_machine:
        return False
    return newer.speakers is None or (older.speaker_holds and older.speaker in newer.speakers)


def to_read(older: ComparedStatement, newer: ComparedStatement) -> Sequence[tuple[str, str]]:
    """Return the pairs of passages that are read for two memories: those that share the most words, few."""
    pairs = [(one, other) for one in older.passages for other in newer.passages]
    if len(pairs) <= MAX_READ_PAIRS:
        return pairs
    return sorted(pairs, key=lambda pair: -len(_words(pair[0]) & _words(pair[1])))[:MAX_READ_PAIRS]


def strongest(relations: Sequence[Relation]) -> Relation:
    """Return the relation of two memories, of those of their passages: the likeliest update."""
    return max(relations, key=lambda relation: relation.update)


def effect_of(
    relations: Sequence[Relation], thresholds: Thresholds, older: ComparedStatement, newer: ComparedStatement
) -> Effect | None:
    """Return what follows of the relations of two memories' passages.

    One of several passages seems to be an update sooner than a single one: the odds have to be as many times as high.
    What replaces one sentence of several says little of the others.
    """
    update, several = strongest(relations).update, len(relations)
    if update >= _of_several(thresholds.hide, several):
        return "hides" if older.is_one else "newer_first"
    if not older.is_one:
        return None
    least = thresholds.same_frame if have_one_frame(older.content, newer.content) else thresholds.newer_first
    return "newer_first" if update >= _of_several(least, several) else None


def have_one_frame(older: str, newer: str) -> bool:
    """Tell whether two statements are word for word alike but in one place, where each has fewer words of its own."""
    one, other = (_WORD.findall(text.casefold()) for text in (older, newer))
    begun = _alike(one, other)
    alike = begun + _alike(one[begun:][::-1], other[begun:][::-1])
    own = len(one) - alike, len(other) - alike
    return min(own) > 0 and alike >= max(*own, _FRAME)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many words both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _of_several(threshold: float, several: int) -> float:
    """Return the probability whose odds are several times those of a threshold."""
    return threshold * several / (threshold * several + 1 - threshold)


def sentences(text: str) -> Sequence[str]:
    """Return the sentences of a text, by their ends and by lines."""
    return [part for part in (part.strip() for part in _SENTENCE_END.split(text)) if part]


def passages(text: str) -> Sequence[str]:
    """Return the parts of a text that are read at once: two sentences each, or more of them where there are many.

    Each begins with the last sentence of the one before it.
    """
    if len(text) <= _PASSAGE:
        return [text]
    parts = sentences(text[: _PASSAGE * _MAX_PASSAGES])
    if len(parts) <= 1:
        return [text[: _PASSAGE * _MAX_PASSAGES]]
    more = -(-(len(parts) - 1) // _MAX_PASSAGES)
    return [" ".join(parts[first : first + more + 1]) for first in range(0, len(parts) - 1, more)]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
