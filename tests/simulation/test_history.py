"""The check that the simulation rests on finds what it is there to find, and nothing else."""

import pytest

from app.domain.query import Entry
from tests.simulation.history import History
from tests.simulation.operations import Delete, Store, Text, ViolationError

TEXT = Text("note", "a")
ID, OTHER = "01M0000000000000000000000A", "01M0000000000000000000000B"


@pytest.fixture
def history() -> History:
    return History()


def stored(history: History, id_: str = ID, number: int = 1, text: Text = TEXT) -> Store:
    store = history.begin_store(number, text)
    history.acknowledge_store(store, id_)
    return store


def deleted(history: History, id_: str = ID) -> Delete:
    delete = history.begin_delete(id_)
    history.acknowledge_delete(delete)
    return delete


def recall(history: History, *ids: str, number: int = 1, text: Text = TEXT, began: int | None = None) -> None:
    """Answer a recall of the content, asked now unless said otherwise, with these ids as that store has left them."""
    began = history.tick() if began is None else began
    metadata = {"number": number, "session": text[1]}
    history.check_found(
        began, [Entry(id=id_, content=text[0], metadata=metadata, score=1.0, created_at=1) for id_ in ids]
    )
    history.check_missing(began, [TEXT], ids)


def test_what_was_acknowledged_must_be_found(history: History) -> None:
    stored(history)
    recall(history, ID)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history)


def test_what_was_deleted_must_not_be_found(history: History) -> None:
    stored(history)
    deleted(history)
    recall(history)
    with pytest.raises(ViolationError, match="had been deleted"):
        recall(history, ID)


def test_what_happens_during_a_recall_may_be_in_its_answer_or_not(history: History) -> None:
    began = history.tick()
    stored(history)
    recall(history, began=began)
    recall(history, ID, began=began)
    began = history.tick()
    deleted(history)
    recall(history, ID, began=began)
    recall(history, began=began)


def test_a_failed_store_happened_or_not_but_the_first_answer_settles_it(history: History) -> None:
    for number in (1, 2):
        history.fail(history.begin_store(number, TEXT))
    recall(history, ID, number=2)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history)
    history.fail(history.begin_store(3, Text("other")))
    history.check_missing(history.tick(), [Text("other")], [])
    with pytest.raises(ViolationError, match="was not stored"):
        recall(history, OTHER, number=3, text=Text("other"))


def test_a_failed_delete_happened_or_not_but_the_first_answer_settles_it(history: History) -> None:
    stored(history)
    history.fail(history.begin_delete(ID))
    recall(history, ID)
    with pytest.raises(ViolationError, match="did not return"):
        recall(history)
    history.fail(history.begin_delete(ID))
    recall(history)
    with pytest.raises(ViolationError, match="had been deleted"):
        recall(history, ID)


def test_an_answer_shows_what_was_stored_last_and_what_this_agent_stored(history: History) -> None:
    stored(history)
    stored(history, number=2)
    recall(history, ID, number=2)
    with pytest.raises(ViolationError, match="stored over it"):
        recall(history, ID, number=1)
    with pytest.raises(ViolationError, match="never stored like this"):
        recall(history, OTHER, number=3)
    with pytest.raises(ViolationError, match="never stored like this"):
        recall(history, OTHER, text=Text("another"))
    with pytest.raises(ViolationError, match="twice"):
        recall(history, ID, ID, number=2)


def test_one_content_is_one_memory_and_a_deleted_one_does_not_come_back(history: History) -> None:
    stored(history)
    with pytest.raises(ViolationError, match="same content"):
        stored(history, OTHER, number=2)
    deleted(history)
    with pytest.raises(ViolationError, match="had been deleted"):
        stored(history, ID, number=3)
    stored(history, OTHER, number=4)
    recall(history, OTHER, number=4)


def test_a_shade_may_be_missing_only_while_it_is_not_certain(history: History) -> None:
    store = stored(history)
    with pytest.raises(ViolationError, match="of shade"):
        history.check_missing_shade(history.tick(), store.shade, [TEXT], [])
    history.fail(history.begin_store(2, TEXT))
    history.check_missing_shade(history.tick(), store.shade, [TEXT], [])


def test_an_erasure_takes_all_there_was_and_keeps_stores_out_until_it_is_done(history: History) -> None:
    with pytest.raises(ViolationError, match="nothing was being erased"):
        history.refuse_store(history.begin_store(1, TEXT))
    stored(history, number=2)
    erasure = history.begin_erasure()
    history.accept_erasure()
    history.refuse_store(history.begin_store(3, Text("made again")))
    recall(history, ID, number=2)
    recall(history, OTHER, number=3, text=Text("made again"))
    assert history.finish_erasure(erasure) == [ID, OTHER]
    recall(history)
    for id_, number, text in ((ID, 2, TEXT), (OTHER, 3, Text("made again"))):
        with pytest.raises(ViolationError, match="had been deleted"):
            recall(history, id_, number=number, text=text)
    with pytest.raises(ViolationError, match="nothing was being erased"):
        history.refuse_store(history.begin_store(4, TEXT))
