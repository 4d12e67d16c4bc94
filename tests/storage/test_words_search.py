"""The search in the index of words in steps, held against the one statement that finds the same."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from app.adapters.local.sqlite_index import HitsOfFile
from app.bootstrap import DATABASE_FILE
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.database import Database, Row, Statement
from app.ports.vector_index import Hit, Hits
from app.retrieval.channels.vector import points
from app.storage.candidates import CandidateQuery, find_candidates
from tests.contracts.conftest import sqlite_database
from tests.contracts.memories import INDEX, OWN, Held, Memories
from tests.support import migrated

OTHER = Scope("acme", "other")
WORDS = [f"w{number}ord" for number in range(60)]
LARGE, SMALL = 1_300, 150


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    migrated.prepare(tmp_path)
    async with sqlite_database(tmp_path / DATABASE_FILE) as opened:
        yield opened


def patterned(number: int) -> list[str]:
    """Return two words that a quarter of the memories have, and four common ones that few have together."""
    last, rare = number % 10, number % 100 == 4
    common = {"alpha": last < 5, "beta": 4 <= last < 9, "gamma": last in (9, 0, 1, 2) or rare}
    common["delta"] = last in (0, 1, 2, 3, 5, 6) or number % 200 == 4
    return [word for word, held in ({"left": not number % 4, "right": not number % 4} | common).items() if held]


async def filled(database: Database, scopes: dict[Scope, int]) -> dict[Scope, list[str]]:
    """Fill scopes whose words are from rare to common, and one is in every memory; return the ids."""
    memories, chance, ids = Memories(database), Random(5), dict[Scope, list[str]]()
    for scope, count in scopes.items():
        held = [
            Held(
                " ".join(
                    [
                        *chance.choices(WORDS, weights=[(n + 1) ** -1.5 for n in range(60)], k=9),
                        "every",
                        f"n{n}",
                        *patterned(n),
                    ]
                ),
                session=f"s{n // 9}" if n % 2 else None,
            )
            for n in range(count)
        ]
        ids[scope] = [
            id_ for first in range(0, count, 500) for id_ in await memories.put(*held[first : first + 500], scope=scope)
        ]
    return ids


def asked(ids: list[str]) -> list[CandidateQuery]:
    """Give queries of few words and of many, of rare words and of common ones, with synonyms and hits."""
    chance = Random(6)
    lexical = [
        [*chance.sample(WORDS, k=4), "every"],
        WORDS[:3],
        WORDS[-4:],
        [WORDS[0], WORDS[-1]],
        ["every"],
        ["every", WORDS[0], WORDS[1], WORDS[2], WORDS[3]],
        ["nowhere"],
        ["alpha", "beta", "gamma", "delta"],
        ["left", "right"],
        chance.sample(WORDS, k=25),
        ["n7", "n8", WORDS[1], WORDS[5], WORDS[9]],
    ]
    hits: list[Json] = [[id_, round(1 - n / 100, 4)] for n, id_ in enumerate(chance.sample(ids, k=90))]
    return [
        CandidateQuery(
            {
                "lexical": [f'"{word}"' for word in words],
                "synonyms": [f'"{word}"' for word in synonyms],
                "semantic": found,
            },
            INDEX,
            max_pending=10,
            width=width,
        )
        for words in lexical
        for synonyms, found, width in (([], hits, 1), ([WORDS[11], "n9"], hits[:20], 1), ([], [], 4))
    ]


async def both(database: Database, scope: Scope, query: CandidateQuery) -> tuple[list[Row], list[Row]]:
    """Return what is found in steps, and what the one statement finds."""
    steps = find_candidates(scope, query)
    (in_steps,), (at_once,) = await database.run([steps]), await database.run([Statement(steps.sql, steps.argument)])
    return in_steps, at_once


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scopes",
    [{OWN: LARGE}, {OWN: LARGE, OTHER: SMALL}, {OWN: SMALL, OTHER: LARGE}],
    ids=["the only scope", "a large scope of two", "a small scope of two"],
)
async def test_in_steps_the_same_is_found_as_by_one_statement(database: Database, scopes: dict[Scope, int]) -> None:
    ids = await filled(database, scopes)
    for query in asked(ids[OWN]):
        in_steps, at_once = await both(database, OWN, query)
        assert in_steps == at_once, query.sections["lexical"]
        assert len(at_once) > 1 or query.sections["lexical"] == ['"nowhere"']


async def test_a_few_memories_are_found_in_steps_as_by_one_statement(database: Database) -> None:
    ids = await filled(database, {OWN: 95, OTHER: 30})
    for query in asked(ids[OWN])[::4]:
        in_steps, at_once = await both(database, OWN, query)
        assert in_steps == at_once


async def test_hits_that_are_found_in_the_same_run_are_searched_for_words_as_hits_that_were_given(
    database: Database,
) -> None:
    ids = (await filled(database, {OWN: 1_100}))[OWN]
    found = Hits([Hit(id_, 1 - place / 100) for place, id_ in enumerate(Random(6).sample(ids, k=90))])
    awaited = HitsOfFile(INDEX, lambda _: found)
    query = CandidateQuery({"lexical": [f'"{word}"' for word in WORDS[:5]]}, INDEX)
    in_sections = [{**query.sections, "semantic": points(hits.hits)} for hits in (found, awaited.until_then)]
    given, waiting = (replace(query, sections=sections) for sections in in_sections)
    ((expected,), (in_same_run,)) = (
        await database.run([find_candidates(OWN, given)]),
        await database.run([find_candidates(OWN, waiting, awaited)]),
    )
    assert in_same_run == expected
