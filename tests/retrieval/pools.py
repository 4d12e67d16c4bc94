"""Candidates as a recall gathers them, without a database."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from app.domain.json_types import to_json
from app.retrieval.pool import Candidate, Pool, ScopeStats

CONTENTS = ["Ann: the fox is red", "bob: a bear", "user: an owl", "no one", "a text at 12:30: nothing", "Ann Lee: yes"]


def bits(terms: Sequence[int]) -> int:
    """Return the terms as a candidate has them."""
    return sum(1 << term for term in terms)


def candidate(id_: str, content: str = "text", **fields: Any) -> Candidate:
    whole: dict[str, Any] = {"created_at": 0, "happened_at": 0, "session_id": None, "before": None, "words": ()}
    whole |= {"bytes": 100, "metadata": {}} | fields
    metadata_json = to_json(whole.pop("metadata"))
    whole["words"] = bits(whole["words"])
    return Candidate(id=id_, content=content, metadata_json=metadata_json, **whole)


def pool(
    *candidates: Candidate,
    memories: int = 10,
    found: Mapping[int, int] | None = None,
    cosines: Mapping[str, float] | None = None,
) -> Pool:
    """Put candidates together; they link to each other by ``before``, as those that are read do."""
    counts = {str(term): count for term, count in (found or {}).items()}
    return Pool.of([replace(each) for each in candidates], ScopeStats(memories, counts), cosines)


def session(*contents: str, **fields: Any) -> list[Candidate]:
    """Make the candidates "0", "1" and so on of one session, in their order."""
    return [
        candidate(str(n), content, session_id="s", before=None if n == 0 else str(n - 1), **fields)
        for n, content in enumerate(contents)
    ]


@st.composite
def pools(draw: st.DrawFn, terms: int) -> Pool:
    """Draw candidates in up to two sessions, and the cosines of some of them and of what is gone."""
    last: dict[str, str] = {}
    drawn: list[Candidate] = []
    for n in range(draw(st.integers(0, 14))):
        of_session = draw(st.sampled_from([None, "s", "t"]))
        words: Sequence[int] = draw(st.lists(st.integers(0, terms - 1), unique=True)) if terms else []
        drawn.append(
            candidate(
                str(n),
                draw(st.sampled_from(CONTENTS)),
                metadata=draw(st.sampled_from([{}, {"speaker": "Bob"}, {"speaker": 1}])),
                created_at=draw(st.integers(0, 3)),
                happened_at=draw(st.sampled_from([0, 1_700_000_000_000])),
                session_id=of_session,
                before=None if of_session is None else last.get(of_session),
                bytes=draw(st.sampled_from([1, 100, 350, 32768])),
                words=tuple(words),
            )
        )
        if of_session is not None:
            last[of_session] = str(n)
    ids = [*(each.id for each in drawn), "gone"]
    cosines = draw(st.dictionaries(st.sampled_from(ids), st.floats(-1, 1)))
    found = {term: draw(st.integers(0, 20)) for term in range(terms)}
    return pool(*drawn, memories=15, found=found, cosines=cosines)
