"""Takes of a model's answer what follows from the memories that it cites, sentence by sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from app.grounding import Checked, Checker, Source
from app.language.sentences import MAX_SENTENCE, sentences
from app.retrieval import selection
from app.services.answer.evidence import Evidence
from app.services.answer.plain import day, plain
from app.services.grounding import Claim, checked, decided
from app.services.learning.synthesising import Sentence, Synthesised
from app.services.reading import TenantReader

MAX_CITED = 10
"""Memories that a sentence may cite: one that cites everything is supported by anything."""
_CITATION = re.compile(r"(?<!\s)\s*[\[(]\d{1,2}(?:\s*,\s*\d{1,2})*[\])](?=[\s.,;!?]|\Z)")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence with the numbers of the memories that it cites."""

    text: str
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is left of an answer."""

    sentences: Sequence[Cited]
    dropped: int
    """How many sentences were left out because they do not follow from what they cite."""

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(each.text for each in self.sentences)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the memories that it cites, each once."""
        return tuple(dict.fromkeys(number for each in self.sentences for number in each.numbers))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an answer with what code has found of each."""

    told: Sequence[Cited]
    claims: Sequence[Claim]
    found: Sequence[Checked]
    uncited: int
    """How many more there are that cite nothing which is there."""


def cited(answer: Synthesised, memories: Sequence[Evidence], facts: Sequence[str], *, now: int) -> Sentences:
    """Return the sentences of an answer, as code finds them.

    ``facts`` were computed of the memories and may be told with any of them. ``now`` is today, ms since the epoch.
    """
    today = date.fromisoformat(day(now))
    by_number = {each.number: each for each in memories}
    told = [Cited(text, said.memories) for said in answer.sentences for text in _told(said)]
    good = [each for each in told if _cites(each, by_number)]
    claims = [Claim(each.text, _sources(each, by_number, facts), [today]) for each in good]
    return Sentences(good, claims, checked(claims, Checker()), len(told) - len(good))


async def grounded(said: Sentences, reader: TenantReader | None, *, max_tokens: int) -> Grounded:
    """Return the sentences of an answer that follow from the memories they cite, as many as the tokens allow.

    Raises:
        ReaderUnavailable: nobody can tell now.
    """
    kept: list[Cited] = []
    dropped, left = said.uncited, max_tokens
    for each, objections in zip(said.told, await decided(said.claims, said.found, reader), strict=True):
        if objections:
            dropped += 1
        elif (size := selection.tokens(each.text)) <= left and all(each.text != other.text for other in kept):
            left -= size
            kept.append(each)
    return Grounded(kept, dropped)


def _told(said: Sentence) -> Iterator[str]:
    """Give what a model calls a sentence, sentence by sentence, each in one line and without numbers of memories."""
    text = plain(_CITATION.sub("", said.text))
    for one in sentences(text):
        yield one.text


def _cites(each: Cited, by_number: Mapping[int, Evidence]) -> bool:
    if len(each.text) >= MAX_SENTENCE:  # what was cut off may have said otherwise
        return False
    return 0 < len(each.numbers) <= MAX_CITED and by_number.keys() >= {*each.numbers}


def _sources(each: Cited, by_number: Mapping[int, Evidence], facts: Sequence[str]) -> Sequence[Source]:
    told = [said for number in each.numbers for said in by_number[number].statements]
    # What names a time of its own did not happen on the day on which it was said, as far as is known.
    heads = [one.head for one in told if not one.tells_time]
    computed = [Source(fact, None) for fact in (*facts, *heads)]
    return [*(Source(one.said, one.happened_at, one.speaker) for one in told), *computed]
