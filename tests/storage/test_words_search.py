"""The search in the index of words in steps, held against the one statement that finds the same."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import apsw
import numpy as np
import pytest

from app.adapters.local.sqlite_index import HitsOfFile
from app.bootstrap import DATABASE_FILE
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.database import Database, Row, Select, Statement
from app.ports.vector_index import Hit, Hits
from app.retrieval.channels.vector import points
from app.services.tenant.caches import TenantCaches
from app.storage.candidates import CandidateQuery, find_candidates
from app.storage.damaged_words import MARK_DAMAGED
from app.storage.postings import WALKED, KeptPostings, Postings
from app.storage.system.words_index import REFILL_STEP, RESET
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


async def filled(memories: Memories, scopes: dict[Scope, int]) -> dict[Scope, list[str]]:
    """Fill scopes whose words are from rare to common, and one is in every memory; return the ids."""
    chance, ids = Random(5), dict[Scope, list[str]]()
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
    ids = await filled(Memories(database), scopes)
    for query in asked(ids[OWN]):
        in_steps, at_once = await both(database, OWN, query)
        assert in_steps == at_once, query.sections["lexical"]
        assert len(at_once) > 1 or query.sections["lexical"] == ['"nowhere"']


async def test_a_few_memories_are_found_in_steps_as_by_one_statement(database: Database) -> None:
    ids = await filled(Memories(database), {OWN: 95, OTHER: 30})
    for query in asked(ids[OWN])[::4]:
        in_steps, at_once = await both(database, OWN, query)
        assert in_steps == at_once


async def test_hits_that_are_found_in_the_same_run_are_searched_for_words_as_hits_that_were_given(
    database: Database,
) -> None:
    ids = (await filled(Memories(database), {OWN: 1_100}))[OWN]
    found = Hits([Hit(id_, 1 - place / 100) for place, id_ in enumerate(Random(6).sample(ids, k=90))])
    awaited = HitsOfFile(lambda _: found)
    query = CandidateQuery({"lexical": [f'"{word}"' for word in WORDS[:5]]}, INDEX)
    in_sections = [{**query.sections, "semantic": points(hits.hits)} for hits in (found, awaited.until_then)]
    given, waiting = (replace(query, sections=sections) for sections in in_sections)
    ((expected,), (in_same_run,)) = (
        await database.run([find_candidates(OWN, given)]),
        await database.run([find_candidates(OWN, waiting, awaited)]),
    )
    assert in_same_run == expected


class Keeping:
    """Searches the words of one scope, and keeps what it has read, as the service does."""

    def __init__(self, memories: Memories, scope: Scope = OWN) -> None:
        self.memories = memories
        self.scope = scope
        self.kept: dict[str, Postings] = {}

    async def search(self, *words: str) -> None:
        """Find the same as the one statement does, and keep what was read."""
        query = CandidateQuery({"lexical": [f'"{word}"' for word in words]}, INDEX, max_pending=10)
        kept = KeptPostings(self.kept)
        steps = find_candidates(self.scope, query, kept=kept)
        (found,) = await self.memories.database.run([steps])
        (at_once,) = await self.memories.database.run([Statement(steps.sql, steps.argument)])
        assert found == at_once, words
        self.kept |= kept.read


async def test_what_was_kept_of_the_words_finds_the_same_whatever_is_stored_and_removed_between(
    database: Database,
) -> None:
    memories, chance = Memories(database), Random(8)
    await filled(memories, {OWN: 250, OTHER: 60})
    own, other = Keeping(memories), Keeping(memories, OTHER)
    there: dict[Scope, list[str]] = {OWN: [], OTHER: []}
    for number in range(60):
        scope = chance.choice([OWN, OWN, OTHER])
        if number % 7 == 6 and there[scope]:  # often the newest, whose number the next memory gets
            await memories.remove(there[scope].pop(chance.choice([-1, -1, 0])), scope=scope)
        else:
            there[scope].append(f"{' '.join(chance.choices(WORDS, k=4))} left beta added{number}")
            await memories.put(there[scope][-1], scope=scope)
        words = chance.sample(WORDS, k=3)
        for keeping in (own, other):
            await keeping.search(*words, "left", f"added{number}")
            await keeping.search("beta", "left", "every")
    assert {'("left")', '("beta")'} <= own.kept.keys()


async def test_a_word_whose_memories_are_too_many_for_one_search_is_read_on_by_the_next_ones(
    database: Database,
) -> None:
    memories = Memories(database)
    await filled(memories, {OWN: LARGE, OTHER: 20})
    await memories.put(*(Held(f"every further memory {number}") for number in range(3 * WALKED)))
    keeping, counts = Keeping(memories), list[int]()
    while (counts[-1:] or [0]) != counts[-2:-1]:
        await keeping.search("every", "further", "w1ord")
        counts.append(len(keeping.kept['("every")'].numbers))
    assert counts[0] < counts[1] < counts[-1] == LARGE + 3 * WALKED


async def test_what_was_kept_after_a_store_is_right_for_a_run_on_the_snapshot_before_it(
    database: Database, tmp_path: Path
) -> None:
    memories = Memories(database)
    await filled(memories, {OWN: 40})
    keeping = Keeping(memories)
    query = CandidateQuery({"lexical": ['"every"', '"w1ord"']}, INDEX, max_pending=10)
    with closing(apsw.Connection(str(tmp_path / DATABASE_FILE))) as before:
        before.execute("BEGIN")
        select = Selecting(before)
        expected = run_on(select, find_candidates(OWN, query))
        await memories.put("every w1ord is new")
        await keeping.search("every", "w1ord")
        assert run_on(select, find_candidates(OWN, query, kept=KeptPostings(keeping.kept))) == expected
    await keeping.search("every", "w1ord")


@dataclass(slots=True)
class Selecting:
    """Selects by a connection, as a run does, and counts how often."""

    connection: apsw.Connection
    count: int = 0

    def __call__(self, sql: str, values: Sequence[str | int]) -> Any:
        self.count += 1
        return json.loads(self.connection.execute(sql, values).get)


def run_on(select: Select, statement: Statement) -> Any:
    """Return what a search in steps gives the statement to read, by a snapshot's ``select``."""
    assert statement.stepwise is not None
    return statement.stepwise(statement, select).argument


async def test_words_that_were_damaged_and_indexed_anew_are_read_anew(database: Database) -> None:
    await filled(Memories(database), {OWN: 60})
    keeping = Keeping(Memories(database))
    await keeping.search("left")
    before = keeping.kept['("left")']
    await database.run([*RESET, MARK_DAMAGED])
    await keeping.search("left")
    await database.run(RESET)
    for _ in range(3):
        await database.run(REFILL_STEP)
        await keeping.search("left")
    after = keeping.kept['("left")']
    assert (after.numbers.tolist(), after.state != before.state) == (before.numbers.tolist(), True)


async def test_words_of_a_database_that_was_restored_into_the_file_are_read_anew(
    database: Database, tmp_path: Path
) -> None:
    memories = Memories(database)
    await filled(memories, {OWN: 60})
    keeping = Keeping(memories)
    with closing(apsw.Connection(str(tmp_path / DATABASE_FILE))) as file, closing(apsw.Connection(":memory:")) as copy:
        with copy.backup("main", file, "main") as backup:
            backup.step()
        await memories.put(*(f"left since number{number}" for number in range(20)))
        await keeping.search("left", "since")
        with file.backup("main", copy, "main") as backup:
            backup.step()
    await memories.put(*(f"right anew number{number}" for number in range(30)))
    for words in (("left", "since"), ("right", "anew")):
        await keeping.search(*words)


async def test_a_word_that_was_kept_is_not_looked_for_again(database: Database, tmp_path: Path) -> None:
    await filled(Memories(database), {OWN: LARGE, OTHER: 20})
    kept, counts = KeptPostings(), list[int]()
    with closing(apsw.Connection(str(tmp_path / DATABASE_FILE))) as connection:
        for _ in range(3):
            query = CandidateQuery({"lexical": [f'"{word}"' for word in WORDS[:8]]}, INDEX, max_pending=10)
            select = Selecting(connection)
            run_on(select, find_candidates(OWN, query, kept=kept))
            counts.append(select.count)
            kept = KeptPostings({**kept.given, **kept.read})
    assert counts[0] > 3 * counts[1]
    assert counts[1] == counts[2]


def test_an_erasure_of_a_tenant_forgets_what_was_kept_of_its_words_in_each_shard() -> None:
    caches, theirs, kept = TenantCaches(), Scope("globex", "bot"), KeptPostings()
    kept.read["tea"] = Postings(np.array([3]), 4, [0, 1])
    of_shards = [caches, replace(caches, shard="east")]
    for each in of_shards:
        each.keep_postings(OWN, kept)
        each.keep_postings(theirs, kept)
    caches.seen("acme", 1)
    assert [{*each.kept_postings(OWN, ["tea"]).given} for each in of_shards] == [set(), set()]
    assert [{*each.kept_postings(theirs, ["tea"]).given} for each in of_shards] == [{"tea"}, {"tea"}]


def test_what_is_kept_of_words_is_counted_with_the_words() -> None:
    caches, kept = TenantCaches(), KeptPostings()
    kept.read["long" * 1_000] = Postings(np.array([3]), 4, [0, 1])
    caches.keep_postings(OWN, kept)
    assert caches.postings.held > 4_000
