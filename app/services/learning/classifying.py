"""Asks a model for the type, the topic and the search queries of proposals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from app.domain.learned import Proposal
from app.domain.memory import MemoryType
from app.domain.words import normalised
from app.services.learning.request import Request, asked, clipped_schema, fenced

AT_ONCE = 20
"""Proposals that one call classifies at most."""
MAX_TOPIC_BYTES = 64
MIN_QUERIES, MAX_QUERIES = 3, 5
MAX_QUERY = 200
"""Characters of a search query."""
MAX_TOKENS = 2_500
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Classification:
    """What a model says of one proposal."""

    memory: int
    type: MemoryType
    topic: Annotated[str, Field(max_length=100)]
    queries: Annotated[list[Annotated[str, Field(max_length=250)]], Field(max_length=8)]


@dataclass(frozen=True, slots=True)
class Classified:
    """The answer of the stage ``classify``."""

    memories: Annotated[list[Classification], Field(max_length=AT_ONCE)]


_FORM = clipped_schema("classify", Classified)


def classification(proposals: Sequence[Proposal], topics: Sequence[str], mark: str) -> Request[Classified]:
    """Return what a model is asked of proposals, at most ``AT_ONCE``; ``topics`` are those that it may pick."""
    memories = "\n".join(f"({place}) {each.content}" for place, each in enumerate(proposals, 1))
    return Request(
        asked("classify", mark, fenced("memories", memories, mark), fenced("topics", "\n".join(sorted(topics)), mark)),
        _FORM,
        "classify",
        MAX_TOKENS,
    )


def classified(answer: Classified, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals in their order, each with its type, and its topic and search queries as far as they can be.

    One of which nothing is said is an event, which replaces nothing.
    """
    of = {each.memory: each for each in answer.memories}
    found = []
    for number, proposal in enumerate(proposals, 1):
        if number not in of:
            found.append(replace(proposal, type="event", topic=None))
            continue
        said = of[number]
        queries = list(dict.fromkeys(" ".join(each.split()) for each in said.queries))
        found.append(
            replace(
                proposal,
                type=said.type,
                topic=topic(said.topic) if said.type in {"fact", "instruction"} else None,
                happened_at=proposal.happened_at if said.type == "event" else None,
                search_queries=[each for each in queries if 0 < len(each) <= MAX_QUERY][:MAX_QUERIES],
            )
        )
    return found


def topic(text: str) -> str | None:
    """Return a topic in normal form: letters and digits of any script with ``_`` between words. None: it is none."""
    found = _NO_LETTER.sub("_", normalised(text).casefold()).strip("_")
    return found if found and len(found.encode()) <= MAX_TOPIC_BYTES else None
