"""Reading a text costs in proportion to its length, whatever it is made of."""

import unicodedata
from collections.abc import Callable
from functools import partial

import pytest

from app.domain import words
from app.retrieval import selection
from app.retrieval.channels.numbers import Numbers
from app.retrieval.query import names
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.periods import periods
from app.retrieval.query.persons import of_the_user
from app.retrieval.query.terms import MAX_PHRASE, MAX_READ, clipped, terms
from bench.hostile import TEXTS
from tests.retrieval.pools import candidate, pool
from tests.support.cost import best, within
from tests.support.hostile import cases


def numbered(query: str, content: str) -> object:
    """Look for the numbers of a query in a memory."""
    return Numbers().score(pool(candidate("a", content)), ParsedQuery(query, terms(query)), {"a": 0.0})


READERS: dict[str, Callable[[str], object]] = {
    "terms": terms,
    "periods": lambda text: periods(text, 1_700_000_000_000),
    "names": partial(names.without_speakers, speakers={"anna", "fox"}),
    "persons": of_the_user,
    "segments": words.segments,
    "numbers": lambda text: numbered("a red fox 3", text),
    "numbers of a query": lambda text: numbered(clipped(text), "the red fox 3 has cubs. " * 400),
    "collapse": lambda text: list(selection.distinct([candidate("a", text), candidate("b", text + "x")])),
}


@pytest.mark.parametrize(("reader", "text"), cases(READERS, TEXTS, one_in=3))
def test_reading_costs_in_proportion_to_the_text(reader: str, text: str) -> None:
    quarter, whole = (TEXTS[text](size) for size in (8 * 1024, 32 * 1024))
    small, large = (best(partial(READERS[reader], made)) for made in (quarter, whole))
    assert within(large, 0.05)
    assert large < 9 * small + 0.002  # a cost that grows with the square would be 16 times as large


def test_a_phrase_is_looked_for_by_its_first_words() -> None:
    (term,) = terms('"' + "red " * 25 + '"')
    assert len(term.text.split()) == MAX_PHRASE
    (joined,) = terms("-".join(["1"] * 500))
    assert len(joined.text.split()) == MAX_PHRASE


def test_of_a_very_long_query_the_beginning_and_the_end_are_looked_for() -> None:
    found = {term.text for term in terms("first words " + "x " * 20_000 + "last thing")}
    assert {"first", "words", "last", "thing"} <= found


@pytest.mark.parametrize("text", ["请问 " + "红" * 5000, "red\tfox\t" * 700, "red fox " * 700])
def test_a_long_query_is_read_from_both_its_ends(text: str) -> None:
    read = clipped(text)
    assert MAX_READ - 150 < len(read) <= MAX_READ
    assert text.startswith(read[:1900])
    assert text.endswith(read[-1900:])
    assert terms(text)


def test_words_between_quotations_are_no_quotation() -> None:
    assert [term.text for term in terms('"' + "blue owl " * 20 + '" and wrote "red fox"')][-2:] == ["wrote", "red fox"]


def test_marks_that_are_told_apart_still_make_the_same_text() -> None:
    text = "a" + "\u0301\u0323" * 40
    assert words.normalised(text[:21]) == unicodedata.normalize("NFKC", text[:21])
    assert len(words.normalised(text)) < len(text) + 5
