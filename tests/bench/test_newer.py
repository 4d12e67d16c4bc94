"""Where an answer has changed: whether what holds now comes first."""

import json
from pathlib import Path

import pytest

from bench.quality.asking import Asked
from bench.quality.dataset import DataInvalid, Question, read
from bench.quality.newer import Newer, newer
from bench.quality.service import Answer

TURNS = [{"id": "a", "text": "Rome"}, {"id": "b", "text": "Oslo"}, {"id": "c", "text": "rain"}]


def asked(stated: str, found: str, *, foreign: bool = False) -> Asked:
    question = Question("q", "where?", frozenset(stated[-1:]), "fact", tuple(stated))
    return Asked("d", "a", question, Answer(tuple(found), None, None), foreign)


def conversation(folder: Path, **question: object) -> Question:
    line = {"conv_id": "x", "turns": TURNS, "questions": [{"qid": "q", "question": "where?", **question}]}
    (folder / "x.jsonl").write_text(json.dumps(line), "utf-8")
    return read([folder])[0].questions[0]


def test_the_newest_is_first_where_no_other_that_states_the_answer_is_before_it() -> None:
    answers = [asked("ab", "bca"), asked("ab", "cb"), asked("ab", "ab"), asked("ab", "ccccca"), asked("ab", "")]
    assert newer(answers) == Newer(questions=5, newer_first=2, outdated_left=2)


def test_questions_whose_answer_has_not_changed_and_those_of_others_do_not_count() -> None:
    assert newer([asked("", "a"), asked("ab", "b", foreign=True)]) is None


def test_what_is_outdated_is_named_beside_the_evidence_or_is_older_evidence(tmp_path: Path) -> None:
    assert conversation(tmp_path, gold=["b"], outdated=["a"]).stated == ("a", "b")
    assert conversation(tmp_path, gold=["b", "a"], category="knowledge_update").stated == ("a", "b")
    assert conversation(tmp_path, gold=["b", "a"], category="other").stated == ()
    with pytest.raises(DataInvalid, match="'z'"):
        conversation(tmp_path, gold=["b"], outdated=["z"])
