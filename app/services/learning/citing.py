"""Takes of a model's answer what stands in the memories that it cites, sentence by sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from app.grounding import Checker, Source
from app.retrieval import selection
from app.services.answer.evidence import Evidence
from app.services.answer.plain import day, plain
from app.services.answer.wording import wording_of
from app.services.learning.synthesising import Sentence, Synthesised
from app.statements.sentences import MAX_SENTENCE, sentences
from app.statements.tokens import tokens

MAX_CITED = 10
"""Memories that a sentence may cite: one that cites everything is supported by anything."""
_CITATION = re.compile(r"(?<!\s)\s*[\[(]\d{1,2}(?:\s*,\s*\d{1,2})*[\])](?=[\s.,;!?]|\Z)")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence that stands in the memories which it cites."""

    text: str
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is left of an answer."""

    sentences: Sequence[Cited]
    dropped: int
    """How many sentences were left out because they do not stand in what they cite."""

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(each.text for each in self.sentences)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the memories that it cites, each once."""
        return tuple(dict.fromkeys(number for each in self.sentences for number in each.numbers))


def grounded(
    answer: Synthesised, memories: Sequence[Evidence], facts: Sequence[str], *, now: int, max_tokens: int
) -> Grounded:
    """Return the sentences of an answer that stand in the memories they cite, as many as the tokens allow.

    ``facts`` were computed of the memories and may be told with any of them. ``now`` is today, ms since the epoch.
    """
    today = date.fromisoformat(day(now))
    checker = Checker()
    by_number = {each.number: each for each in memories}
    kept: list[Cited] = []
    dropped, left = 0, max_tokens
    for said in answer.sentences:
        for text in _told(said):
            if not _stands(text, said.memories, by_number, facts, today, checker):
                dropped += 1
            elif (size := selection.tokens(text)) <= left and all(text != other.text for other in kept):
                left -= size
                kept.append(Cited(text, said.memories))
    return Grounded(kept, dropped)


def _told(said: Sentence) -> Iterator[str]:
    """Give what a model calls a sentence, sentence by sentence, each in one line and without numbers of memories."""
    text = plain(_CITATION.sub("", said.text))
    for one in sentences(text, wording_of(tokens(text)).code):
        yield one.text


def _stands(
    text: str,
    numbers: Sequence[int],
    by_number: dict[int, Evidence],
    facts: Sequence[str],
    today: date,
    checker: Checker,
) -> bool:
    if len(text) >= MAX_SENTENCE:  # what was cut off may have said otherwise
        return False
    if not 0 < len(numbers) <= MAX_CITED or not by_number.keys() >= {*numbers}:
        return False
    told = [said for number in numbers for said in by_number[number].statements]
    sources = [Source(each.said, each.happened_at, each.speaker) for each in told]
    # What names a time of its own did not happen on the day on which it was said, as far as is known.
    heads = [each.head for each in told if not each.tells_time]
    computed = [Source(fact, None) for fact in (*facts, *heads)]
    return not checker.ungrounded(text, [*sources, *computed], computed=[today])
