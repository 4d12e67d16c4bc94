"""The rules of which memories are compared with each other, and of what follows from a comparison (docs/reader.md).

Of two memories the older is the memory that was said first. The authors of both decide whether the newer memory may
replace the older; a reader decides whether it does.
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
"""How many pairs with a new memory are compared at most, and how many pairs a recall decides."""
MAX_READ_PAIRS: Final = 6
"""Pairs of passages that are read for one pair of memories."""
STATED: Final = "stated"
"""In place of the name of a reader's weights: a person has stated the relation, and no reader changes it."""
MACHINES: Final = frozenset(("assistant", "system", "tool", "bot", "ai"))
"""Speakers whose memories replace no memory, and are not replaced."""

Effect: TypeAlias = Literal["hides", "newer_first"]
"""The effect of a relation: the older memory is not returned, or it comes behind the newer memory."""

_PASSAGE = 240
"""Characters of a passage: a reader reads a text up to this length at once."""
_MAX_PASSAGES = 8
_SENTENCE = 200
"""Characters up to which a sentence says one thing; a longer sentence says several things, as several sentences do."""
_SENTENCE_END = re.compile("(?<=[.!?\u2026])[\"'\u201d\u2019)\\]]{0,2}\\s+|(?<=[\u3002\uff01\uff1f])|\n+")
"""The end of a sentence with white space behind it, the end of a Chinese or Japanese sentence, or the end of a line."""
_WORD = re.compile(r"\w+")
_FRAME = 3
"""How many words two statements that differ in one place share at least."""


@dataclass(frozen=True)
class ComparedStatement:
    """A memory as it is compared.

    Attributes:
        metadata: The metadata that was stored with the memory.
        happened_at: When the memory was said.
        speaker_holds: Whether the memory's author may speak for the speaker that the memory names.
        speakers: The only speakers for which the author may speak, in lower case; None: every speaker.
        message_id: The id of the message that the memory is.
        message_ids: The ids of the messages that the memory was learned of.
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
        """The memory's speaker, in lower case; empty where the memory names none."""
        return speaker_of(self.content, self.metadata).strip().lower()

    @property
    def is_of_a_machine(self) -> bool:
        """Whether the speaker is a machine; the system is recognised however its name is written."""
        return self.speaker in MACHINES or is_system(self.speaker)

    @cached_property
    def passages(self) -> Sequence[str]:
        """The passages of the memory, each read at once, and each behind the name of the speaker in the metadata."""
        named = self.metadata.get("speaker")
        before = f"{named}: " if isinstance(named, str) and named.lower() not in ("", "user") else ""
        return [before + passage for passage in passages(self.content)]

    @cached_property
    def wording(self) -> str:
        """The content in the form in which it is compared for equality."""
        return as_written(self.content)

    @cached_property
    def is_one(self) -> bool:
        """Whether the content is one short sentence, so that a memory that replaces the sentence replaces all of it."""
        return len(self.content) <= _SENTENCE and len(sentences(self.content)) <= 1

    @cached_property
    def is_question(self) -> bool:
        """Whether the memory only asks: it states nothing that another memory could no longer say."""
        return only_asks(self.content)

    @property
    def is_fact(self) -> bool:
        """Whether the memory was stored as a fact, with subject, predicate and object."""
        return fact_in(self.metadata) is not None

    @property
    def is_doubtful(self) -> bool:
        """Whether the memory is a doubtful fact: such a fact replaces no memory, and no memory replaces it."""
        fact = fact_in(self.metadata)
        return fact is not None and not fact.confident

    def is_before(self, other: "ComparedStatement") -> bool:
        """Tell whether this memory was said before another; of one moment, the lower id is before, as among claims."""
        return (self.happened_at, self.id) < (other.happened_at, other.id)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of a newer memory to an older one, as a reader has found it.

    Attributes:
        name: The name of the relation.
        probability: How likely it is that the older memory holds no longer.
        effect: The effect of the relation; None: it has none.
        version: The name of the reader's weights, or ``STATED``.
        compared_at: When the comparison was recorded, in ms since the epoch; None: a recall made it for itself.
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

    No reader reads another script than Latin. Of two memories of the same wording neither updates the other, whatever a
    reader would say. Facts replace facts by their keys, and doubtful facts replace doubtful facts alone. A memory that
    a language model has learned replaces only memories that were learned, and no memory that was said or stored. Who
    asks for what was said does not take it back: a question replaces no memory.
    """
    if not (is_readable(older.content) and is_readable(newer.content)) or not _may_speak(older, newer):
        return False
    if newer.is_question or older.wording == newer.wording or _have_keys(older, newer):
        return False
    if newer.message_ids and not older.message_ids:
        return False
    return newer.message_id is None or newer.message_id not in older.message_ids


def _have_keys(older: ComparedStatement, newer: ComparedStatement) -> bool:
    """Tell whether keys alone decide of two memories: of two facts, and of any that is doubtful."""
    return (older.is_fact and newer.is_fact) or older.is_doubtful or newer.is_doubtful


def _may_speak(older: ComparedStatement, newer: ComparedStatement) -> bool:
    """Tell whether the newer memory's author may replace what the older memory says.

    The author has to be allowed to speak for the speaker that the newer memory names. An author who is bound to
    speakers replaces only memories of these speakers. No memory of a machine replaces another or is replaced.
    """
    if not newer.speaker_holds or older.is_of_a_machine or newer.is_of_a_machine:
        return False
    return newer.speakers is None or (older.speaker_holds and older.speaker in newer.speakers)


def to_read(older: ComparedStatement, newer: ComparedStatement) -> Sequence[tuple[str, str]]:
    """Return the pairs of passages that are read for two memories: at most six, those that share the most words."""
    pairs = [(one, other) for one in older.passages for other in newer.passages]
    if len(pairs) <= MAX_READ_PAIRS:
        return pairs
    return sorted(pairs, key=lambda pair: -len(_words(pair[0]) & _words(pair[1])))[:MAX_READ_PAIRS]


def strongest(relations: Sequence[Relation]) -> Relation:
    """Return the relation of two memories: of the relations of their passages, the one that is likeliest an update."""
    return max(relations, key=lambda relation: relation.update)


def effect_of(
    relations: Sequence[Relation], thresholds: Thresholds, older: ComparedStatement, newer: ComparedStatement
) -> Effect | None:
    """Return the effect of the relations of two memories' passages; None: they have none.

    The more pairs of passages are read, the likelier one of them seems to be an update by chance: so the odds have to
    be as many times as high as there are pairs. A memory that replaces one sentence of several says little of the
    others.
    """
    update, several = strongest(relations).update, len(relations)
    if update >= _of_several(thresholds.hide, several):
        return "hides" if older.is_one else "newer_first"
    if not older.is_one:
        return None
    least = thresholds.same_frame if have_one_frame(older.content, newer.content) else thresholds.newer_first
    return "newer_first" if update >= _of_several(least, several) else None


def have_one_frame(older: str, newer: str) -> bool:
    """Tell whether two statements have the same words but in one place, where each has fewer words of its own."""
    one, other = (_WORD.findall(text.casefold()) for text in (older, newer))
    begun = _alike(one, other)
    alike = begun + _alike(one[begun:][::-1], other[begun:][::-1])
    own = len(one) - alike, len(other) - alike
    return min(own) > 0 and alike >= max(*own, _FRAME)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words at the beginning are the same in both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _of_several(threshold: float, several: int) -> float:
    """Return the probability whose odds are ``several`` times the odds of a threshold."""
    return threshold * several / (threshold * several + 1 - threshold)


def only_asks(text: str) -> bool:
    """Tell whether each sentence of a text is a question; most texts that end with one begin with another sentence."""
    first = _SENTENCE_END.search(text)
    if first is not None and (begins := text[: first.start()].strip()) and not _is_question(begins):
        return False
    said = sentences(text)
    return bool(said) and all(map(_is_question, said))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'\u201d\u2019)] ").endswith(("?", "\uff1f"))


def sentences(text: str) -> Sequence[str]:
    """Return the sentences of a text, by their ends and by lines."""
    return [part for part in (part.strip() for part in _SENTENCE_END.split(text)) if part]


def passages(text: str) -> Sequence[str]:
    """Return the parts of a text that are read at once: two sentences each, or more where the text has many sentences.

    Each part begins with the last sentence of the part before it.
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
