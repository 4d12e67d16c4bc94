"""The whole program over a tiny data set, and each step of it."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.ablation import PARTS
from bench.quality.__main__ import main
from bench.quality.asking import Asked, Plan, ask, foreign, namespace, tell
from bench.quality.dataset import Conversation, Memory, Question
from bench.quality.document import coverages, markdown
from bench.quality.page import page
from bench.quality.scores import METRICS
from bench.quality.service import Answer, ServiceFailed
from bench.quality.summary import Served, summary
from bench.quality.variants import variants

TINY = [
    {
        "dataset": "tiny",
        "conv_id": "a",
        "turns": [
            {"id": "1", "speaker": "Ann", "text": "The invoice goes to the Malmo office."},
            {"id": "2", "speaker": "Bo", "text": "Lunch is at noon."},
        ],
        "questions": [
            {"qid": "q1", "question": "Where does the invoice go?", "gold": ["1"], "category": "place"},
            {"qid": "q2", "question": "Who painted the ceiling?", "gold": [], "category": "none"},
        ],
    },
    {
        "dataset": "tiny",
        "conv_id": "b",
        "turns": [{"id": "1", "speaker": "Cy", "text": "The dog is called Rufus."}],
        "questions": [{"qid": "q1", "question": "What is the dog called?", "gold": ["1"], "category": "name"}],
    },
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "tiny.jsonl").write_text("\n".join(json.dumps(line) for line in TINY), "utf-8")
    return tmp_path / "tiny.jsonl"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.long
def test_the_program_measures_variants_of_its_own_server(data: Path, tmp_path: Path) -> None:
    options = ["--embedder", "hashing", "--without", PARTS[0], "--foreign", 1, "--resamples", 50]
    result = run(data, *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "out" / "quality.json").read_text("utf-8"))
    whole, without = written["runs"]
    assert (whole["variant"], without["env"]) == ("whole", {"without": PARTS[0]})
    assert whole["by_dataset"]["tiny"]["figures"]["recall@5"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert (whole["difference"], list(without["difference"])) == ({}, ["tiny"])
    assert (whole["abstention"]["tiny"]["answerable"], whole["abstention"]["tiny"]["unanswerable"]) == (2, 3)
    assert written["data"][0]["memories"] == 3
    assert "| hashing, whole" in result.output
    text = (tmp_path / "out" / "quality.md").read_text("utf-8")
    assert text.startswith("# Retrieval quality\n\n**Evidence found")
    assert "| hashing, whole" in text


def test_what_keeps_the_program_from_measuring_is_told_in_a_line(data: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}", "utf-8")
    assert "Error: bad.jsonl:1: conv_id: Field required" in run(tmp_path / "bad.jsonl").output
    assert "Error: no conversation z" in run(data, "--conversations", "a,z").output
    assert "Error: taste cannot be left out" in run(data, "--without", "taste").output
    assert "Error: --env X: write NAME=VALUE" in run(data, "--env", "X").output
    assert "are for own servers" in run(data, "--base-url", "http://127.0.0.1:9", "--ablate").output
    assert "Error: POST /store: ConnectError" in run(data, "--base-url", "http://127.0.0.1:9").output


def test_every_part_is_left_out_in_turn_and_some_together() -> None:
    assert [one.name for one in variants(ablate=False, without=())] == ["whole"]
    named = [one.without for one in variants(ablate=True, without=["context,time", PARTS[0]])]
    assert named == ["", *PARTS, "context,time"]


class Scripted:
    """A service that answers every question with the same and keeps what it was told."""

    def __init__(self) -> None:
        self.told: dict[str, list[str]] = {}
        self.asked: dict[str, list[str]] = {}

    async def store(self, namespace: str, memory: Memory) -> None:
        if memory.content == "refuse this":
            raise ServiceFailed("refused")
        self.told.setdefault(namespace, []).append(memory.turn_id)

    async def ready(self, namespace: str) -> None:
        assert self.told[namespace]

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        assert at is None
        assert top_k == 20
        self.asked.setdefault(namespace, []).append(question)
        return Answer(("1",), None, 0.5)


def conversation(conv_id: str, *, dataset: str = "d", questions: int = 2, content: str = "x") -> Conversation:
    memories = tuple(Memory(str(number), content, None, None) for number in range(1, 4))
    asked = tuple(Question(f"q{n}", f"{conv_id} {n}?", frozenset({"1", str(n + 1)}), "c") for n in range(questions))
    return Conversation(dataset, conv_id, memories, asked, 0, 0)


async def test_each_conversation_is_told_in_order_and_asked_in_its_own_namespace() -> None:
    service, both = Scripted(), [conversation("a"), conversation("b")]
    await tell(service, both, Plan("p"))
    asked = await ask(service, both, Plan("p", foreign=1))
    assert service.told == {"p.a": ["1", "2", "3"], "p.b": ["1", "2", "3"]}
    assert service.asked["p.a"][:2] == ["a 0?", "a 1?"]
    assert [one.answerable for one in asked] == [True, True, False] * 2


async def test_what_the_service_refuses_ends_the_run() -> None:
    with pytest.raises(ServiceFailed, match="refused"):
        await tell(Scripted(), [conversation("a"), conversation("b", content="refuse this")], Plan("p"))


def test_questions_of_others_come_from_the_same_data_set_and_never_change() -> None:
    all_of_them = [conversation("a"), conversation("b", questions=5), conversation("c", dataset="e")]
    chosen = foreign(all_of_them, all_of_them[0], 3)
    assert chosen == foreign(all_of_them, all_of_them[0], 3)
    assert len(chosen) == 3
    assert set(chosen) <= set(all_of_them[1].questions)
    assert foreign(all_of_them, all_of_them[2], 3) == []


def test_a_namespace_has_a_form_that_agents_may_have() -> None:
    names = [namespace("p", name) for name in ("conv-26", "a b", "a_b", "é" * 80, "x" * 80)]
    assert names[0] == "p.conv-26"
    assert all(re.fullmatch(r"[A-Za-z0-9.-]{1,64}", name) for name in names)
    assert len(set(names)) == 5


def asked(
    conv_id: str, found: str, *, dataset: str = "d", category: str = "c", confidence: float | None = None
) -> Asked:
    question = Question("q", "what?", frozenset({"gold"}), category)
    return Asked(dataset, conv_id, question, Answer((found,), confidence, 0.5))


def test_figures_are_told_overall_and_for_every_part() -> None:
    answers = [asked("a", "gold"), asked("b", "miss"), asked("c", "gold", dataset="e", category="f")]
    told = summary(Served("s", "", {}, 1.0), answers, resamples=20)
    assert {name: part.figures["hit@1"].mean for name, part in told.by_dataset.items()} == {
        "d": 0.5,
        "e": 1.0,
        "all": pytest.approx(2 / 3),
    }
    assert told.by_category["e"]["f"].questions == 1
    assert told.over_conversations is not None
    assert told.over_conversations.figures["mrr"].mean == pytest.approx(2 / 3)


def test_a_variant_is_compared_with_the_whole_question_by_question() -> None:
    whole, worse = [asked("a", "gold"), asked("b", "gold")], [asked("b", "gold"), asked("a", "miss")]
    told = summary(Served("s", "v", {}, 1.0), worse, whole, resamples=20)
    assert told.difference["d"].figures["hit@1"].mean == -0.5


def test_the_first_score_stands_in_for_a_confidence_that_is_not_told() -> None:
    for confidence, told in ((0.7, True), (None, False)):
        judged = summary(Served("s", "", {}, 1.0), [asked("a", "gold", confidence=confidence)], resamples=5)
        assert judged.abstention["d"].told is told


def test_questions_without_evidence_alone_have_no_figures_but_a_risk() -> None:
    nothing = Asked("d", "a", Question("q", "what?", frozenset(), "c"), Answer(()))
    told = summary(Served("s", "", {}, 1.0), [nothing], resamples=5)
    assert (told.by_dataset, told.over_conversations) == ({}, None)
    assert told.abstention["d"].risk == 1
    assert "Evidence found" not in markdown([told])


class Loads(HTMLParser):
    """Notes the elements of a page, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.fetched: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.fetched += [value for name, value in attrs if name in {"src", "href"}]


def test_the_risk_coverage_curve_is_told_at_the_first_point_that_answers_so_many() -> None:
    told = summary(Served("s", "", {}, 1.0), [asked("a", "gold", confidence=0.5)], resamples=5)
    judged = replace(told.abstention["d"], curve=((0.05, 0.0), (0.25, 0.1), (0.6, 0.2), (1.0, 0.5)))
    head, row = coverages([replace(told, abstention={"d": judged})])
    assert head[2:] == [f"{share} answered" for share in ("10%", "25%", "50%", "75%", "90%", "100%")]
    assert row == [told.name, "d", "10.0", "10.0", "20.0", "50.0", "50.0", "50.0"]


def test_the_page_draws_everything_and_fetches_nothing() -> None:
    answers = [asked("a", "gold", dataset="<d>"), asked("b", "miss", dataset="<d>")]
    text = page([summary(Served("s", "", {}, 1.0), answers, resamples=5)], {"cpu": "<8>"}, "one\n\ntwo")
    loads = Loads()
    loads.feed(text)
    assert {"svg", "rect", "polyline", "table"} <= set(loads.elements)
    assert loads.fetched == []
    assert all(metric in text for metric in METRICS)
    assert "<d>" not in text
    assert "&lt;8&gt;" in text
