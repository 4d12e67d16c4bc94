"""What is measured of the reader: how figures are counted, kept beside each other, and made into ratios."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.reader_cost.turns import RATIO, Columns, add, in_turn
from bench.reading import claims, dialogues, facts, pairs, scenes
from bench.reading.asking import Answer, Asked, Asking, Told
from bench.reading.figure import Figure, share
from bench.reading.results import Results
from training.reader.scenes import read_scenes

MEASURED = {"commit": "abc", "date": "2026-11-28", "seconds": 3, "cpus": 2, "cpu": "one"}


class Remembering(Asking):
    """Answers with what an agent was told, in the order of a rule."""

    def __init__(self, *, newest_first: bool = True) -> None:
        self.told: dict[str, list[str]] = {}
        self.known_at: dict[str, int] = {}
        self._newest_first = newest_first

    async def tell(self, statements: Sequence[Told], *, windows: int = 0) -> None:  # noqa: ARG002 - it never works
        for one in statements:
            self.told.setdefault(one.agent, []).append(one.text)

    async def ask(self, questions: Sequence[Asked], *, tries: int = 1) -> list[Answer]:  # noqa: ARG002 - as above
        return [self._answer(one) for one in questions]

    def degraded(self) -> Figure:
        return share("degraded", 0, 0)

    def _answer(self, asked: Asked) -> Answer:
        texts = self.told.get(asked.agent, [])
        self.known_at[asked.question] = len(texts)
        texts = texts[::-1] if self._newest_first else texts
        return Answer(texts, [1 / (place + 1) for place in range(len(texts))])


def values(figures: Sequence[Figure]) -> dict[str, float]:
    return {figure.name: figure.value for figure in figures}


def test_what_is_not_measured_anew_keeps_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "reading.json"
    first = Results(path, "Title", "Notes.")
    first.replace("pairs", "none", [share("newer first", 1, 4)], MEASURED)
    first.replace("pairs", "local", [share("newer first", 2, 4)], MEASURED)
    first.replace("claims", "local", [Figure("dropped", 3)], MEASURED)
    first.write()
    again = Results(path, "Title", "Notes.")
    again.replace("pairs", "local", [share("newer first", 3, 4)], {**MEASURED, "commit": "def"})
    again.write()
    assert "| newer first | 25.0 % of 4 | 75.0 % of 4 |" in again.table("pairs")
    page = path.with_suffix(".md").read_text("utf-8")
    assert "## claims" in page
    assert "| pairs  | none   | abc" in page
    assert "| pairs  | local  | def" in page
    assert json.loads(path.read_text("utf-8"))["claims"]["local"]["figures"][0]["value"] == 3


@pytest.mark.parametrize(("newest_first", "expected"), [(True, 1.0), (False, 0.0)])
async def test_of_pairs_the_newer_statement_is_to_come_first(*, newest_first: bool, expected: float) -> None:
    found = values(await pairs.measure(Remembering(newest_first=newest_first), few=None))
    for writer in (1, 2):
        assert found[f"updates of writer {writer} in the same words: newer first"] == expected
        assert found[f"updates of writer {writer} in the other words: newer first"] == expected
        assert found[f"pairs of writer {writer} that both hold: one hidden"] == 0
        assert found[f"pairs of writer {writer} that both hold: what is asked for first"] == 1 - expected


async def test_of_facts_the_latest_is_to_come_before_its_rivals() -> None:
    lines: list[facts.Line] = [
        *({"kind": "fact", "id": number, "text": f"fact {number}"} for number in range(4)),
        {"kind": "query", "query": "which?", "gold": [2], "stale": [0]},
        {"kind": "query", "query": "what?", "gold": [3], "stale": []},
        {"kind": "query", "query": "nobody knows", "gold": [], "stale": []},
    ]
    found = await facts.measure(Remembering(), lines, None)
    assert [(figure.value, figure.of) for figure in found[:4]] == [(1.0, 1), (0.0, 1), (0.0, 1), (1.0, 1)]


async def test_a_message_of_a_dialogue_is_asked_before_it_is_stored() -> None:
    lines: list[dialogues.Line] = [
        *(
            {"kind": "turn", "id": f"a:{number}", "session": "a", "day": "2026-01-02", "speaker": "User"}
            | {"content": f"message {number}", "is_query": number == 2}
            for number in range(4)
        ),
        {"kind": "query", "asked_in": "a", "query": "message 2", "category": "any", "evidence_turns": ["a:0", "a:1"]},
    ]
    service = Remembering()
    found = values(await dialogues.measure(service, [lines], None))
    assert service.known_at == {"message 2": 2}
    assert found["any: evidence among the first 10"] == 1.0


async def test_scenes_are_counted_by_language(tmp_path: Path) -> None:
    memories = "\n".join(f"m{number} 2026-01-{number:02} fact: Statement {number}" for number in range(1, 13))
    (tmp_path / "one.txt").write_text(f"# sv home\n{memories} >m11\nq m12 !m11: Which?\nq -: Who?\n", "utf-8")
    told = read_scenes([tmp_path / "one.txt"])
    right = values(await scenes.measure(Remembering(), told, scenes.alone))
    wrong = values(await scenes.measure(Remembering(newest_first=False), told, scenes.alone))
    assert (right["sv: right first"], wrong["sv: right first"]) == (1.0, 0.0)
    assert (right["all: outdated before current"], wrong["all: outdated before current"]) == (0.0, 1.0)
    assert right["sv: absent at .5 or more"] == 1.0
    assert right["sv: answerable against absent, AUC"] == 0.5


async def test_without_a_reader_no_false_claim_passes() -> None:
    found = await claims.measure(None)
    assert values(found)["false claims passed"] == 0
    assert {figure.name: figure.of for figure in found}["free paraphrases dropped"] == 40


async def test_costs_are_measured_in_turn_and_a_ratio_is_that_of_a_round() -> None:
    order = []

    async def first() -> float:
        order.append("first")
        return 2.0 * len(order)

    async def second() -> float:
        order.append("second")
        return 6.0 * len(order)

    rounds = await in_turn({"first": first, "second": second}, 2)
    assert order == ["second", "first", "first", "second", "second", "first"]
    columns: Columns = {"first": [], "second": [], RATIO: []}
    add(columns, "a store", "ms", rounds)
    assert columns[RATIO][0].value == pytest.approx((4 + 2.5) / 2)
