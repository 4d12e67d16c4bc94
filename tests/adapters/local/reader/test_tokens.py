"""How texts are laid out for the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.local.reader.tokens import MAX_TOKENS, TYPES, ReaderTokens, Task
from app.adapters.local.wordpiece import WordPiece
from tests.adapters.local.tiny_model import VOCABULARY

FIRST, LAST = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")
RED, GREEN, BLUE, ISH = (VOCABULARY.index(word) for word in ("red", "green", "blue", "##ish"))
TOKENS = ReaderTokens(WordPiece(VOCABULARY))


def test_two_texts_stand_between_control_tokens_and_the_first_one_says_what_is_asked() -> None:
    found = TOKENS.sequence(Task.RELEVANCE, "red", "green")
    assert found.ids == [FIRST, RED, LAST, GREEN, LAST]
    assert found.types == [4 + Task.RELEVANCE, 0, 0, 1, 1]


def test_a_word_that_the_other_text_has_too_is_marked_in_both() -> None:
    found = TOKENS.sequence(Task.RELATION, "red blueish", "Blueish green")
    assert found.ids == [FIRST, RED, BLUE, ISH, LAST, BLUE, ISH, GREEN, LAST]
    assert found.types == [4, 0, 2, 2, 0, 3, 3, 1, 1]


def test_one_text_stands_alone() -> None:
    found = TOKENS.sequence(Task.KIND, "red")
    assert (found.ids, found.types) == ([FIRST, RED, LAST], [4 + Task.KIND, 0, 0])


@pytest.mark.parametrize(("first", "second"), [(300, 3), (3, 300), (300, 300), (95, 94), (96, 96)])
def test_the_longer_of_two_texts_gives_way(first: int, second: int) -> None:
    found = TOKENS.sequence(Task.FOLLOWS, "red " * first, "green " * second)
    assert len(found) == min(MAX_TOKENS, first + second + 3)
    half = (MAX_TOKENS - 3) // 2
    assert found.ids.count(RED) >= min(first, half)
    assert found.ids.count(GREEN) >= min(second, half)


@given(st.text(), st.text() | st.none(), st.sampled_from(Task))
def test_every_text_has_a_sequence_of_bounded_length(first: str, second: str | None, task: Task) -> None:
    found = TOKENS.sequence(task, first, second)
    assert 2 <= len(found) == len(found.types) <= MAX_TOKENS
    assert all(0 <= kind < TYPES for kind in found.types)
    assert found.ids.count(LAST) == (1 if second is None else 2)
