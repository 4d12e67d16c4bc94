"""What recalls find of a published set: each form is read, nothing else is touched, figures are counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.interfaces.cli.evaluation.dataset import DataInvalid
from app.interfaces.cli.evaluation.dates import rfc3339
from app.interfaces.cli.evaluation.figures import evidence_figures
from app.interfaces.cli.evaluation.published import SETS, drawn_questions, read_set
from tests.interfaces.cli.line import Line, misused

OSLO, BERGEN = "I moved to Oslo in spring.", "My sister lives in Bergen."

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": f"q{number}{end}",
        "question_type": "single-session-user",
        "question": "Where did I move in spring?",
        "answer": "Oslo",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/25 (Thu) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": BERGEN}],
            [{"role": "user", "content": OSLO, "has_answer": not end}, {"role": "assistant", "content": "Nice."}],
        ],
        "answer_session_ids": [] if end else ["s2"],
    }
    for number, end in enumerate(["", "_abs"])
]
LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10_date_time": "1:56 pm on 8 May, 2023",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "", "blip_caption": "a photo of a violin"}],
            "session_2_date_time": "1:00 pm on 2 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": OSLO},
                {"speaker": "Bo", "dia_id": "D2:2", "text": ""},
            ],
            "session_3_date_time": "1:00 pm on 3 May, 2023",
        },
        "qa": [
            {"question": "Where did Ann move?", "answer": "Oslo", "evidence": ["D2:1"], "category": 4},
            {"question": "What did Bo show and Ann do?", "evidence": ["D:2:01; D10:1", "D99:1"], "category": 1},
            {"question": "What does nobody know?", "evidence": [], "category": 5, "adversarial_answer": "it"},
        ],
    }
]
BEAM_CHAT: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [
                {"id": 0, "role": "user", "content": f"{OSLO} ->-> 1,1", "time_anchor": "March-15-2024"},
                {"id": 1, "role": "assistant", "content": "Nice."},
            ],
            [{"id": 2, "role": "user", "content": BERGEN}, {"id": 2, "role": "assistant", "content": "Oh, Bergen."}],
        ],
    }
]
BEAM_QUESTIONS: dict[str, Any] = {
    "abstention": [{"question": "What is my dog called?", "rubric": []}],
    "information_extraction": [{"question": "Where did I move in spring?", "source_chat_ids": {"first": [[0]]}}],
    "summarization": [{"question": "Who lives where?", "source_chat_ids": [0, 2]}],
}
FACTS: dict[str, Any] = {
    "context": "Here is a list of facts:\n0. Chess was created in the country of India.\n"
    "1. Bo works in the field of law.\n2. Chess was created in the country of Japan.\n"
    "3. Go is from the country of Japan.",
    "questions": ["Which country was chess created in?", "What kind of work does Bo do?", "Who is Ann?"],
    "answers": [["Japan"], ["law"], ["nobody"]],
    "metadata": {"source": "factconsolidation_sh_6k"},
}
REALMEM: dict[str, Any] = {
    "_metadata": {"person_name": "Ann"},
    "dialogues": [
        {
            "session_identifier": "Plan:S1",
            "session_uuid": "u1",
            "current_time": "2025-12-15 (Monday)",
            "dialogue_turns": [
                {"speaker": "User", "content": OSLO, "is_query": False},
                {"speaker": "Assistant", "content": "Nice.", "is_query": False},
            ],
            "extracted_memory": [
                {
                    "content": "Ann moved.",
                    "source_turn": 1,
                    "source_content_snapshot": "I have moved.",
                    "source_role_snapshot": "User",
                }
            ],
        },
        {
            "session_identifier": "Plan:S2",
            "session_uuid": "u2",
            "current_time": "2025-12-16 (Tuesday)",
            "dialogue_turns": [
                {
                    "speaker": "User",
                    "content": "After I moved in spring, what is next?",
                    "is_query": True,
                    "query_id": "Q-0001",
                    "category_name": "Static",
                },
                {
                    "speaker": "Assistant",
                    "content": "Furniture for Oslo.",
                    "is_query": False,
                    "memory_used": [{"session_uuid": "u1", "content": "Ann moved."}],
                    "memory_session_uuids": ["u1", "u2"],
                },
            ],
        },
    ],
}


def written(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), "utf-8")
    return file


def beam(folder: Path) -> Path:
    written(folder, "100K/1/chat.json", BEAM_CHAT)
    written(folder, "100K/1/probing_questions/probing_questions.json", BEAM_QUESTIONS)
    return folder / "100K"


def published(folder: Path, name: str) -> Path:
    """Write a small file, or folder, as the set is published."""
    if name == "beam":
        return beam(folder)
    contents = {"longmemeval": LONGMEMEVAL, "locomo": LOCOMO, "factconsolidation": [FACTS], "realmem": REALMEM}
    return written(folder, f"{name}.json", contents[name])


def test_longmemeval_is_told_by_sessions_and_the_questions_to_abstain_from_have_no_evidence(tmp_path: Path) -> None:
    first, second = read_set("longmemeval", [published(tmp_path, "longmemeval")])
    assert [memory.content for memory in first.memories] == [f"user: {BERGEN}", f"user: {OSLO}", "assistant: Nice."]
    assert (first.questions[0].gold, first.questions[0].sessions) == (frozenset({"1:0"}), frozenset({"s2"}))
    assert (second.questions[0].gold, second.questions[0].sessions) == (frozenset(), frozenset())
    assert first.asked_at == rfc3339("2023/05/30 (Tue) 23:40")


def test_locomo_is_told_in_the_order_of_its_sessions_and_evidence_in_any_spelling_is_found(tmp_path: Path) -> None:
    (found,) = read_set("locomo", [published(tmp_path, "locomo")])
    assert [(memory.content, memory.session_id) for memory in found.memories] == [
        (f"Ann: {OSLO}", "2"),
        ("Bo:  [a photo of a violin]", "10"),
    ]
    assert [sorted(question.gold) for question in found.questions] == [["D2:1"], ["D10:1", "D2:1"], []]
    assert [question.category for question in found.questions] == ["single-hop", "multi-hop", "adversarial"]


def test_beam_is_read_from_its_folders_and_an_id_that_comes_twice_is_no_evidence(tmp_path: Path) -> None:
    (found,) = read_set("beam", [published(tmp_path, "beam")])
    assert found.memories[0].content == f"user: {OSLO}"
    assert {memory.occurred_at for memory in found.memories} == {"2024-03-15T00:00:00Z"}
    assert [sorted(question.gold) for question in found.questions] == [[], ["m0"], ["m0"]]
    assert len(found.memories) == 4


def test_the_last_fact_that_says_the_answer_in_the_words_of_the_question_is_the_evidence(tmp_path: Path) -> None:
    (found,) = read_set("factconsolidation", [published(tmp_path, "factconsolidation")])
    asked = [(sorted(question.gold), question.stated) for question in found.questions]
    assert asked == [(["f2"], ("f0", "f2")), (["f1"], ()), ([], ())]
    viewer = written(tmp_path, "viewer.json", {"rows": [{"row_idx": 0, "row": FACTS}]})
    assert read_set("factconsolidation", [viewer]) == [found]


def test_realmem_asks_a_message_of_what_earlier_sessions_have_told(tmp_path: Path) -> None:
    (found,) = read_set("realmem", [published(tmp_path, "realmem")])
    (question,) = found.questions
    assert (question.gold, question.sessions, question.told) == (frozenset({"u1:0"}), frozenset({"u1"}), 2)
    assert found.memories[0].occurred_at == "2025-12-15T00:00:00Z"


@pytest.mark.parametrize("name", list(SETS))
def test_each_set_is_measured_from_its_file_as_published(line: Line, name: str) -> None:
    before = sorted(line.folder.rglob("*"))
    file = published(line.folder / "sets", name)
    done = line.run("eval", "--set", name, str(file), "--at", "1,5", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["set"], report["embedder"].split("/")[0], report["reader"]) == (name, "hashing", None)
    assert report["turn"]["at"]["5"]["any"]["mean"] == 1.0
    assert report["without_evidence"] == sum(
        not (question.gold or question.sessions) for each in read_set(name, [file]) for question in each.questions
    )
    assert sorted(path for path in line.folder.rglob("*") if "sets" not in path.parts) == before


def test_the_table_tells_what_was_asked_and_what_was_left_out(line: Line) -> None:
    file = published(line.folder, "factconsolidation")
    told = line.run("eval", "--set", "factconsolidation", str(file)).stdout.splitlines()
    assert told[0].startswith(
        "factconsolidation: 1 conversations, 4 memories, 2 questions; 1 questions have no evidence"
    )
    assert [row.split("  ")[0] for row in told[3:]] == [
        "figure",
        "turn any",
        "turn all",
        "turn recall",
        "turn ndcg",
        "newest is first",
        "newest before older",
    ]


def test_lines_of_the_benchmarks_form_are_measured_too(line: Line) -> None:
    conversation = {
        "conv_id": "a",
        "turns": [{"id": "t1", "text": OSLO, "session": 1}, {"id": "t2", "text": BERGEN, "session": 2}],
        "questions": [{"qid": "q", "question": "Where did I move in spring?", "gold": ["t1"]}],
    }
    report = json.loads(
        line.run("eval", "--set", "beam", str(written(line.folder, "a.jsonl", conversation)), "--json").stdout
    )
    assert report["session"]["at"]["5"]["all"]["mean"] == 1.0


@pytest.mark.thorough
def test_a_question_waits_until_the_index_has_what_was_told(line: Line) -> None:
    turns = [{"id": f"t{number}", "text": f"The word of {number} is w{7 * number}."} for number in range(620)]
    asked = {"qid": "q", "question": "What is the word of 77?", "gold": ["t77"], "before": "t600"}
    conversation = {"conv_id": "a", "turns": turns, "questions": [asked, {**asked, "qid": "r", "before": None}]}
    done = line.run("eval", "--set", "beam", str(written(line.folder, "a.jsonl", conversation)), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["turn"]["at"]["5"]["any"]["mean"] == 1.0


def test_the_first_conversations_and_a_draw_of_the_questions_can_be_asked_alone(tmp_path: Path) -> None:
    file = published(tmp_path, "locomo")
    assert [each.conv_id for each in read_set("longmemeval", [published(tmp_path, "longmemeval")], 1)] == ["q0"]
    (drawn,) = drawn_questions(read_set("locomo", [file]), 1)
    assert len(drawn.questions) == 1
    assert drawn_questions(read_set("locomo", [file]), 1) == [drawn]


def test_the_figures_are_those_of_the_published_scripts() -> None:
    assert evidence_figures({"a", "b"}, ["x", "a", "b"], 2) == (1.0, 0.0, 0.5, 0.5)
    assert evidence_figures({"a", "b"}, ["b", "a"], 5) == (1.0, 1.0, 1.0, 1.0)
    assert evidence_figures({"a"}, [], 5) == (0.0, 0.0, 0.0, 0.0)


REFUSED: list[tuple[str, object, str]] = [
    ("locomo", LONGMEMEVAL, "file.json[0]: sample_id: Field required"),
    ("locomo", [{**LOCOMO[0], "conversation": {}}], "file.json[0].conversation: there is no session_1"),
    (
        "locomo",
        [{**LOCOMO[0], "conversation": {"session_1": [{"speaker": "Ann"}]}}],
        "file.json[0].conversation.session_1: 0.dia_id: Field required",
    ),
    ("longmemeval", [LONGMEMEVAL[0], {"question_id": "q"}], "file.json[1]: question_type: Field required"),
    (
        "longmemeval",
        [{**LONGMEMEVAL[0], "haystack_dates": []}],
        "file.json[0]: there are 2 haystack_sessions, 2 ids and 0 dates of them",
    ),
    ("longmemeval", [{**LONGMEMEVAL[0], "question_date": "someday"}], "the date 'someday' has no form that is known"),
    ("beam", {"turns": []}, "has no chat.json"),
    ("factconsolidation", [{**FACTS, "metadata": {"source": "eventqa"}}], "no row whose metadata.source begins with"),
    ("factconsolidation", [FACTS, FACTS], "The conversation 'factconsolidation_sh_6k' is there twice"),
    ("factconsolidation", [{**FACTS, "answers": []}], "file.json[0]: there are 3 questions and 0 answers"),
    ("realmem", [], "file.json has no record"),
    ("realmem", {"dialogues": [{}]}, "file.json:1: dialogues.0.session_uuid: Field required"),
]
"""Files of other forms, and words of what is said of them."""


def test_a_file_of_another_form_is_refused_with_its_place_and_what_was_expected(tmp_path: Path) -> None:
    for name, content, words in REFUSED:
        with pytest.raises(DataInvalid) as refused:
            read_set(name, [written(tmp_path, "file.json", content)])
        assert words in str(refused.value), str(refused.value)
        assert "twice" in words or f"Expected of --set {name}: " in str(refused.value)


def test_what_is_no_json_is_refused_with_its_line(line: Line) -> None:
    file = line.folder / "a.json"
    for content, words in [
        (b"", "a.json is empty"),
        (b"PAR1...", "a.json is a Parquet file"),
        (b"\xff[]", "a.json is not UTF-8"),
        (b'[{"sample_id": "a"},\n oops]', "a.json: no JSON at line 2, column 2"),
        (b'{"kind": "turn"}\n{"kind"', "a.json:2: no JSON at line 1"),
    ]:
        file.write_bytes(content)
        assert words in line.fails("eval", "--set", "realmem", str(file)), words


def test_what_cannot_be_asked_is_refused(line: Line) -> None:
    unasked = [{**LOCOMO[0], "qa": [LOCOMO[0]["qa"][2]]}]
    file = str(written(line.folder, "a.json", unasked))
    assert "nothing was asked" in line.fails("eval", "--set", "locomo", file)
    assert "write numbers from 1 to 50" in misused("eval", "--set", "locomo", file, "--at", "0,5")
    assert "write numbers from 1 to 50" in misused("eval", "--set", "locomo", file, "--at", "51")
    assert "is not one of" in misused("eval", "--set", "squad", file)
