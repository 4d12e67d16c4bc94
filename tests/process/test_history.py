"""The check that the reliability tests rest on finds what it is there to find."""

import time
from typing import Any

import pytest

from tests.process.history import TOP_K, History
from tests.process.memories import Memory

ONE, OTHER = Memory("agent", "one"), Memory("agent", "other")


@pytest.fixture
def history() -> History:
    history = History()
    history.begin("store", ONE).acknowledged("201")
    return history


def shows(history: History, *entries: tuple[str, Memory], asked: Memory = ONE, began: float | None = None) -> list[str]:
    found: list[dict[str, Any]] = [{"id": id_, "content": memory.content} for id_, memory in entries]
    history.recalled(asked, found, began=time.monotonic() if began is None else began, by="server")
    return history.violations


def delete(history: History, id_: str, memory: Memory = ONE) -> None:
    history.begin("delete", memory).acknowledged("204")
    history.deleted(id_)


def test_an_acknowledged_memory_must_be_recalled(history: History) -> None:
    assert shows(history, ("a", ONE)) == []
    assert "is not recalled" in shows(history)[0]


def test_a_memory_may_be_missing_while_it_is_stored_or_deleted(history: History) -> None:
    history.begin("store", OTHER)
    assert shows(history, asked=OTHER) == []
    deleting = history.begin("delete", ONE)
    assert shows(history, ("a", ONE)) == shows(history) == []
    deleting.told("503")
    assert shows(history, ("a", ONE)) == shows(history) == []


def test_a_memory_acknowledged_while_it_was_asked_for_may_be_missing(history: History) -> None:
    began = time.monotonic()
    history.begin("store", OTHER).acknowledged("201")
    assert shows(history, asked=OTHER, began=began) == []


def test_a_deleted_memory_may_not_be_shown(history: History) -> None:
    began = time.monotonic()
    delete(history, "a")
    assert shows(history, ("a", ONE), began=began) == []
    assert "which was deleted" in shows(history, ("a", ONE))[0]


def test_a_memory_stored_again_must_be_recalled_under_another_id(history: History) -> None:
    delete(history, "a")
    assert shows(history) == []
    history.begin("store", ONE).acknowledged("201")
    assert shows(history, ("b", ONE)) == []
    assert "is not recalled" in shows(history)[0]


def test_what_was_never_stored_is_shown_twice_or_is_too_much_is_found(history: History) -> None:
    assert "never stored" in shows(history, ("a", ONE), ("b", OTHER)).pop()
    assert "different" in shows(history, ("a", ONE), ("c", ONE)).pop()
    assert "of another" in shows(history, ("a", ONE), ("b", ONE))[-1]
    many = [(str(number), Memory("agent", f"number {number}")) for number in range(TOP_K)]
    for _, memory in many:
        history.begin("store", memory)
    assert f"recalls {TOP_K + 1} entries" in shows(history, ("a", ONE), *many)[-1]


def test_the_database_must_hold_what_was_stored_and_not_what_was_deleted(history: History) -> None:
    history.held({"a": ONE})
    assert history.violations == []
    history.held({})
    assert "is not held" in history.violations.pop()
    delete(history, "a")
    history.held({})
    assert history.violations == []
    history.held({"a": ONE})
    assert "which was deleted" in history.violations.pop()
