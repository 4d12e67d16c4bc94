"""Reading conversations: what a turn is stored as, and which lines are refused."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.domain.limits import CONTENT_BYTES
from app.interfaces.cli.evaluation.dates import rfc3339
from bench.quality.dataset import Conversation, DataInvalid, Memory, chosen, read

ROOT = Path(__file__).parents[2]
LANGUAGES = ROOT / "bench" / "quality" / "languages.jsonl"


def turn(id_: str = "t1", text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"id": id_, "text": text, **fields}


def question(*gold: str, qid: str = "q1") -> dict[str, Any]:
    return {"qid": qid, "question": "what?", "gold": list(gold)}


def line(conv_id: str = "c", turns: list[Any] | None = None, questions: list[Any] | None = None) -> str:
    return json.dumps({"conv_id": conv_id, "turns": [turn()] if turns is None else turns, "questions": questions or []})


def reading(folder: Path, *lines: str, name: str = "data.jsonl") -> list[Conversation]:
    (folder / name).write_text("\n".join(lines), "utf-8")
    return read([folder])


def test_a_turn_is_stored_with_its_speaker_caption_session_and_time(tmp_path: Path) -> None:
    told = turn(text="Look!", speaker="Ann", session=3, date="1:56 pm on 8 May, 2023", caption="a photo of a dog")
    (conversation,) = reading(tmp_path, line(turns=[told]))
    assert conversation.memories == (Memory("t1", "Ann: Look! [a photo of a dog]", "3", "2023-05-08T13:56:00Z"),)


def test_what_a_turn_does_not_tell_is_left_out(tmp_path: Path) -> None:
    (conversation,) = reading(tmp_path, line(turns=[turn(session=None, date="", caption="")]))
    assert conversation.memories == (Memory("t1", "hello", None, None),)
    assert conversation.dataset == "data"


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00Z"),
        ("March-15-2024", "2024-03-15T00:00:00Z"),
        ("2024-03-15", "2024-03-15T00:00:00Z"),
        ("2024-03-15T10:00:00+02:00", "2024-03-15T10:00:00+02:00"),
        ("29.12.2023, 20:11:04", "2023-12-29T20:11:04Z"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00Z"),
    ],
)
def test_dates_are_read_as_data_sets_write_them(written: str, moment: str) -> None:
    assert rfc3339(written) == moment


def test_a_turn_longer_than_a_memory_loses_its_end_and_is_counted(tmp_path: Path) -> None:
    (conversation,) = reading(tmp_path, line(turns=[turn(text="å" * CONTENT_BYTES)]))
    assert conversation.memories[0].content == "å" * (CONTENT_BYTES // 2)
    assert conversation.cut == 1


def test_a_turn_that_repeats_another_counts_as_that_one(tmp_path: Path) -> None:
    turns = [turn("t1", "yes"), turn("t2", "no"), turn("t3", "yes"), turn("t4", "yes", session=2)]
    (conversation,) = reading(tmp_path, line(turns=turns, questions=[question("t3", "t2")]))
    assert [memory.turn_id for memory in conversation.memories] == ["t1", "t2", "t4"]
    assert conversation.questions[0].gold == {"t1", "t2"}
    assert conversation.repeated == 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "Invalid JSON"),
        ('{"conv_id": "d", "questions": []}', "turns: Field required"),
        (line("d", turns=[turn(), {"id": "t2", "text": 7}]), "turns.1.text: Input should be a valid string"),
        (line("d", turns=[turn(), turn()]), "the turn 't1' comes twice"),
        (line("d", turns=[turn(text=" ")]), "the turn 't1' says nothing"),
        (line("d", turns=[turn(date="one day")]), "the date 'one day' has no form that is known"),
        (line("d", questions=[question("t9")]), "the question 'q1' names the turn 't9', which is not there"),
        (line("d", questions=[question(), question()]), "the question 'q1' comes twice"),
        (line("c"), "the conversation 'c' is in data.jsonl:1 already"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, bad: str, said: str) -> None:
    with pytest.raises(DataInvalid) as refused:
        reading(tmp_path, line("c"), "", bad)
    assert str(refused.value).startswith("data.jsonl:3: ")
    assert said in str(refused.value)


def test_data_without_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="no conversation in"):
        read([tmp_path])
    with pytest.raises(DataInvalid, match="does not exist"):
        read([tmp_path / "nothing.jsonl"])


def test_conversations_are_chosen_by_id(tmp_path: Path) -> None:
    conversations = reading(tmp_path, line("a"), line("b"), line("c"))
    assert [one.conv_id for one in chosen(conversations, ["c", "a"])] == ["a", "c"]
    assert chosen(conversations, []) == conversations
    with pytest.raises(DataInvalid, match="no conversation z"):
        chosen(conversations, ["a", "z"])


def test_the_languages_are_as_many_notes_and_questions_in_each() -> None:
    conversations = read([LANGUAGES])
    assert [(len(one.memories), len(one.questions)) for one in conversations] == [(40, 20)] * 5
    categories = Counter(asked.category for one in conversations for asked in one.questions)
    assert categories == dict.fromkeys(["Swedish", "German", "Arabic", "Japanese", "Chinese"], 20)
    assert all(asked.gold for one in conversations for asked in one.questions)


@pytest.mark.parametrize(
    ("file", "dataset", "asked"),
    [
        ("everyday/agent-open.jsonl", "agent-queries", 208),
        ("everyday/everyday-open.jsonl", "everyday", 140),
        ("mixed/mixed.jsonl", "mixed", 150),
        ("languages.jsonl", "languages", 100),
    ],
)
def test_a_workload_of_our_own_is_measured_by_make_and_its_questions_have_evidence_and_figures(
    file: str, dataset: str, asked: int
) -> None:
    measured = (ROOT / "Makefile").read_text("utf-8").partition("\nRECALLED =")[2].partition("\n\n")[0]
    assert f"bench/quality/{file}" in measured
    conversations = read([ROOT / "bench" / "quality" / file])
    assert {each.dataset for each in conversations} == {dataset}
    answered = [
        question.gold <= {memory.turn_id for memory in each.memories}
        for each in conversations
        for question in each.questions
        if question.gold
    ]
    assert answered == [True] * asked
    figures = (ROOT / "bench" / "results" / "quality.md").read_text("utf-8")
    assert re.search(rf"^\| local, whole +\| {dataset} +\| {asked} ", figures, re.MULTILINE)
