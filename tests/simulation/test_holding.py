"""The check that the simulation rests on knows what was superseded and what was forgotten."""

from collections.abc import Mapping

import pytest

from app.domain.query import Entry
from tests.simulation.history import History
from tests.simulation.operations import Mark, Store, Text, ViolationError
from tests.simulation.statements import MOMENTS

FUTURE = MOMENTS[-1]
ROME, OSLO, ALIKE = Text("I live in Rome", "a", 1), Text("I moved to Oslo", "b", 2), Text("I moved to Rome", "a", 3)
LATER = OSLO._replace(occurred_at=FUTURE)
IDS = {
    text: f"01M0000000000000000000000{letter}" for text, letter in zip((ROME, OSLO, ALIKE, LATER), "RSTV", strict=True)
}


@pytest.fixture
def history() -> History:
    return History()


def stored(history: History, text: Text, number: int = 1, id_: str = "") -> Store:
    store = history.begin_store(number, text)
    history.acknowledge_store(store, id_ or IDS[text])
    return store


def deleted(history: History, text: Text) -> None:
    history.acknowledge_delete(history.begin_delete(IDS[text]))


def marked(history: History, text: Text, *, forgotten: bool = True) -> Mark:
    mark = history.begin_mark(IDS[text], forgotten=forgotten)
    history.acknowledge_mark(mark)
    return mark


def recall(history: History, asked: Text, *found: Text, session: str | None = None, **numbers: int) -> None:
    """Answer a recall of a content, asked now, with these memories."""
    began, where = history.tick(), {} if session is None else {"session": session}
    entries = [_entry(text, numbers.get(text.content[-4:].lower(), 1)) for text in found]
    history.check_found(began, entries, where)
    history.check_missing(began, [asked], [IDS[text] for text in found], where)


def _entry(text: Text, number: int) -> Entry:
    metadata: Mapping[str, int | str | None] = {"number": number, "session": text.session}
    return Entry(
        id=IDS[text], content=text.content, metadata=metadata, score=1.0, created_at=1, occurred_at=text.occurred_at
    )


def test_what_was_superseded_must_not_be_found_until_its_successor_is_deleted(history: History) -> None:
    stored(history, OSLO, 2)
    recall(history, OSLO, OSLO, oslo=2)
    stored(history, ROME)
    recall(history, ROME)
    with pytest.raises(ViolationError, match="had been superseded"):
        recall(history, ROME, ROME)
    deleted(history, OSLO)
    recall(history, ROME, ROME)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, ROME)


def test_what_says_more_or_the_same_or_does_not_hold_yet_supersedes_nothing(history: History) -> None:
    stored(history, ROME)
    stored(history, ALIKE, 2)
    stored(history, LATER, 3)
    recall(history, ROME, ROME)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, ROME)


def test_a_failed_correction_happened_or_not_but_an_answer_with_what_it_corrects_settles_it(history: History) -> None:
    stored(history, ROME)
    history.fail(history.begin_store(2, OSLO))
    recall(history, ROME)
    recall(history, ROME, ROME)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, ROME)
    with pytest.raises(ViolationError, match="was not stored"):
        recall(history, OSLO, OSLO, oslo=2)


def test_a_filter_that_keeps_out_what_holds_lets_what_it_superseded_in(history: History) -> None:
    stored(history, ROME)
    stored(history, OSLO, 2)
    recall(history, ROME, ROME, session="a")
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, ROME, session="a")
    marked(history, OSLO)
    recall(history, ROME, session="a")


def test_what_was_forgotten_must_not_be_found_until_it_is_remembered_and_brings_nothing_back(history: History) -> None:
    stored(history, ROME)
    stored(history, OSLO, 2)
    marked(history, OSLO)
    recall(history, OSLO)
    with pytest.raises(ViolationError, match="had been forgotten"):
        recall(history, OSLO, OSLO, oslo=2)
    with pytest.raises(ViolationError, match="had been superseded"):
        recall(history, ROME, ROME)
    marked(history, OSLO, forgotten=False)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, OSLO)
    marked(history, OSLO)
    stored(history, OSLO, 3)
    recall(history, OSLO, OSLO, oslo=3)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, OSLO)


def test_a_failed_forgetting_happened_or_not_but_the_first_answer_settles_it(history: History) -> None:
    stored(history, ROME)
    history.fail(history.begin_mark(IDS[ROME], forgotten=True))
    recall(history, ROME, ROME)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history, ROME)
    history.fail(history.begin_mark(IDS[ROME], forgotten=True))
    recall(history, ROME)
    with pytest.raises(ViolationError, match="had been forgotten"):
        recall(history, ROME, ROME)


def test_what_holds_can_be_forgotten(history: History) -> None:
    stored(history, ROME)
    with pytest.raises(ViolationError, match="nothing had superseded it"):
        history.refuse_forget(history.begin_mark(IDS[ROME], forgotten=True))
    with pytest.raises(ViolationError, match="was not found"):
        history.miss_mark(history.begin_mark(IDS[ROME], forgotten=True))


def test_what_is_superseded_or_deleted_cannot_be_forgotten(history: History) -> None:
    stored(history, ROME)
    stored(history, OSLO, 2)
    history.refuse_forget(history.begin_mark(IDS[ROME], forgotten=True))
    recall(history, OSLO, OSLO, oslo=2)
    with pytest.raises(ViolationError, match="had been superseded"):
        recall(history, ROME, ROME)
    deleted(history, OSLO)
    history.miss_mark(history.begin_mark(IDS[OSLO], forgotten=True))
    with pytest.raises(ViolationError, match="had been deleted"):
        marked(history, OSLO)


def test_what_was_superseded_before_is_not_forgotten(history: History) -> None:
    stored(history, ROME)
    stored(history, OSLO, 2)
    with pytest.raises(ViolationError, match="superseded before"):
        marked(history, ROME)


def test_what_is_superseded_makes_room_unless_it_was_said_at_a_moment(history: History) -> None:
    undated, again = Text(ROME.content, "a"), "01M0000000000000000000000X"
    stored(history, undated, 1, IDS[ROME])
    stored(history, OSLO._replace(occurred_at=FUTURE - 1), 2, IDS[OSLO])
    stored(history, undated, 3, again)
    stored(history, ROME, 4, "01M0000000000000000000000Y")
    with pytest.raises(ViolationError, match="had the same content"):
        stored(history, ROME, 5, "01M0000000000000000000000Z")
