"""What is escaped where a memory is shown as text."""

import json
import sys
import unicodedata

import pytest

from app.interfaces.text import json_text, one_line, visible
from memory_gateway_client import tools
from memory_gateway_client.types import Stored

HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
UNSEEN = {
    *range(0xE0100, 0xE01F0),
    *range(0xFE00, 0xFE0E),
    0x34F,
    0x115F,
    0x1160,
    *range(0x180B, 0x1810),
    0x3164,
    0xFFA0,
}
"""Variation selectors, and letters that show nothing."""


def test_every_character_that_acts_or_hides_is_escaped_and_no_other() -> None:
    plain = []
    for number, character in enumerate(map(chr, range(sys.maxunicode + 1))):
        category = unicodedata.category(character)
        if category == "Cn":  # what this Python's Unicode does not know yet may be one of them in a later version
            continue
        if (category in HIDDEN and character not in "\n\t") or number in UNSEEN:
            assert visible(character) != character, hex(number)
        else:
            plain.append(character)
    apart = " ".join(plain)  # two of some in a row are hidden
    assert visible(apart) == apart


def test_a_text_on_one_line_shows_its_breaks_and_where_it_is_cut() -> None:
    assert one_line("a\nb\tc\x1b") == "a\\nb\\tc\\x1b"
    assert one_line("one two three", 8) == "one two ..."
    assert one_line("one two", 7) == "one two"


def test_a_variation_selector_behind_an_emoji_stays_and_no_more_than_one() -> None:
    assert visible("\u2764\ufe0f \u2764\ufe0e") == "\u2764\ufe0f \u2764\ufe0e"
    assert visible("\u2764\ufe0f\ufe0e\ufe0f") == "\u2764\ufe0f\\ufe0e\\ufe0f"


@pytest.mark.parametrize("times", [1, 2000])
def test_the_json_of_a_text_says_the_same(times: int) -> None:
    value = {"a": "x\u200by\U000e0041\n\x1b[2J\u202e\U0001f469\u200d\ud800" * times, "b": [1, None, "\u00e9"]}
    text = json_text(value)
    assert json.loads(text) == value
    assert text == visible(text)
    assert ("\u00e9" in text) is (times == 1)


def test_the_client_escapes_the_same() -> None:
    characters = "".join(chr(number) for number in range(0xD800))
    said = json.loads(tools.text(Stored(kept=(characters,))))
    assert said["kept"] == [characters]
    assert tools.text(Stored(kept=(characters,))) == visible(tools.text(Stored(kept=(characters,))))
