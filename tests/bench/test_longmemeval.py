"""Instances of LongMemEval as conversations."""

import json
from pathlib import Path
from typing import Any

from bench.quality.converting import converted
from bench.quality.dataset import Conversation, read

INSTANCE: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "knowledge-update",
    "question": "Where do I live?",
    "answer": "Oslo",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s1", "s2"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/25 (Thu) 10:00"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": " "}],
        [
            {"role": "user", "content": "I moved to Oslo.", "has_answer": True},
            {"role": "assistant", "content": "Nice."},
        ],
    ],
    "answer_session_ids": ["s2"],
}


def lines(tmp_path: Path, **changed: Any) -> list[dict[str, Any]]:
    """Return the lines that are made of an instance."""
    file = tmp_path / "longmemeval.json"
    file.write_text(json.dumps([{**INSTANCE, **changed}]), "utf-8")
    return list(converted("longmemeval", [file]))


def conversation(tmp_path: Path, **changed: Any) -> Conversation:
    """Return an instance as the programs read it."""
    (made,) = lines(tmp_path, **changed)
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps(made), "utf-8")
    (found,) = read([file])
    return found


def test_the_turns_keep_their_sessions_and_days_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    found = conversation(tmp_path)
    assert [(memory.content, memory.session_id, memory.occurred_at) for memory in found.memories] == [
        ("user: Hello", "s1", "2023-05-20T02:21:00Z"),
        ("user: I moved to Oslo.", "s2", "2023-05-25T10:00:00Z"),
        ("assistant: Nice.", "s2", "2023-05-25T10:00:00Z"),
    ]
    assert found.asked_at == "2023-05-30T23:40:00Z"


def test_the_evidence_is_the_turns_that_are_marked_and_their_sessions(tmp_path: Path) -> None:
    found = conversation(tmp_path)
    (question,) = found.questions
    evidence = [memory.content for memory in found.memories if memory.turn_id in question.gold]
    assert evidence == ["user: I moved to Oslo."]
    assert (question.sessions, question.category) == (frozenset({"s2"}), "knowledge-update")


def test_a_question_to_abstain_from_has_no_evidence(tmp_path: Path) -> None:
    (question,) = conversation(tmp_path, question_id="q1_abs").questions
    assert (question.gold, question.category) == (frozenset(), "abstention")


def test_an_instance_that_marks_no_evidence_is_left_out(tmp_path: Path) -> None:
    unmarked = [[{"role": "user", "content": "I moved to Oslo."}], [{"role": "user", "content": "Yes."}]]
    assert lines(tmp_path, haystack_sessions=unmarked) == []
