"""Asks a model for an answer, or a summary, of memories, and takes of it what follows from those that it cites."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import Field

from app.domain.profile_answers import ResponseLength
from app.grounding import Checked, Checker, Source
from app.language.sentences import MAX_SENTENCE, sentences
from app.ports.language_model import ModelMessage
from app.retrieval import selection
from app.services.learning.evidence import Evidence, dated
from app.services.learning.plain import day, plain
from app.services.models.grounding import CitedStatement, checked, decided
from app.services.models.reader import TenantReader
from app.services.models.request import ModelRequest, asked, fenced, request

ANSWER_TOKENS: Mapping[ResponseLength, int] = {"short": 80, "medium": 200, "long": 500}
"""What an answer has at most, by ``app.retrieval.selection.tokens``."""
SUMMARY_TOKENS = 1_000
WINDOW_SUMMARY_TOKENS = 250
"""Of what fell out of a window at once."""
MAX_CITED = 10
"""Memories that a sentence may cite: one that cites everything is supported by anything."""
_CITATION = re.compile(r"(?<!\s)\s*[\[(]\d{1,2}(?:\s*,\s*\d{1,2})*[\])](?=[\s.,;!?]|\Z)")
_FORM_TOKENS = 200
"""What the form of an answer takes beside its text."""
_FORM_SHARE = 2
"""Tokenizers differ, and a model that reasons first spends tokens on that."""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence with the numbers of the memories that it rests on."""

    text: Annotated[str, Field(max_length=1_000)]
    memories: Annotated[list[int], Field(max_length=20)]


@dataclass(frozen=True, slots=True)
class Synthesised:
    """The answer of the stage ``synthesise``; no sentence: the memories do not answer the question."""

    sentences: Annotated[list[CitedSentence], Field(max_length=40)]


def synthesis(
    query: str, candidates: Sequence[Evidence], facts: Sequence[str], length: ResponseLength, mark: str, *, now: int
) -> ModelRequest[Synthesised]:
    """Return what a model is asked of a query and memories; ``now`` is when it is asked (ms since the epoch).

    ``facts`` were computed of the memories.
    """
    return _request(
        "synthesise",
        ANSWER_TOKENS[length],
        mark,
        f"Asked on {dated(now)}.",
        fenced("facts", "\n".join(facts), mark),
        fenced("memories", "\n".join(candidate.text for candidate in candidates), mark),
        fenced("question", query, mark),
    )


def summarising(memories: Sequence[Evidence], mark: str, *, now: int) -> ModelRequest[Synthesised]:
    """Return what a model is asked of memories that it is to sum up, the newest first."""
    told = fenced("memories", "\n".join(memory.text for memory in memories), mark)
    return _request("summarise", SUMMARY_TOKENS, mark, f"It is {dated(now)}.", told)


def summarising_turns(turns: Sequence[Evidence], mark: str, *, now: int) -> ModelRequest[Synthesised]:
    """Return what a model is asked of turns of a conversation that it is to sum up, in their order."""
    told = fenced("conversation", "\n".join(turn.text for turn in turns), mark)
    return _request("window", WINDOW_SUMMARY_TOKENS, mark, f"It is {dated(now)}.", told)


def _request(prompt: str, tokens: int, mark: str, *data: str) -> ModelRequest[Synthesised]:
    system, user = asked(prompt, mark, *data)
    told = ModelMessage(system.role, system.content.replace("<TOKENS>", str(tokens)))
    return request("synthesise", Synthesised, _FORM_SHARE * tokens + _FORM_TOKENS, [told, user])


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is left of an answer."""

    sentences: Sequence[CitedSentence]
    dropped: int
    """How many sentences were left out because they do not follow from what they cite."""

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the memories that it cites, each once."""
        return tuple(dict.fromkeys(number for sentence in self.sentences for number in sentence.memories))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an answer with what code has found of each."""

    told: Sequence[CitedSentence]
    claims: Sequence[CitedStatement]
    found: Sequence[Checked]
    uncited: int
    """How many more there are that cite nothing which is there."""


def cited(answer: Synthesised, memories: Sequence[Evidence], facts: Sequence[str], *, now: int) -> Sentences:
    """Return the sentences of an answer, as code finds them.

    ``facts`` were computed of the memories and may be told with any of them. ``now`` is today, ms since the epoch.
    """
    today = date.fromisoformat(day(now))
    by_number = {memory.number: memory for memory in memories}
    told = [
        CitedSentence(text, said.memories)
        for said in answer.sentences
        for text in sentences(plain(_CITATION.sub("", said.text)))
    ]
    good = [each for each in told if _cites(each, by_number)]
    claims = [CitedStatement(each.text, _sources(each, by_number, facts), [today]) for each in good]
    return Sentences(good, claims, checked(claims, Checker()), len(told) - len(good))


async def grounded(said: Sentences, reader: TenantReader | None, *, max_tokens: int, tries: int = 1) -> Grounded:
    """Return the sentences of an answer that follow from the memories they cite, as many as the tokens allow.

    ``tries``: how often a busy reader is asked.

    Raises:
        ReaderUnavailable: nobody can tell now.
    """
    kept: list[CitedSentence] = []
    dropped, left = said.uncited, max_tokens
    for each, objections in zip(said.told, await decided(said.claims, said.found, reader, tries=tries), strict=True):
        if objections:
            dropped += 1
        elif (size := selection.tokens(each.text)) <= left and all(each.text != other.text for other in kept):
            left -= size
            kept.append(each)
    return Grounded(kept, dropped)


def _cites(sentence: CitedSentence, by_number: Mapping[int, Evidence]) -> bool:
    if len(sentence.text) >= MAX_SENTENCE:  # what was cut off may have said otherwise
        return False
    return 0 < len(sentence.memories) <= MAX_CITED and by_number.keys() >= {*sentence.memories}


def _sources(sentence: CitedSentence, by_number: Mapping[int, Evidence], facts: Sequence[str]) -> Sequence[Source]:
    told = [said for number in sentence.memories for said in by_number[number].statements]
    # What names a time of its own did not happen on the day on which it was said, as far as is known.
    heads = [one.head for one in told if not one.tells_time]
    computed = [Source(fact, None) for fact in (*facts, *heads)]
    return [*(Source(one.statement, one.happened_at, one.speaker) for one in told), *computed]
