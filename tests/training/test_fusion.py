"""Fitting what counts in a score: the file, the labelled sets and the fit itself."""

from pathlib import Path
from random import Random

import pytest

from app.retrieval.channels import CHANNELS
from app.retrieval.fusion import Fusion
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from app.retrieval.weights import PACKAGED, WEIGHTS, Weights
from bench.quality.dataset import read
from tests.retrieval.pools import candidate, pool
from training.fusion.file import write
from training.fusion.fitting import above_vectors, fitted, joined
from training.fusion.gathering import Case, few
from training.fusion.sets import NOTES

CHANNELS_OF_WORDS = {**WEIGHTS.note.channels, "lexical": 6.0, "vector": 6.0}
QUERY = ParsedQuery("fox bear", terms("fox bear"))


def case(number: int, *, by_meaning: bool) -> Case:
    """Make a question with two candidates of which one is near and the other has the words: either may answer.

    Those of odd numbers are turns.
    """
    draw, session = Random(number), "s" if number % 2 else None
    near = candidate("near", f"near {number}", session_id=session)
    words = candidate("words", f"words {number}", words=(0, 1), session_id=session)
    others = [candidate(str(n), f"other {n}", session_id=session) for n in range(30)]
    cosines = {"near": 0.4 + 0.2 * draw.random(), **{one.id: 0.2 * draw.random() for one in others}}
    gathered = pool(near, words, *others, found={0: 2, 1: 2}, cosines=cosines)
    answers = frozenset({"near"} if by_meaning == (number % 10 > 1) else {"words"})
    return Case(QUERY, gathered, answers, frozenset(), 0.1)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write(WEIGHTS, tmp_path / "weights.toml")
    assert Weights.of(tmp_path / "weights.toml") == WEIGHTS
    assert (tmp_path / "weights.toml").read_text() == PACKAGED.read_text()


@pytest.mark.parametrize(
    ("was", "instead"),
    [
        ("[score]", "[other]"),
        ("evidence = ", "evidence = -"),
        ("others = -", "others = -9"),
        ("beside = ", "beside = -1"),
    ],
)
def test_a_file_that_lacks_a_number_or_has_one_out_of_bounds_is_refused(tmp_path: Path, was: str, instead: str) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(PACKAGED.read_text().replace(was, instead, 1))
    with pytest.raises(ValueError, match="validation error"):
        Weights.of(file)


def test_every_channel_has_a_weight_for_both_kinds_and_there_are_no_others() -> None:
    names = {channel.name for channel in CHANNELS}
    assert WEIGHTS.note.channels.keys() == WEIGHTS.turn.channels.keys() == names


def test_the_fit_finds_which_channel_tells_what_answers_and_scores_as_often_as_it_does() -> None:
    by_meaning = [case(number, by_meaning=True) for number in range(100)]
    by_words = [case(number, by_meaning=False) for number in range(100)]
    near = fitted([by_meaning], [], WEIGHTS)
    told = fitted([by_words], [], WEIGHTS)
    for of_near, of_told in ((near.note, told.note), (near.turn, told.turn)):
        shares = [kind.channels["vector"] / (kind.channels["lexical"] or 0.01) for kind in (of_near, of_told)]
        assert shares[0] > 1.5 * shares[1]
    scores = [Fusion(QUERY, each.pool, weights=near).likelihoods["near"] for each in by_meaning]
    assert sum(scores) / len(scores) == pytest.approx(0.8, abs=0.07)


def test_words_of_notes_count_less_where_a_set_of_notes_would_be_below_vectors_alone() -> None:
    words = WEIGHTS.model_copy(update={"note": WEIGHTS.note.model_copy(update={"channels": CHANNELS_OF_WORDS})})
    near, told = (
        [case(number, by_meaning=by_meaning) for number in range(0, 1_000, 4) if number % 10 > 1]
        for by_meaning in (True, False)
    )
    of_turns = [case(number, by_meaning=True) for number in range(1, 1_000, 4) if number % 10 > 1]
    few_of_them = near[:50]
    assert above_vectors([told, of_turns, few_of_them], words).note.channels["lexical"] == 6.0
    assert above_vectors([told, near], words).note.channels["lexical"] < 5.5


def test_a_relevance_that_tells_what_answers_counts_more_than_one_that_tells_nothing() -> None:
    cases = [case(number, by_meaning=True) for number in range(100)]
    draw = Random(1)
    ids = ["near", "words", *map(str, range(8))]
    blind = [{id_: draw.uniform(0.2, 0.8) for id_ in ids} for _ in cases]
    told = [
        {id_: draw.uniform(0.5, 0.9) if id_ in one.answers else draw.uniform(0.1, 0.6) for id_ in ids} for one in cases
    ]
    by_told, by_blind = joined(cases, told, WEIGHTS), joined(cases, blind, WEIGHTS)
    assert by_told.note.read.relevance > 2 * abs(by_blind.note.read.relevance)
    assert by_told.turn.read.relevance > 2 * abs(by_blind.turn.read.relevance)


def test_a_case_of_a_few_memories_keeps_what_answers_and_few_others() -> None:
    whole = case(1, by_meaning=True)
    for seed in range(20):
        small = few(whole, Random(seed))
        assert whole.answers <= small.pool.candidates.keys()
        assert len(small.pool.candidates) <= 5
        assert small.pool.stats.memories == len(small.pool.candidates)
        nothing = few(Case(QUERY, whole.pool, frozenset(), frozenset()), Random(seed))
        assert 1 <= len(nothing.pool.candidates) <= 4


def test_the_notes_are_480_with_600_questions_and_the_sealed_ones_are_others() -> None:
    notes = read([NOTES])
    sealed = read([Path("bench/quality/notes/notes-sealed.jsonl")])
    assert (sum(len(one.memories) for one in notes), sum(len(one.questions) for one in notes)) == (480, 600)
    assert (sum(len(one.memories) for one in sealed), sum(len(one.questions) for one in sealed)) == (240, 300)
    assert not {one.conv_id for one in notes} & {one.conv_id for one in sealed}
