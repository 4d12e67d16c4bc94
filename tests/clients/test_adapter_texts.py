"""What all adapters share: texts on their way into the memory and out of it, and the names of users and sessions."""

import itertools
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies

from memory_gateway_client import Entry, MemoryGatewayError
from memory_gateway_client.adapters.naming import agent_name, session_name
from memory_gateway_client.adapters.texts import CONTENT_BYTES, NOTICE, pieces, query, quoted, unavailable

DAY = datetime(2026, 3, 5, tzinfo=UTC)


def entry(content: str) -> Entry:
    return Entry("id", content, {}, 0.5, 0.5, created_at=DAY, occurred_at=None, session_id=None)


@pytest.mark.parametrize("text", ["tea " * 20_000, "ü" * 70_000, "🍵" * 20_000, "tea\n\n" * 9_000, "t" * 100_000])
def test_a_long_text_is_cut_into_pieces_that_have_all_of_it(text: str) -> None:
    cut = list(pieces(text))
    assert all(0 < len(piece.encode()) <= CONTENT_BYTES for piece in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert len(cut) <= len(text.encode()) // CONTENT_BYTES + 1 + len(text) // 10_000


def test_words_stay_whole() -> None:
    assert set(itertools.chain(*(piece.split() for piece in pieces("milky tea " * 10_000)))) == {"milky", "tea"}


def test_what_cannot_be_stored_is_left_out_and_a_blank_text_is_none() -> None:
    assert list(pieces("te\0a\ud800")) == ["tea"]
    assert list(pieces(" \0\n")) == []


def test_of_a_long_text_the_beginning_and_the_end_are_asked() -> None:
    asked = query("Who am I? " + "tea " * 20_000 + "Where is Ann?")
    assert asked.startswith("Who am I?")
    assert asked.endswith("Where is Ann?")
    assert len(asked.encode()) <= CONTENT_BYTES
    assert query(" tea\0 ") == "tea"


@given(strategies.text())
def test_a_memory_stands_on_one_line_in_marks_that_nothing_closes(content: str) -> None:
    notice, line = quoted([entry(content)]).splitlines()
    assert notice == NOTICE
    assert json.loads(line.removeprefix("- 2026-03-05: ")) == content
    assert not set(line) & set("<>\u202e\u200b")


def test_nothing_known_is_no_text_and_an_outage_is_one() -> None:
    assert quoted([]) == ""
    assert unavailable(MemoryGatewayError("It did not work.")).startswith("Long-term memory is unavailable: It did not")


def test_no_two_users_have_one_agent() -> None:
    parts = ["a", "b", "a:b", "ann@example.com", "sha256", "x" * 64, "ü", "a" * 56]
    names = [agent_name(*each) for count in (1, 2) for each in itertools.product(parts, repeat=count)]
    assert len(set(names)) == len(names)
    hashed = agent_name("ann@example.com")
    assert agent_name("ann@example.com") == hashed != agent_name(hashed)


def test_no_two_sessions_have_one_name() -> None:
    parts = ["a", "b", "a/b", "x" * 64, "x" * 65, "", "\n"]
    names = [session_name(*each) for count in (1, 2, 3) for each in itertools.product(parts, repeat=count)]
    assert len(set(names)) == len(names)
    assert all(0 < len(name.encode()) <= 64 for name in names)
