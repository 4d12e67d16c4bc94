"""Asks a model for an answer, or a summary, that is made of memories and cites them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from app.domain.profile_answers import ResponseLength
from app.ports.language_model import ModelMessage
from app.services.answer.evidence import Evidence, dated
from app.services.learning.request import Request, asked, clipped_schema, fenced

ANSWER_TOKENS: Mapping[ResponseLength, int] = {"short": 80, "medium": 200, "long": 500}
"""What an answer has at most, by ``app.retrieval.selection.tokens``."""
SUMMARY_TOKENS = 1_000
_FORM_TOKENS = 200
"""What the form of an answer takes beside its text."""
_FORM_SHARE = 2
"""Tokenizers differ, and a model that reasons first spends tokens on that."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with the numbers of the memories that it rests on."""

    text: Annotated[str, Field(max_length=1_000)]
    memories: Annotated[list[int], Field(max_length=20)]


@dataclass(frozen=True, slots=True)
class Synthesised:
    """The answer of the stage ``synthesise``; no sentence: the memories do not answer the question."""

    sentences: Annotated[list[Sentence], Field(max_length=40)]


_FORM = clipped_schema("synthesise", Synthesised)


def synthesis(
    query: str, candidates: Sequence[Evidence], facts: Sequence[str], length: ResponseLength, mark: str, *, now: int
) -> Request[Synthesised]:
    """Return what a model is asked of a query and memories; ``now`` is when it is asked (ms since the epoch).

    ``facts`` were computed of the memories.
    """
    return _request(
        "synthesise",
        ANSWER_TOKENS[length],
        mark,
        f"Asked on {dated(now)}.",
        fenced("facts", "\n".join(facts), mark),
        fenced("memories", "\n".join(each.text for each in candidates), mark),
        fenced("question", query, mark),
    )


def summarising(memories: Sequence[Evidence], mark: str, *, now: int) -> Request[Synthesised]:
    """Return what a model is asked of memories that it is to sum up, the newest first."""
    told = fenced("memories", "\n".join(each.text for each in memories), mark)
    return _request("summarise", SUMMARY_TOKENS, mark, f"It is {dated(now)}.", told)


def _request(prompt: str, tokens: int, mark: str, *data: str) -> Request[Synthesised]:
    system, user = asked(prompt, mark, *data)
    told = ModelMessage(system.role, system.content.replace("<TOKENS>", str(tokens)))
    return Request([told, user], _FORM, "synthesise", _FORM_SHARE * tokens + _FORM_TOKENS)
