"""What a ``min_score`` keeps and drops."""

import pytest

from bench.quality.asking import Asked
from bench.quality.cut import kept
from bench.quality.dataset import Question
from bench.quality.service import Answer


def asked(category: str, gold: str, *, foreign: bool = False, **scores: float) -> Asked:
    question = Question("q", "what?", frozenset(gold), category)
    return Asked("d", "a", question, Answer(tuple(scores), None, None, tuple(scores.values())), foreign)


def test_a_right_entry_is_kept_where_its_own_score_reaches_the_cut() -> None:
    counted = kept([asked("fact", "ab", a=0.9, b=0.4), asked("fact", "c", x=0.8, c=0.5), asked("fact", "z", x=0.8)])
    assert (counted.right, counted.right_kept) == (4, 0.5)


def test_questions_without_an_answer_are_counted_by_their_kind() -> None:
    counted = kept([
        asked("fact", "a", a=0.9),
        asked("off-topic", "", x=0.3, y=0.2),
        asked("off-topic", "", x=0.6),
        asked("near-topic", "", x=0.95),
        asked("fact", "a", foreign=True),
    ])  # fmt: skip
    off, near, foreign = (counted.unanswered[name] for name in ("off-topic", "near-topic", "foreign"))
    assert (off.questions, off.dropped, off.auc) == (2, 0.5, 1.0)
    assert off.median == pytest.approx(0.45)
    assert (near.questions, near.dropped, near.auc) == (1, 0.0, 0.0)
    assert (foreign.questions, foreign.dropped, foreign.median) == (1, 1.0, 0.0)
