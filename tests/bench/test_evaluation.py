"""A labelled set goes through ingest and recall; what comes out is counted, and nothing half is told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import ConfigurationError
from bench.evaluation.__main__ import main
from bench.evaluation.judging import Judged, evidence, is_right, says
from bench.evaluation.labelled import Labelled, read_labelled
from bench.evaluation.measuring import EvaluationRun
from bench.evaluation.report import differences, spreads
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running
from tests.interfaces.cli.line import Line
from tests.support import migrated

pytestmark = pytest.mark.thorough

TURNS = [
    {"id": "t1", "session": "1", "date": "2026-03-02T09:00:00Z", "text": "I use the Helix editor."},
    {"id": "t2", "session": "2", "date": "2026-04-11", "text": "I switched my editor from Helix to Zed."},
    {
        "id": "t3",
        "session": "2",
        "date": "1:56 pm on 8 May, 2026",
        "speaker": "Ann",
        "text": "The laptop cost 1,450 euros.",
    },
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "qid": "q1",
        "category": "update",
        "question": "Have I switched my editor from Helix?",
        "gold": ["t2"],
        "expected": ["Zed"],
    },
    {"qid": "q2", "category": "number", "question": "What did the laptop cost?", "gold": ["t3"], "expected": ["1450"]},
    {"qid": "q3", "category": "unknown", "question": "Which harbour do whales like?"},
    {"qid": "q4", "question": "Which editor is it?", "gold": ["t2"], "sealed": True},
]


@pytest.fixture
def line(tmp_path: Path) -> Line:
    """Run the evaluation, with settings that name a data directory of their own."""
    migrated.prepare(tmp_path / "data")
    return Line(tmp_path / "data", main)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    file = tmp_path / "set.jsonl"
    line = {"conv_id": "desk", "asked_at": "2026-06-20T09:00:00Z", "turns": TURNS, "questions": QUESTIONS}
    file.write_text(json.dumps(line) + "\n", "utf-8")
    return file


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running() as served:
        yield served


def judged(question: str, right: float, category: str = "a") -> Judged:
    return Judged(question, category, right, bool(right), answered=True, degraded=False, seconds=0.1)


def test_every_category_is_told_with_what_was_found_and_what_was_right(line: Line, labelled: Path) -> None:
    told = line.json(str(labelled), "--runs", "2")
    (side,) = told["sides"].values()
    figures = side["categories"]
    assert set(figures) == {"all", "update", "number", "unknown"}
    assert figures["all"]["evidence@10"]["mean"] == 1
    assert figures["update"]["right"] == {"questions": 1, "mean": 1, "deviation": 0, "low": 1, "high": 1}
    assert figures["unknown"]["answered"]["mean"] == 0
    assert (side["runs"], side["model_calls"]) == (2, [0, 0])


def test_a_model_is_measured_beside_none_with_its_calls_and_tokens(
    line: Line, labelled: Path, double: Handle, tmp_path: Path
) -> None:
    model = {
        "LANGUAGE_MODEL": "http",
        "LANGUAGE_MODEL_BASE_URL": double.openai_url,
        "LANGUAGE_MODEL_NAME": "double",
        "LANGUAGE_MODEL_API_KEY": DoubleOptions().openai_api_key,
    }
    out = tmp_path / "out.json"
    text = line.run(str(labelled), "--runs", "1", "--out", str(out), **model).stdout
    assert "## without a model: 1 runs" in text
    assert "## with the model above without a model" in text
    assert double.url in text
    told = json.loads(out.read_text("utf-8"))
    assert told["sides"]["without a model"]["model_calls"] == [0]
    assert told["sides"]["with the model"]["model_calls"][0] > 0
    assert told["sides"]["with the model"]["model_tokens"][0] > 0
    assert told["sides"]["with the model"]["categories"]["all"]["evidence@10"]["mean"] == 1


def test_two_settings_are_compared_side_by_side(line: Line, labelled: Path) -> None:
    told = line.json(str(labelled), "--runs", "1", "--with", "EMBEDDER=hashing", "--against", "EMBEDDER=local")
    assert list(told["sides"]) == ["EMBEDDER=hashing", "EMBEDDER=local"]
    assert set(told["difference"]["right"]) == {"mean", "low", "high"}


def test_nothing_is_left_of_a_run_and_no_data_of_the_settings_are_touched(
    line: Line, labelled: Path, tmp_path: Path
) -> None:
    memories = Line(tmp_path / "data")
    memories.ok("store", "a red fox")
    before = sorted(Path(line.environment["DATA_DIR"]).iterdir())
    account = {"CLOUDFLARE_ACCOUNT_ID": "0" * 32, "CLOUDFLARE_API_TOKEN": "t"}
    done = line.run(str(labelled), "--runs", "1", AUTH_SECRETS="a=Qm7vX2kLr9TzB4nWc8HsJd3FgYp6Ea1U", **account)
    assert done.returncode == 0, done.stderr
    assert sorted(Path(line.environment["DATA_DIR"]).iterdir()) == before
    assert "a red fox" in memories.ok("list")


def test_a_sealed_question_is_asked_only_where_told_to_and_the_report_says_so(line: Line, labelled: Path) -> None:
    assert "kept aside" not in line.run(str(labelled), "--runs", "1").stdout
    text = line.run(str(labelled), "--runs", "1", "--sealed").stdout
    assert "| all | 4 |" in text
    assert "kept aside were asked" in text


def test_a_run_that_fails_prints_no_figures(line: Line, labelled: Path) -> None:
    done = line.run(
        str(labelled), "--with", "EMBEDDER=openai", OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:9"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error:" in done.stderr


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"turns": []}, "turns"),
        ({"questions": [{"qid": "q", "question": "Why?", "gold": ["t9"]}]}, "t9"),
        ({"turns": [TURNS[0], TURNS[0]]}, "one id"),
        ({"conv_id": "no spaces"}, "conv_id"),
        ({"turns": [TURNS[0] | {"date": "next week"}]}, "must be a timestamp"),
        ({"questions": []}, "no questions"),
    ],
)
def test_a_wrong_line_is_refused_with_what_is_wrong(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({"conv_id": "c", "turns": TURNS, "questions": QUESTIONS[2:3]} | changed), "utf-8")
    with pytest.raises(ConfigurationError, match=said):
        read_labelled([file])


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--with", "NOTHING=1"], "no setting"), (["--with", "X"], "NAME=VALUE")]
)
def test_a_setting_that_is_none_is_refused(line: Line, labelled: Path, arguments: list[str], said: str) -> None:
    assert said in line.fails(str(labelled), *arguments, code=2 if said == "NAME=VALUE" else 1)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("It cost 1,450 euros.", [["1450"]], True),
        ("It cost 14500 euros.", [["1450"]], False),
        ("You use ZED  now.", [["zed now"]], True),
        ("On May 19.", [["2026-05-19", "May 19"]], True),
        ("Zed", [["Zed"], ["Helix"]], False),
        ("", [["Zed"]], False),
    ],
)
def test_an_answer_is_right_where_it_has_each_item_as_words_of_their_own(
    answer: str, expected: list[list[str]], *, right: bool
) -> None:
    assert says(answer, expected) is right


def test_of_a_question_without_an_answer_only_an_empty_one_is_right() -> None:
    unknown = Labelled("q", "Who?", "a", frozenset(), ())
    assert is_right(unknown, "")
    assert not is_right(unknown, "Ann.")
    assert is_right(Labelled("q", "Who?", "a", frozenset({"t1"}), ()), "Ann.") is None


def test_evidence_counts_among_the_first_ten_candidates() -> None:
    assert evidence({"t1", "t2"}, [{"t1"}, set(), {"t3", "t1"}]) == 0.5
    assert evidence({"t1"}, [set()] * 10 + [{"t1"}]) == 0
    assert evidence((), [{"t1"}]) is None


def test_the_spread_is_that_of_the_runs_means_and_a_difference_is_paired() -> None:
    one = [
        EvaluationRun([judged("c/1", 1), judged("c/2", 0, "b")], 0, 0, 0.0),
        EvaluationRun([judged("c/1", 0), judged("c/2", 0, "b")], 0, 0, 0.0),
    ]
    spread = spreads(one)["all"]["right"]
    assert (spread.mean, spread.low, spread.high, spread.deviation) == (0.25, 0, 0.5, 0.25)
    assert spreads(one)["b"]["right"].mean == 0
    other = [EvaluationRun([judged("c/1", 1), judged("c/2", 1, "b")], 0, 0, 0.0)]
    difference = differences(one, other)["right"]
    assert difference.mean == 0.75
    assert 0.5 <= difference.low <= 0.75 <= difference.high <= 1
