"""What the rules make of everyday pairs: the new statement sets the key of the old one, and its question asks it."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.statements.rules import keys_asked, statements

PAIRS = Path(__file__).parents[2] / "bench" / "quality" / "updates" / "updates.jsonl"


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]


def told(pair: dict[str, Any], turn: int) -> dict[str, str]:
    """Return the values that the old (0) or the new statement (1) of a pair sets, by key."""
    found = statements(pair["turns"][turn]["text"])
    return {each.key: each.value for each in found if each.key is not None and each.value is not None}


def keys(pair: dict[str, Any]) -> set[str]:
    """Return the keys that have another value in the new statement."""
    old, new = told(pair, 0), told(pair, 1)
    return {key for key in old if new.get(key, old[key]) != old[key]}


def test_the_new_statement_replaces_the_old_one_in_nine_of_ten_pairs(pairs: list[dict[str, Any]]) -> None:
    missed = [pair["conv_id"] for pair in pairs if not keys(pair)]
    assert len(pairs) - len(missed) >= 36, missed


def test_the_question_asks_for_the_replaced_key_in_four_of_five_pairs(pairs: list[dict[str, Any]]) -> None:
    missed = [pair["conv_id"] for pair in pairs if not keys(pair) & set(keys_asked(pair["questions"][0]["question"]))]
    assert len(pairs) - len(missed) >= 32, missed
