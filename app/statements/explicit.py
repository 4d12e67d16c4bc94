"""What a memory states where a reader compares memories: what whoever stored it has put into parts."""

from collections.abc import Mapping
from dataclasses import replace

from app.domain.claim import MemoryType, Stated
from app.domain.facts import fact_in
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.statements.facts import read_fact
from app.statements.learned import read_learned


def read_explicit(
    metadata: Mapping[str, Json], learned: Learned | None, content: str, type_: MemoryType | None
) -> Stated:
    """Return the claim of a fact, or of a topic; all else waits for a reader.

    Until a reader has said what it is, it is a fact, unless a language model has.
    """
    if learned is not None:
        return replace(read_learned(content, learned, type_), waits=True)
    fact = fact_in(metadata)
    stated = Stated(type="fact") if fact is None else read_fact(fact)
    return replace(stated, waits=True)
