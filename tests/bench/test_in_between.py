"""Questions that are asked while a conversation is told, and figures by sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.quality.asking import Asked, Plan, ask, tell
from bench.quality.converting import converted
from bench.quality.dataset import Conversation, DataInvalid, Memory, Question, read
from bench.quality.document import found
from bench.quality.measuring import Measurement, measure_bm25, measure_service
from bench.quality.service import Answer
from bench.quality.services.bm25 import Bm25
from bench.quality.sessions import found as sessions_found
from bench.quality.sessions import gold
from bench.quality.summary import Served, summary

TURNS = [{"id": f"t{number}", "text": f"turn {number}", "session": number // 2} for number in range(4)]


def reading(folder: Path, turns: list[dict[str, Any]], *questions: dict[str, Any]) -> Conversation:
    asked = [{"qid": f"q{number}", "question": "what?", **question} for number, question in enumerate(questions)]
    line = {"dataset": "d", "conv_id": "x", "turns": turns, "questions": asked}
    (folder / "x.jsonl").write_text(json.dumps(line), "utf-8")
    return read([folder])[0]


class Noting:
    """A service that notes what happens to it, and finds the last turn it was told."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.last = ""

    async def store(self, namespace: str, memory: Memory) -> None:
        assert namespace == "p.x"
        self.last = memory.turn_id
        self.noted.append(memory.turn_id)

    async def ready(self, namespace: str) -> None:
        assert namespace == "p.x"
        self.noted.append("ready")

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        assert (namespace, question, top_k, at) == ("p.x", "what?", 20, None)
        self.noted.append("asked")
        return Answer((self.last,))


async def test_a_question_is_asked_when_what_comes_before_its_turn_is_told_and_searched(tmp_path: Path) -> None:
    held = [reading(tmp_path, TURNS, {"before": "t2", "gold": ["t1"]}, {"before": "t2"}, {"gold": ["t3"]})]
    service = Noting()
    between = await tell(service, held, Plan("p"))
    assert service.noted == ["t0", "t1", "ready", "asked", "asked", "t2", "t3", "ready"]
    assert [(one.question.qid, one.answer.turn_ids) for one in between] == [("q0", ("t1",)), ("q1", ("t1",))]
    afterwards = await ask(service, held, Plan("p"))
    assert [(one.question.qid, one.answer.turn_ids) for one in afterwards] == [("q2", ("t3",))]


async def test_a_service_is_measured_with_the_questions_in_between_and_those_at_the_end(tmp_path: Path) -> None:
    held = [reading(tmp_path, TURNS, {"before": "t2", "gold": ["t1"]}, {"gold": ["t3"]}, {"gold": ["t0"]})]
    run = await measure_service("s", Noting(), Measurement(held, Plan("p"), 10))
    assert run.by_dataset["d"].questions == 3
    assert run.by_dataset["d"].figures["hit@1"].mean == pytest.approx(2 / 3)


async def test_before_anything_is_told_nothing_is_found(tmp_path: Path) -> None:
    held = [reading(tmp_path, TURNS, {"before": "t0"}, {"gold": ["t0"]})]
    between = await tell(Bm25(), held, Plan("p"))
    assert [one.answer.turn_ids for one in between] == [()]
    assert (await measure_bm25(Measurement(held, Plan("p"), 10))).abstention["d"].unanswerable == 1


def test_a_turn_that_repeats_another_is_no_memory_more_before_a_question(tmp_path: Path) -> None:
    turns = [{"id": f"t{number}", "text": text} for number, text in enumerate(["yes", "no", "yes", "well", "no"])]
    conversation = reading(tmp_path, turns, {"before": "t3", "gold": ["t2"]}, {"before": "t2"}, {"before": "t4"})
    assert [one.told for one in conversation.questions] == [2, 2, None]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"before": "t9"}, "the question 'q0' names the turn 't9', which is not there"),
        ({"before": "t2", "gold": ["t2"]}, "the question 'q0' is asked before the turn 't2' that it names"),
        ({"sessions": [9]}, "the question 'q0' names the session '9', which is not there"),
    ],
)
def test_a_question_that_cannot_be_asked_so_is_refused(tmp_path: Path, question: dict[str, Any], said: str) -> None:
    with pytest.raises(DataInvalid) as refused:
        reading(tmp_path, TURNS, question)
    assert said in str(refused.value)


def answered(
    gold_turns: str, found_turns: str, told: dict[str, str], *, named: tuple[str, ...] = (), dataset: str = "d"
) -> Asked:
    question = Question("q", "what?", frozenset(gold_turns), "c", sessions=frozenset(named))
    return Asked(dataset, "a", question, Answer(tuple(found_turns)), sessions=told)


def test_the_sessions_of_an_answer_are_those_of_its_turns_in_order_each_once() -> None:
    one = answered("ad", "cabd", {"a": "1", "b": "1", "c": "2", "d": "3"})
    assert gold(one) == {"1", "3"}
    assert sessions_found(one) == ("2", "1", "3")


def test_a_turn_without_a_session_takes_a_place_of_its_own() -> None:
    one = answered("a", "xya", {"a": "1"})
    assert sessions_found(one) == ("x", "y", "1")


def test_sessions_that_the_data_name_come_before_those_of_the_turns() -> None:
    assert gold(answered("a", "", {"a": "1", "b": "2"}, named=("1", "2"))) == {"1", "2"}


def test_figures_by_sessions_are_told_beside_those_by_turns_where_there_are_sessions() -> None:
    told = {"a": "1", "b": "1", "c": "2"}
    run = summary(
        Served("s", "", {}, 1.0), [answered("a", "cb", told), answered("a", "b", {}, dataset="e")], resamples=10
    )
    assert list(run.by_session) == ["d"]
    assert run.by_dataset["d"].figures["recall@5"].mean == 0.0
    assert run.by_session["d"].figures["recall@5"].mean == 1.0
    assert [line[1] for line in found([run])] == ["data", "d", "d, sessions", "e", "all"]


def test_a_message_of_a_working_dialogue_is_asked_before_the_session_that_it_opens(tmp_path: Path) -> None:
    def turn(id_: str, session: str, content: str) -> dict[str, Any]:
        told = {"id": id_, "session": session, "day": "2026-01-02", "speaker": "User", "content": content}
        return {"kind": "turn", "is_query": False, **told}

    query = {
        "kind": "query",
        "id": "Q-1",
        "asked_in": "s2",
        "query": "And now?",
        "category": "Dynamic Updating",
        "evidence_turns": ["s1:0"],
        "evidence_sessions": ["s1"],
    }
    rows = [turn("s1:0", "s1", "Plan it."), query, turn("s2:0", "s2", "a"), turn("s2:1", "s2", "b")]
    person, made = tmp_path / "person.jsonl", tmp_path / "made.jsonl"
    person.write_text("\n".join([*map(json.dumps, rows), ""]), "utf-8")
    made.write_text("\n".join(map(json.dumps, converted("realmem", [person]))), "utf-8")
    (conversation,) = read([made])
    assert (conversation.dataset, conversation.conv_id) == ("realmem", "person")
    assert conversation.memories[0] == Memory("s1:0", "User: Plan it.", "s1", "2026-01-02T00:00:00Z")
    assert conversation.questions == (
        Question("Q-1", "And now?", frozenset({"s1:0"}), "Dynamic Updating", told=1, sessions=frozenset({"s1"})),
    )
