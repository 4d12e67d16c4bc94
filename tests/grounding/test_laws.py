"""What holds of every statement: words of a source are grounded, more sources never hurt, inventions are found."""

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from app.grounding import Checker, Source, Ungrounded
from tests.grounding.pairs import Pair, noon, pairs, ungrounded

SAID = noon("2026-03-10")
PAIRS = pairs("open")
GROUNDED = [pair for pair in PAIRS if not pair.found]
LINES = [source.text for pair in PAIRS for source in pair.sources]
HARD = ("number", "date", "name")
some_lines = st.lists(st.sampled_from(LINES), min_size=1, max_size=5)


def sources(*texts: str) -> list[Source]:
    return [Source(text, SAID, "user") for text in texts]


def hard(found: list[Ungrounded]) -> set[Ungrounded]:
    return {each for each in found if each.kind in HARD}


@given(some_lines, st.data())
def test_a_statement_that_is_a_sentence_of_its_source_is_grounded(lines: list[str], data: st.DataObject) -> None:
    assert ungrounded(data.draw(st.sampled_from(lines)), sources(*lines)) == []
    assert ungrounded(data.draw(st.sampled_from(lines)), sources(" ".join(lines))) == []


@given(st.text(max_size=300))
@example("a. ")
@example("\n\u0130")
@example('"')
def test_any_text_is_grounded_by_itself(text: str) -> None:
    assert ungrounded(text, sources(text)) == []


@given(st.lists(st.sampled_from(PAIRS), min_size=2, max_size=6), some_lines)
def test_what_was_checked_before_changes_nothing(given_pairs: list[Pair], more: list[str]) -> None:
    checker = Checker()
    cited = [source for pair in given_pairs for source in pair.sources]
    for pair in given_pairs:
        for read in (pair.sources, cited, [*sources(*more), *reversed(cited)]):
            assert list(checker.check(pair.statement, read).ungrounded) == ungrounded(pair.statement, read)


@given(st.sampled_from(PAIRS), some_lines)
def test_another_source_takes_no_number_date_or_name_away(pair: Pair, more: list[str]) -> None:
    assert hard(ungrounded(pair.statement, [*pair.sources, *sources(*more)])) <= hard(pair.found)


@given(st.sampled_from(GROUNDED), st.integers(3001, 9999), st.data())
def test_a_number_that_no_source_has_is_found(pair: Pair, number: int, data: st.DataObject) -> None:
    assume(all(str(number) not in source.text for source in pair.sources))
    assert ungrounded(inserted(pair.statement, str(number), data), pair.sources)


@given(
    st.sampled_from([pair for pair in GROUNDED if pair.language != "de"]),
    st.sampled_from(["Zorvath", "Brynhildson", "Quexacorp", "Ängsbacka"]),
    st.data(),
)
def test_a_name_within_a_sentence_that_no_source_has_is_found(pair: Pair, name: str, data: st.DataObject) -> None:
    words = pair.statement.split(" ")
    place = data.draw(st.integers(1, len(words) - 1))
    assume(words[place - 1][-1].isalnum())
    assert ungrounded(" ".join((*words[:place], name, *words[place:])), pair.sources)


def inserted(statement: str, word: str, data: st.DataObject) -> str:
    words = statement.split(" ")
    place = data.draw(st.integers(0, len(words)))
    return " ".join((*words[:place], word, *words[place:]))


LIES: dict[str, Callable[[str], str]] = {
    "a template": lambda statement: f"{statement} {{{{name}}}}",
    "a quotation": lambda statement: f'{statement} "Glittering prizes"',
    "a web address": lambda statement: f"{statement} See https://evil.example/x",
}


@pytest.mark.parametrize("lie", LIES)
@given(pair=st.sampled_from(GROUNDED))
def test_what_is_added_to_a_grounded_statement_is_found(lie: str, pair: Pair) -> None:
    assert ungrounded(LIES[lie](pair.statement), pair.sources)


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3), st.integers(-(10**18), 10**18))
def test_no_text_and_no_moment_is_an_error(statement: str, texts: list[str], moment: int) -> None:
    ungrounded(statement, [Source(text, moment, text[:5]) for text in texts])
