"""Asks a model for an answer or a summary, and keeps the sentences that follow from the memories they cite."""

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
"""Tokens that an answer has at most, by ``app.retrieval.selection.tokens``."""
SUMMARY_TOKENS = 1_000
WINDOW_SUMMARY_TOKENS = 250
"""Tokens of the summary of turns that left a window at once."""
MAX_CITED = 10
"""Memories that a sentence may cite: a sentence that cites every memory is supported by anything."""
_CITATION = re.compile(r"(?<!\s)\s*[\[(]\d{1,2}(?:\s*,\s*\d{1,2})*[\])](?=[\s.,;!?]|\Z)")
_FORM_TOKENS = 200
"""Tokens that the form of an answer takes beside its text."""
_FORM_SHARE = 2
"""Factor of an answer's tokens: tokenizers differ, and a model that reasons first spends tokens on its reasoning."""


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
    """Return the request that answers a query from memories; the query is asked ``now`` (ms since the epoch).

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
    """Return the request that sums up memories, the newest first; ``now`` in ms since the epoch."""
    told = fenced("memories", "\n".join(memory.text for memory in memories), mark)
    return _request("summarise", SUMMARY_TOKENS, mark, f"It is {dated(now)}.", told)


def summarising_turns(turns: Sequence[Evidence], mark: str, *, now: int) -> ModelRequest[Synthesised]:
    """Return the request that sums up turns of a conversation, in their order; ``now`` in ms since the epoch."""
    told = fenced("conversation", "\n".join(turn.text for turn in turns), mark)
    return _request("window", WINDOW_SUMMARY_TOKENS, mark, f"It is {dated(now)}.", told)


def _request(prompt: str, tokens: int, mark: str, *data: str) -> ModelRequest[Synthesised]:
    system, user = asked(prompt, mark, *data)
    told = ModelMessage(system.role, system.content.replace("<TOKENS>", str(tokens)))
    return request("synthesise", Synthesised, _FORM_SHARE * tokens + _FORM_TOKENS, [told, user])


@dataclass(frozen=True, slots=True)
class Grounded:
    """The sentences of an answer that follow from their memories."""

    sentences: Sequence[CitedSentence]
    dropped: int
    """How many sentences were left out because they do not follow from the memories that they cite."""

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the memories that the sentences cite, each once."""
        return tuple(dict.fromkeys(number for sentence in self.sentences for number in sentence.memories))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an answer with the result of the check by code of each."""

    told: Sequence[CitedSentence]
    claims: Sequence[CitedStatement]
    found: Sequence[Checked]
    uncited: int
    """How many other sentences cite no memory, too many, or one that does not exist, or are too long."""


def cited(answer: Synthesised, memories: Sequence[Evidence], facts: Sequence[str], *, now: int) -> Sentences:
    """Return the sentences of an answer, each checked by code.

    ``facts`` were computed of the memories; each sentence may tell them. ``now`` is today, ms since the epoch.
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
        ReaderUnavailable: the reader does not answer.
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
    if len(sentence.text) >= MAX_SENTENCE:  # the part that was cut off may say otherwise
        return False
    return 0 < len(sentence.memories) <= MAX_CITED and by_number.keys() >= {*sentence.memories}


def _sources(sentence: CitedSentence, by_number: Mapping[int, Evidence], facts: Sequence[str]) -> Sequence[Source]:
    told = [said for number in sentence.memories for said in by_number[number].statements]
    # A statement that names a time may not have happened on its memory's day, so that day is no evidence.
    heads = [one.head for one in told if not one.tells_time]
    computed = [Source(fact, None) for fact in (*facts, *heads)]
    return [*(Source(one.statement, one.happened_at, one.speaker) for one in told), *computed]
