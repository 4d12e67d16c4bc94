r"""No regular expression of the product, however it is used, costs more than in proportion to the text that it reads.

Every pattern of the service and of its clients is searched for a text that it reads again and again
(``tests.support.pumping``). A pattern that is only ever matched at the beginning says so with ``\A``.
"""

import re
from collections.abc import Mapping

import pytest

from tests.support.product_patterns import ProductPattern, product_patterns
from tests.support.pumping import Use, slowest

USES: Mapping[str, Use] = {
    "finditer": lambda pattern, text: [None for _ in pattern.finditer(text)],
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
}
PARTS = 4
QUADRATIC = {
    "blanks that two repeats share": r"[ \t]*([,/&+]|,?[ \t]*\b(?:and|or)\b)[ \t]*(\d\w*)",
    "white space around what is fenced": r"```[A-Za-z0-9_-]*\s*(.*?)\s*```",
    "tags that nothing ends": r"<(system-reminder|(?:command|bash)-\w+)>.*?</\1>",
    "a beginning that comes again": r"\[Request interrupted by user[^\]\n]*\]",
    "words in words": r"(?:\w+\s?)+:",
    "a name before a sign": r"[a-z_]+: ",
}


@pytest.fixture(scope="module")
def patterns() -> list[ProductPattern]:
    return product_patterns()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_pattern_of_the_product_costs_in_proportion_to_its_text(
    patterns: list[ProductPattern], part: int
) -> None:
    assert len(patterns) > 150
    found = {
        (each.where, use): slow
        for each in patterns[part::PARTS]
        for use, used in USES.items()
        if (slow := slowest(re.compile(each.text, each.flags), used))
    }
    assert not found


@pytest.mark.parametrize("text", QUADRATIC.values(), ids=QUADRATIC)
def test_the_search_finds_a_pattern_that_costs_more(text: str) -> None:
    assert any(slowest(re.compile(text, re.DOTALL), use) for use in USES.values())


@pytest.mark.parametrize("text", [r"(?<!\w)\w++(?: [a-z]{1,80})?:", r".{1,200}/[1-9][0-9]{0,5}"])
def test_a_pattern_whose_repeats_share_nothing_or_end_soon_is_not_suspected(text: str) -> None:
    assert not any(slowest(re.compile(text), use) for use in USES.values())
