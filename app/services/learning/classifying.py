"""Asks a model for the type, the topic and the search queries of proposals."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from app.domain.claim import MemoryType
from app.domain.learned import Proposal
from app.domain.words import folded
from app.services.learning.sifting import one_line, whats_wrong
from app.services.models.request import ModelRequest, asked, fenced, request

AT_ONCE = 20
"""Proposals that one call classifies at most."""
MAX_TOPIC_BYTES = 64
MIN_QUERIES, MAX_QUERIES = 3, 5
MAX_QUERY = 200
"""Characters of a search query."""
MAX_TOKENS = 3_000
MAX_OF_TOPIC = 3
"""Memories of one call that may have one topic: a person corrects one thing twice, not ten things at once."""
MAX_TOPICS = 20
"""Topics that a model is shown."""
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Classification:
    """What a model says of one proposal."""

    memory: int
    type: MemoryType
    topic: Annotated[str, Field(max_length=100)]
    queries: Annotated[
        list[Annotated[str, Field(max_length=250)]], Field(max_length=8, json_schema_extra={"minItems": MIN_QUERIES})
    ]


@dataclass(frozen=True, slots=True)
class Classified:
    """The answer of the stage ``classify``."""

    memories: Annotated[list[Classification], Field(max_length=AT_ONCE)]


def classification(proposals: Sequence[Proposal], topics: Sequence[str], mark: str) -> ModelRequest[Classified]:
    """Return the request that classifies proposals, at most ``AT_ONCE``; it shows the ``topics``, nearest first.

    Raises:
        ValueError: there are too many proposals, which is a defect.
    """
    if len(proposals) > AT_ONCE:
        raise ValueError(f"{AT_ONCE} proposals are classified at once.")
    memories = "\n".join(f"({place}) {proposal.content}" for place, proposal in enumerate(proposals, 1))
    known = "\n".join(list(filter(None, map(topic, topics)))[:MAX_TOPICS])
    messages = asked("classify", mark, fenced("memories", memories, mark), fenced("topics", known, mark))
    return request("classify", Classified, MAX_TOKENS, messages)


def unsaid(answer: Classified, proposals: Sequence[Proposal]) -> Sequence[int]:
    """Return the numbers, from 1, of the proposals that an answer leaves out."""
    said = {memory.memory for memory in answer.memories}
    return [number for number in range(1, len(proposals) + 1) if number not in said]


def classified(
    answer: Classified, proposals: Sequence[Proposal], kinds: Mapping[int, MemoryType] | None = None
) -> list[Proposal]:
    """Return the proposals in their order, each with its type, and with a topic and search queries that are valid.

    A proposal that the answer leaves out has the kind that ``kinds`` has by its number, else it is an event. It has no
    topic, so it replaces no memory. Only an event keeps the moment at which it happened: a fact, an instruction or a
    task holds from the moment at which it was said. A topic that more than ``MAX_OF_TOPIC`` proposals share tells no
    two apart and is dropped.
    """
    said = {memory.memory: memory for memory in reversed(answer.memories)}
    kinds = kinds or {}
    found = [
        _of(proposal, said.get(number), kinds.get(number, "event")) for number, proposal in enumerate(proposals, 1)
    ]
    shared = Counter(proposal.topic for proposal in found)
    return [proposal if shared[proposal.topic] <= MAX_OF_TOPIC else replace(proposal, topic=None) for proposal in found]


def _of(proposal: Proposal, said: Classification | None, unsaid_kind: MemoryType) -> Proposal:
    kind = unsaid_kind if said is None else said.type
    return replace(
        proposal,
        type=kind,
        topic=topic(said.topic) if said and kind in {"fact", "instruction"} else None,
        happened_at=proposal.happened_at if kind == "event" else None,
        search_queries=_queries(said.queries, proposal.content) if said else (),
    )


def _queries(said: Sequence[str], content: str) -> Sequence[str]:
    """Return at most ``MAX_QUERIES`` different queries that are short enough and pass ``whats_wrong``."""
    queries = {folded(query): query for query in reversed([one_line(each) for each in said])}
    kept = [each for each in reversed(queries.values()) if len(each) <= MAX_QUERY and not whats_wrong(each, [content])]
    return kept[:MAX_QUERIES]


def topic(text: str) -> str | None:
    """Return a topic in normal form, or None where the text is no topic.

    A topic names a thing and its attribute. One word, such as "user", names only a thing that many memories are about:
    with such a topic they would replace each other.
    """
    found = in_normal_form(text)
    return found if "_" in found else None


def in_normal_form(text: str) -> str:
    """Return letters and digits of any script with ``_`` between words; "" without any, or with too many bytes."""
    found = _NO_LETTER.sub("_", folded(text)).strip("_")
    return found if len(found.encode()) <= MAX_TOPIC_BYTES else ""
