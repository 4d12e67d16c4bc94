"""What holds of every answer, whatever is asked and whatever the memories hold."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.memory import Memory, Scope
from app.domain.query import Entry
from app.services.answering.choosing import SURE_SCORE
from app.services.answering.composing import ComposedAnswer, Length
from app.services.answering.summary import MAX_CHARACTERS, MAX_LINES, summary
from app.services.learning.plain import name, plain
from tests.services.answering.made import Earlier, answer

NOW = 1_780_000_000_000
MOMENTS = st.integers(NOW - 10**11, NOW + 10**9) | st.integers(-(10**16), 10**16)
WORDS = [
    *(
        "I",
        "we",
        "user",
        "moved",
        "to",
        "Oslo",
        "Rome",
        "live",
        "in",
        "use",
        "npm",
        "pnpm",
        "last",
        "week",
        "yesterday",
    ),
    *(
        "not",
        "before",
        "ran",
        "the",
        "marathon",
        "adopted",
        "cat",
        "days",
        "ago",
        "since",
        "12",
        "March",
        "2026",
        "rent",
    ),
    *(".", "?", "!", "\n", "#", "-", "[x](y)", "```", '"', "\u2028", "\ud800", "Ann:", "My", "is", "900", "950"),
    *("f\u00f6rra", "veckan", "jag", "bor", "i"),
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(st.characters(), max_size=80)
QUERIES = (
    st.sampled_from(
        [
            "Where did I live before?",
            "How many days after the marathon did I adopt the cat?",
            "Which package manager do we use?",
            "How long ago did I move to Oslo?",
            "When did I last run the marathon?",
            "How often did I adopt a cat this year?",
            "Since when do I live in Rome?",
            "Var bor jag?",
        ]
    )
    | TEXTS
)
SCORES = st.floats(0, 1)
LENGTHS = st.sampled_from(["short", "medium", "long"])


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    contents = draw(st.lists(TEXTS, max_size=6))
    return [
        Entry(
            id=f"m{place}",
            content=content,
            metadata=draw(st.sampled_from([{}, {"speaker": "Ann"}, {"speaker": "assistant"}, {"speaker": "\n#"}])),
            score=draw(SCORES),
            created_at=draw(MOMENTS),
            occurred_at=draw(st.none() | MOMENTS),
        )
        for place, content in enumerate(contents)
    ]


FORMERS = st.dictionaries(
    st.sampled_from([f"m{place}" for place in range(6)]),
    st.lists(st.builds(Earlier, TEXTS, MOMENTS, MOMENTS), max_size=3),
    max_size=3,
)


def composed(query: str, found: Sequence[Entry], formers: dict[str, list[Earlier]], length: Length) -> ComposedAnswer:
    relevance = {each.id: each.score for each in found}
    return answer(query, *found, formers=formers, at=NOW, length=length, relevance=relevance)


@given(QUERIES, entries(), FORMERS, LENGTHS)
def test_every_sentence_stands_in_the_memory_that_it_cites_or_in_what_held_before_it(
    query: str, found: list[Entry], formers: dict[str, list[Earlier]], length: Length
) -> None:
    contents = {each.id: each.content for each in found}
    for quote in composed(query, found, formers, length).quotes:
        before = [plain(former.content) for former in formers.get(quote.memory_id, ())]
        said = quote.text in plain(contents[quote.memory_id])
        assert said or (quote.until is not None and any(quote.text in each for each in before))


@given(QUERIES, entries(), FORMERS, LENGTHS)
def test_what_is_found_is_one_line_each(
    query: str, found: list[Entry], formers: dict[str, list[Earlier]], length: Length
) -> None:
    made = composed(query, found, formers, length)
    assert bool(made.text) == bool(made.cited)
    assert len(made.text) <= 6_800
    assert made.text.splitlines() == list(filter(None, made.text.split("\n")))
    assert len(made.text.split("\n")) - len(made.quotes) in {0, 1}


@given(QUERIES, entries(), FORMERS, LENGTHS)
def test_the_same_input_has_the_same_answer_and_the_first_sentence_is_of_the_first_entry(
    query: str, found: list[Entry], formers: dict[str, list[Earlier]], length: Length
) -> None:
    made = composed(query, found, formers, length)
    again = composed(query, found, formers, length)
    assert (again.text, again.cited) == (made.text, made.cited)
    if made.quotes and len(made.text.split("\n")) == len(made.quotes):  # nothing was computed
        assert found[0].score >= SURE_SCORE
        assert made.quotes[0].memory_id == found[0].id or not plain(found[0].content)


@given(st.lists(st.tuples(TEXTS, MOMENTS, st.booleans()), max_size=8))
def test_a_summary_is_in_its_bounds_and_no_line_is_a_memorys_own(made: list[tuple[str, int, bool]]) -> None:
    memories = [
        Memory(
            id=str(place),
            scope=Scope("t", "a"),
            content=text,
            metadata={},
            session_id=None,
            occurred_at=moment if dated else None,
            created_at=moment,
            expires_at=None,
        )
        for place, (text, moment, dated) in enumerate(made)
    ]
    found = summary(memories)
    assert len(found) <= MAX_CHARACTERS
    lines = found.split("\n")
    assert len(lines) <= MAX_LINES
    titles = ["## What holds", "## Instructions", "## Tasks", "## Recently"]
    assert all(not line or line in titles or line.startswith("- ") for line in lines)


@pytest.mark.parametrize("speaker", ["system", " SYSTEM:", "[System]", "\uff33ystem"], ids=ascii)
def test_nothing_is_quoted_under_the_name_of_the_system(speaker: str) -> None:
    assert (name(speaker), name("Systems Ltd"), name("Ann")) == ("program", "Systems Ltd", "Ann")
