"""The bar: stores of each size, the plain methods, and where the product is below them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

from bench.quality.asking import Asked, Plan
from bench.quality.bar import __main__ as program
from bench.quality.bar.figures import KS, Row, below, rows
from bench.quality.bar.measuring import Method, in_process, measured, plain, texts
from bench.quality.bar.results import Results
from bench.quality.bar.stores import asked, neighbours, sized, together
from bench.quality.dataset import Conversation, DataInvalid, Memory, Question
from bench.quality.service import Answer
from bench.quality.services.cosine import Cosine
from bench.quality.services.fused import Fused

OTHERS = [Memory("neighbour/0", "the tram was late", None, None), Memory("neighbour/1", "soup again", None, None)]
SCENE = "\n".join(["# en a kitchen", *(f"m{n} 2026-01-01 event: memory {n} of a kitchen" for n in range(12)), ""])


def conversation(
    conv_id: str, *, dataset: str = "d", session: str | None = None, told: int | None = None, gold: str = "m1"
) -> Conversation:
    memories = (
        Memory("m1", f"{conv_id} keeps bees", session, None),
        Memory("m2", f"{conv_id} sails on Sundays", session, None),
    )
    question = Question("q1", f"{conv_id} bees?", frozenset({gold} if gold else ()), "c", told=told)
    return Conversation(dataset, conv_id, memories, (question,), 0, 0)


def row(method: str, share: float, *, plain: bool, dataset: str = "d", size: int = 0) -> Row:
    return Row(dataset, size, method, plain, 100, dict.fromkeys(KS, share), dict.fromkeys(KS, share))


def letters(words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Embed a text as how often it has each letter."""
    counted = np.asarray([[text.count(chr(97 + letter)) for letter in range(26)] for text in words], np.float32)
    return np.asarray(counted / np.maximum(np.linalg.norm(counted, axis=1, keepdims=True), 1e-9), np.float32)


def test_neighbours_are_the_same_every_time_and_a_larger_store_has_those_of_a_smaller_one(tmp_path: Path) -> None:
    (tmp_path / "en-a-01.txt").write_text(SCENE, "utf-8")
    (tmp_path / "en-a-02.txt").write_text(SCENE.replace("kitchen", "garden"), "utf-8")
    (tmp_path / "de-a-01.txt").write_text(SCENE.replace("kitchen", "garden"), "utf-8")
    few, all_of_them = neighbours(3, tmp_path), neighbours(12, tmp_path)
    assert few == all_of_them[:3]
    assert all_of_them == neighbours(12, tmp_path)
    assert {one.content for one in all_of_them} == {f"memory {number} of a kitchen" for number in range(12)}
    assert {(one.session_id, one.occurred_at) for one in all_of_them} == {(None, None)}
    with pytest.raises(DataInvalid, match="there are 12 neighbours, and not 13"):
        neighbours(13, tmp_path)


def test_there_are_as_many_neighbours_as_the_largest_size_asks_for() -> None:
    assert len({one.content for one in neighbours(2000)}) == 2000


def test_without_neighbours_each_conversation_is_a_store() -> None:
    all_of_them = [conversation("a"), conversation("b")]
    assert sized(all_of_them, []) == all_of_them


def test_beside_neighbours_conversations_without_sessions_are_one_store_with_the_neighbours_first() -> None:
    (store,) = sized([conversation("a"), conversation("b")], OTHERS)
    assert [one.turn_id for one in store.memories] == ["neighbour/0", "neighbour/1", "a/m1", "a/m2", "b/m1", "b/m2"]
    assert [(one.qid, set(one.gold)) for one in store.questions] == [("a/q1", {"a/m1"}), ("b/q1", {"b/m1"})]


def test_beside_neighbours_conversations_with_sessions_stay_alone() -> None:
    stores = sized([conversation("a", session="1"), conversation("b", session="1")], OTHERS)
    assert [one.conv_id for one in stores] == ["a", "b"]
    assert [one.turn_id for one in stores[0].memories] == ["neighbour/0", "neighbour/1", "m1", "m2"]
    assert stores[0].questions[0].gold == {"m1"}


def test_conversations_of_different_data_sets_are_not_put_together() -> None:
    stores = sized([conversation("a"), conversation("b", dataset="e")], OTHERS)
    assert [one.dataset for one in stores] == ["d", "e"]


def test_a_question_that_is_asked_in_between_stays_before_the_same_turn_in_a_larger_store() -> None:
    (store,) = sized([conversation("a", told=1), conversation("b", told=1)], OTHERS)
    before = [store.memories[question.told or 0].turn_id for question in store.questions]
    assert before == ["a/m2", "b/m2"]
    assert together([conversation("a")]).questions[0].told is None


def test_only_questions_with_evidence_are_asked_and_a_sample_of_them_never_changes() -> None:
    group = [conversation(name) for name in "abcdef"]
    held = [*group, conversation("g", gold=""), conversation("z", dataset="e")]
    few = asked(held, 2)
    assert few == asked(held, 2)
    assert [sum(len(one.questions) for one in few if one.dataset == name) for name in "de"] == [2, 1]
    assert [bool(one.questions) for one in asked(held)] == [*[True] * 6, False, True]
    assert len(sized(few, [])) == 3
    with pytest.raises(DataInvalid, match="no question has evidence"):
        asked([conversation("g", gold="")])


async def test_vectors_order_by_cosine_and_the_first_stored_of_equals() -> None:
    service = Cosine(letters)
    assert await service.ask("ns", "ab", 20) == Answer(())
    for number, text in enumerate(("zz", "ab", "ab", "ac")):
        await service.store("ns", Memory(str(number), text, None, None))
        await service.ask("ns", "ab", 20)
    assert (await service.ask("ns", "ab", 3)).turn_ids == ("1", "2", "3")
    assert (await service.ask("other", "ab", 3)).turn_ids == ()


class Found:
    """A service that finds the same for every question."""

    def __init__(self, *turns: str) -> None:
        self.turns = turns
        self.stored: list[str] = []
        self.depths: list[int] = []

    async def store(self, namespace: str, memory: Memory) -> None:
        assert namespace
        self.stored.append(memory.turn_id)

    async def ready(self, namespace: str) -> None:
        pass

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        assert at is None, (namespace, question)
        self.depths.append(top_k)
        return Answer(self.turns[:top_k])


async def test_reciprocal_rank_fusion_orders_by_the_sum_over_60_plus_the_place_of_the_best_100_of_each() -> None:
    first, second = Found("a", "b", "c"), Found("c", "d", "b")
    service = Fused([first, second])
    await service.store("ns", OTHERS[0])
    answer = await service.ask("ns", "what?", 3)
    # c: 1/63 + 1/61, b: 1/62 + 1/63, a: 1/61, d: 1/62
    assert answer.turn_ids == ("c", "b", "a")
    assert answer.top_score == pytest.approx(1 / 63 + 1 / 61)
    assert (first.stored, second.stored, first.depths, second.depths) == (
        ["neighbour/0"],
        ["neighbour/0"],
        [100],
        [100],
    )


@pytest.mark.parametrize(("share", "places"), [(0.84, [1, 5, 10]), (0.8499, [1, 5, 10]), (0.85, []), (0.9, [])])
def test_the_product_fails_at_more_than_a_point_below_a_plain_method_and_passes_at_one(
    share: float, places: list[int]
) -> None:
    found = below([row("BM25", 0.5, plain=True), row("vectors", 0.86, plain=True), row("own", share, plain=False)])
    assert [one.k for one in found] == places
    assert {one.plain.method for one in found} <= {"vectors"}


def test_a_fall_is_named_with_its_set_its_size_and_the_method() -> None:
    found = below([row("vectors", 0.9, plain=True, size=200), row("own", 0.8, plain=False, size=200)])
    assert str(found[0]) == "d, 200 neighbours: recall@1 of own is 80.0, 10.0 below vectors"


def test_the_product_is_compared_within_a_data_set_and_a_size_alone() -> None:
    others = [row("vectors", 0.9, plain=True, dataset="e"), row("vectors", 0.9, plain=True, size=200)]
    assert below([*others, row("own", 0.1, plain=False)]) == []


def test_beyond_ten_entries_the_product_is_not_judged() -> None:
    own = Row(
        "d", 0, "own", plain=False, questions=1, hit=dict.fromkeys(KS, 0.5), recall={1: 0.5, 5: 0.5, 10: 0.5, 20: 0.1}
    )
    assert below([row("vectors", 0.5, plain=True), own]) == []


def test_recall_by_sessions_stands_beside_that_by_turns_where_there_are_sessions() -> None:
    question = Question("q", "what?", frozenset({"a", "b"}), "c")
    answer = Answer(("x", "y", "a"))
    told = {"a": "2", "b": "2", "x": "1", "y": "1"}
    with_sessions, without = Asked("d", "1", question, answer, sessions=told), Asked("e", "2", question, answer)
    first, second = rows("m", 0, [with_sessions, without], plain=True)
    assert (first.recall[5], dict(first.sessions)) == (0.5, {1: 0.0, 5: 1.0, 10: 1.0, 20: 1.0})
    assert second.sessions == {}


async def test_every_method_is_asked_the_same_of_stores_of_every_size() -> None:
    stores = {size: sized([conversation("a", told=1), conversation("b")], OTHERS[:size]) for size in (0, 2)}
    service = Found("a/m1")
    found = await measured(stores, [*plain(letters), in_process("own", lambda: service, plain=False)], Plan("p"))
    assert [(one.size, one.method) for one in found] == [
        (size, method) for size in (0, 2) for method in ("vectors", "BM25", "RRF of both", "own")
    ]
    assert {one.questions for one in found} == {2}
    assert [one.recall[1] for one in found if one.method == "own"] == [0.0, 0.5]
    assert [one.recall[1] for one in found if one.method == "BM25"] == [1.0, 1.0]
    assert set(texts(stores)) == {
        *(one.content for one in OTHERS),
        *(f"{name} {says}" for name in "ab" for says in ("keeps bees", "sails on Sundays", "bees?")),
    }


@pytest.mark.parametrize(("turns", "status"), [(("m1",), 0), (("m2",), 1)])
def test_the_program_exits_with_1_where_the_product_is_below_and_writes_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: tuple[str, ...], status: int
) -> None:
    line = {
        "dataset": "tiny",
        "conv_id": "a",
        "turns": [{"id": "m1", "text": "bees"}, {"id": "m2", "text": "sails"}],
        "questions": [{"qid": "q", "question": "bees?", "gold": ["m1"]}],
    }
    (tmp_path / "tiny.jsonl").write_text(json.dumps(line), "utf-8")

    def served(reader: str) -> Method:
        return in_process(f"READER={reader}", lambda: Found(*turns), plain=False)

    monkeypatch.setattr(program, "product", served)
    monkeypatch.setattr(program, "_embedded", lambda _: letters)
    options = ["--sizes", "0", "--reader", "none", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(program.main, [str(tmp_path / "tiny.jsonl"), *options])
    assert result.exit_code == status, result.output
    written = json.loads((tmp_path / "out" / "bar.json").read_text("utf-8"))
    text = (tmp_path / "out" / "bar.md").read_text("utf-8")
    assert (len(written["below"]), len(written["rows"])) == (status * 9, 4)
    assert {"date", "commit", "cpus", "seconds"} <= set(written)
    assert ("Passed" in text, "recall@1 of READER=none is 0.0, 100.0 below vectors" in text) == (
        not status,
        bool(status),
    )
    assert "| READER=none |" in result.output


def test_sizes_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tiny.jsonl").write_text(
        json.dumps({"conv_id": "a", "turns": [{"id": "m1", "text": "x"}], "questions": []}), "utf-8"
    )
    assert "no question has evidence" in CliRunner().invoke(program.main, [str(tmp_path)]).output
    line = json.dumps(
        {
            "conv_id": "a",
            "turns": [{"id": "m1", "text": "x"}],
            "questions": [{"qid": "q", "question": "x?", "gold": ["m1"]}],
        }
    )
    (tmp_path / "tiny.jsonl").write_text(line, "utf-8")
    assert "write numbers" in CliRunner().invoke(program.main, [str(tmp_path), "--sizes", "0,many"]).output


def test_the_table_has_nothing_for_sessions_where_there_are_none() -> None:
    table = Results([row("vectors", 0.5, plain=True)], [], {}).table()
    assert table.splitlines()[0].split("|")[-2].strip() == "sessions@20"
    assert table.splitlines()[2].split("|")[-2].strip() == ""
