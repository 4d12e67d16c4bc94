"""Golden questions: asked with a table and an exit code, kept for a tenant, and asked before a model is switched."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.adapters.local.reader.local_reader import PACKAGED as READER
from app.retrieval.weights import PACKAGED
from tests.interfaces.cli.line import Line, misused

CONTENTS = ["The harbour opens at seven", "The violin is in the cellar", "The glacier melts in June"]


@pytest.fixture
def told(line: Line) -> list[str]:
    return [
        line.json("store", content, "--metadata", f'{{"number": {at}}}')["id"] for at, content in enumerate(CONTENTS)
    ]


def asks(line: Line, *questions: dict[str, Any], name: str = "golden.jsonl") -> str:
    """Write a file of questions to the agent ``default`` of the tenant ``default``."""
    usual = {"tenant": "default", "agent_id": "default"}
    lines = [{**usual, "qid": f"q{number}"} | question for number, question in enumerate(questions)]
    file = line.folder / name
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return str(file)


def test_a_question_finds_its_memory_by_id_by_words_and_by_metadata(line: Line, told: list[str]) -> None:
    file = asks(
        line,
        {"question": "When does the harbour open?", "gold": [told[0]]},
        {"question": "Where is the violin?", "expected": [["attic", "CELLAR"]]},
        {"question": "What melts?", "metadata": {"number": 2}, "k": 3},
        {"question": "harbour and violin", "gold": told[:2], "filter": {"metadata": {"number": 0}}},
    )
    done = line.run("golden", "run", file, "--threshold", "0.75", "--json")
    found = json.loads(done.stdout)
    assert [one["rank"] for one in found["questions"]] == [1, 1, 1, None]
    assert (found["found"], done.returncode) == (0.75, 0)
    table = line.run("golden", "run", file)
    assert table.returncode == 1
    assert table.stdout.splitlines()[0].split() == ["question", "expected", "rank"]
    assert table.stdout.splitlines()[-1] == "3 of 4 found"


UNASKED: list[tuple[list[dict[str, Any]], str]] = [
    ([], "has no question: nothing was asked, and so nothing has passed"),
    ([{"question": "a?", "tenant": None, "expected": ["a"]}], "line 1: names no tenant"),
    ([{"question": "a?"}], "line 1: expects nothing; name gold, expected or metadata"),
    (
        [{"question": "a?", "expected": ["a"], "qid": "q"}, {"question": "b?", "expected": ["a"], "qid": "q"}],
        "qid of",
    ),
    ([{"question": "a?", "expected": ["a"]}, {"question": "a?", "expected": ["b"]}], "line 2: has the question of"),
    (
        [{"question": "a?", "gold": ["01K2Z4M1V7Q8T3B5N6C7D8E9FA"]}],
        "names the memory 01K2Z4M1V7Q8T3B5N6C7D8E9FA, which",
    ),
    ([{"question": "a?", "gold": ["first"]}], "line 1: gold.0: "),
    ([{"question": "a?", "expected": ["a"], "k": 51}], "line 1: k: "),
    ([{"question": "a?", "expected": ["a"], "agent": "bot"}], "line 1: agent: "),
    ([{"question": "a?", "expected": ["a"], "agent_id": "no agent"}], "line 1: agent_id: "),
    ([{"question": " ", "expected": ["a"]}], "line 1: question: "),
    ([{"question": "a?", "expected": ["a" * 70_000]}], "line 1: has more than 65536 bytes"),
]
"""Questions that cannot be asked, and words of what is said of them."""


def test_questions_that_cannot_be_asked_are_refused_by_their_line(line: Line) -> None:
    line.ok("store", "a")
    for questions, words in UNASKED:
        assert words in line.fails("golden", "run", asks(line, *questions)), words


def test_a_file_of_ten_megabytes_is_refused_before_it_is_read(line: Line) -> None:
    file = line.folder / "large.jsonl"
    file.write_bytes(b"\xff" * 10_000_000)
    assert "has 10000000 bytes; golden questions have at most 8388608" in line.fails("golden", "run", str(file))
    file.write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in line.fails("golden", "run", str(file))


def test_a_tenant_that_the_lines_do_not_name_is_the_command_s(line: Line) -> None:
    line.ok("store", "a red fox", "--tenant", "acme", "--agent", "bot")
    file = asks(line, {"question": "fox", "expected": ["red fox"], "tenant": None, "agent_id": "bot"})
    assert line.ok("golden", "run", file, "--tenant", "acme").endswith("1 of 1 found\n")
    assert line.run("golden", "run", file, "--tenant", "globex").stdout.endswith("0 of 1 found\n")


def test_questions_are_kept_listed_asked_and_removed_for_a_tenant(line: Line, told: list[str]) -> None:
    assert "nothing was asked" in line.fails("golden", "run")
    file = asks(line, {"question": "harbour", "gold": [told[0]]}, {"question": "violin", "expected": ["cellar"]})
    assert line.ok("golden", "keep", file) == "2 questions are kept for default.\n"
    assert line.ok("golden", "keep", file) == "2 questions are kept for default.\n"
    assert [one["qid"] for one in line.json("golden", "list")["questions"]] == ["q0", "q1"]
    assert line.ok("golden", "run").endswith("2 of 2 found\n")
    assert "is one of default, not of acme" in line.fails("golden", "keep", file, "--tenant", "acme")
    listed = line.folder / "listed.jsonl"
    listed.write_text(line.ok("golden", "list"), "utf-8")
    assert line.ok("golden", "run", str(listed), "--tenant", "default").endswith("2 of 2 found\n")
    assert "--yes" in misused("golden", "remove")
    assert line.json("golden", "remove", "--yes") == {"removed": 2}
    assert line.ok("golden", "list") == "There are none.\n"


def test_a_run_is_compared_with_an_earlier_one(line: Line, told: list[str]) -> None:
    file = asks(line, {"question": "harbour", "expected": ["harbour"]}, {"question": "violin", "expected": ["cellar"]})
    earlier = str(line.folder / "before.json")
    line.ok("golden", "run", file, "--out", earlier)
    assert line.ok("golden", "run", file, "--before", earlier).endswith("2 after: 0 lost, 0 gained\n")
    line.ok("delete", told[1])
    done = line.run("golden", "run", file, "--before", earlier, "--json")
    compared = json.loads(done.stdout)
    assert (done.returncode, compared["loss"], [one["qid"] for one in compared["lost"]]) == (1, 0.5, ["q1"])
    assert line.run("golden", "run", file, "--before", earlier, "--tolerance", "0.5").returncode == 0
    other = asks(line, {"question": "harbour", "expected": ["harbour"], "qid": "other"}, name="other.jsonl")
    assert "not asked the same questions" in line.fails("golden", "run", other, "--before", earlier)
    assert "is not what `golden run --out` has written" in line.fails("golden", "run", file, "--before", file)


def test_results_are_written_whole_and_a_file_that_cannot_be_written_is_refused_before_a_question_is_asked(
    line: Line, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = asks(line, {"question": "harbour", "gold": [told[0]]}), line.folder / "results.json"
    line.ok("golden", "run", file, "--out", str(out))
    before = out.read_bytes()
    assert "cannot be written" in line.run("golden", "run", file, "--out", str(line.folder / "none" / "r.json")).stderr

    def interrupted(*_: object, **__: object) -> None:
        raise OSError("no space is left")

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(OSError, match="no space is left"):
        line.run("golden", "run", file, "--out", str(out))
    assert (out.read_bytes(), sorted(line.folder.glob(".*"))) == (before, [])


def test_other_weights_of_scores_are_compared_and_what_is_none_is_refused(
    line: Line, told: list[str], tmp_path: Path
) -> None:
    file = asks(line, {"question": "harbour", "gold": [told[0]]}, {"question": "violin", "gold": [told[1]]})
    assert "0 lost" in line.ok("golden", "run", file, "--weights", str(PACKAGED))
    broken = tmp_path / "weights.toml"
    broken.write_text("evidence = 1", "utf-8")
    assert "has no weights" in line.fails("golden", "run", file, "--weights", str(broken))
    assert "READER is local" in line.fails("golden", "run", file, "--reader", str(tmp_path))


@pytest.mark.thorough
def test_other_weights_of_the_reader_are_compared(line: Line, told: list[str]) -> None:
    file = asks(line, {"question": "When does the harbour open?", "gold": [told[0]]})
    compared = line.json("golden", "run", file, "--reader", str(READER))
    assert [(one["before"], one["after"]) for one in compared["questions"]] == [(1, 1)]


def test_recalls_of_golden_questions_leave_nothing_in_the_audit_and_count_in_no_rate(
    line: Line, told: list[str]
) -> None:
    file = asks(line, *({"question": f"harbour {n}", "gold": [told[0]]} for n in range(5)))
    for _ in range(2):
        line.ok("golden", "run", file, AGENT_RECALLS_PER_MINUTE="1")
    assert line.json("usage")["kept"]["recalls"] == 0


@pytest.mark.thorough
def test_a_model_that_loses_golden_questions_is_not_switched_to_unless_that_is_forced(line: Line) -> None:
    better = {"EMBEDDER": "local"}
    for content in (*CONTENTS, "Bo pays the physician on Fridays", "The kitten sleeps on the sofa"):
        line.run("store", content, **better)
    questions = [
        {"question": "Which doctor gets money?", "expected": ["physician"], "k": 1},
        {"question": "Where does the young cat nap?", "expected": ["kitten"], "k": 1},
        {"question": "violin cellar", "expected": ["violin"], "k": 1},
    ]
    line.run("golden", "keep", asks(line, *questions), **better)
    assert "No re-embedding is under way" in line.run("golden", "run", "--candidate", **better).stderr
    line.run("reembed", "start")
    line.run("reembed", "parity")
    compared = json.loads(line.run("golden", "run", "--candidate", "--json").stdout)
    lost = len(compared["lost"])
    assert (compared["found_before"], lost > 0) == (1, True)

    refused = line.run("reembed", "switch")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"{lost} of 3 golden questions are lost, over the tolerance of 0. Nothing was switched" in refused.stderr
    assert used(line) == "local"
    assert line.run("reembed", "switch", "--tolerance", "0.1").returncode == 1

    forced = line.run("reembed", "switch", "--force", "--json")
    assert f"WARNING: {lost} of 3 golden questions are lost" in forced.stderr
    assert used(line) == "hashing"
    line.run("reembed", "rollback")
    assert used(line) == "local"
    assert line.run("reembed", "switch", "--tolerance", "1").returncode == 0
    assert used(line) == "hashing"


def used(line: Line) -> str:
    """Return the provider of the embedding model that recalls use."""
    return str(json.loads(line.run("reembed", "status", "--json").stdout)["used"].partition("/")[0])


@pytest.mark.thorough
def test_a_switch_says_where_no_golden_question_is_kept(line: Line) -> None:
    line.ok("store", "a fox")
    other = {"EMBEDDER": "local"}
    line.run("reembed", "start", **other)
    line.run("reembed", "parity", **other)
    done = line.run("reembed", "switch", **other)
    assert (done.returncode, "No golden question is kept: memory-gateway golden keep." in done.stderr) == (0, True)
