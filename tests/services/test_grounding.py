"""Whether a statement follows: code rejects, a reader accepts, and without one only a line's own words pass."""

from collections.abc import Mapping

import pytest

from app.domain.errors import ReaderUnavailable
from app.grounding import Checker, Source
from app.services.grounding import AT_ONCE, Claim, checked, decided
from app.services.reading import TenantReader
from app.services.shares import Shares
from tests.services.scripted_reader import ScriptedReader

USE = "Use pnpm, not npm."
PREFERS = "The user prefers pnpm over npm."


def claim(text: str, *lines: str) -> Claim:
    return Claim(text, [Source(line, None, "user") for line in lines])


async def rejected(reader: ScriptedReader | None, *claims: Claim) -> list[list[str]]:
    tenant = None if reader is None else TenantReader("acme", reader, Shares(1), 0.5)
    found = await decided(claims, checked(claims, Checker()), tenant)
    return [[each.kind for each in one] for one in found]


def reading(claims: Mapping[tuple[str, str], float]) -> ScriptedReader:
    return ScriptedReader(claims=claims)


async def test_a_paraphrase_follows_where_the_reader_says_so_with_its_threshold() -> None:
    for probability, kinds in ((0.5, []), (0.49, ["claim"])):
        assert await rejected(reading({(USE, PREFERS): probability}), claim(PREFERS, USE)) == [kinds]


async def test_what_a_guard_rejects_no_reader_accepts_or_is_asked() -> None:
    reader = reading({(USE, "The user prefers yarn9."): 1.0})
    assert await rejected(reader, claim("The user prefers yarn9.", USE)) == [["name"]]
    assert not reader.tenants


async def test_a_sentence_of_a_line_follows_without_being_read() -> None:
    reader = reading({})
    assert await rejected(reader, claim("Use pnpm, not npm", f"Hello. {USE}"), claim(USE, USE)) == [[], []]
    assert not reader.tenants


@pytest.mark.parametrize(
    ("text", "line", "passes"),
    [
        ("I live in Oslo.", "I live in Oslo. It rains.", True),
        ("I live in Oslo.", "Hello: I live in Oslo; it rains.", True),
        ("I move to Oslo.", "If I win, I move to Oslo.", False),
        ("The user lives in Oslo.", "I live in Oslo.", False),
        (PREFERS, USE, False),
    ],
)
async def test_without_a_reader_the_words_of_a_line_pass(text: str, line: str, *, passes: bool) -> None:
    assert await rejected(None, claim(text, line)) == [[] if passes else ["claim"]]


async def test_a_statement_without_a_line_does_not_follow() -> None:
    assert await rejected(reading({}), claim("Ann likes tea.")) != [[]]
    assert await rejected(reading({}), claim("tea is good")) == [["claim"]]


async def test_many_statements_are_read_in_batches_the_likeliest_pair_of_each_first() -> None:
    claims = [claim(f"tea is good for {number}", f"good for {number} is tea") for number in range(2 * AT_ONCE + 1)]
    reader = reading({(each.sources[0].text, each.text): 1.0 for each in claims})
    assert await rejected(reader, *claims) == [[]] * len(claims)
    assert reader.tenants == ["acme"] * 3


async def test_where_the_reader_is_away_nobody_decides() -> None:
    with pytest.raises(ReaderUnavailable):
        await rejected(ScriptedReader(error=ReaderUnavailable("closed")), claim(PREFERS, USE))
