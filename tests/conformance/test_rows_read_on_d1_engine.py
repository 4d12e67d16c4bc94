"""How many rows a recall reads, as the engine that D1 runs on counts them."""

from random import Random

from app.domain.explicit import about, read_fact
from app.domain.facts import Fact
from app.domain.query import Filter
from app.storage import filters
from app.storage.listing import MemoryListing
from app.storage.scoped import ScopedStatement
from bench.d1 import CountedD1
from bench.short.figures import VERSION, problems
from bench.short.measuring import Counted
from tests.conformance.d1_engine import D1Engine
from tests.contracts.memories import NOW, OWN, Held, Memories
from tests.support.tables import insert_rows, set_rows

MEMORIES = 3_000
MOST_ROWS = 4_000
OTHERS = 600
FIGURES = {
    "common": {"rows": 2451, "bytes": 25902},
    "common, filter": {"rows": 2056, "bytes": 5278},
    "rare": {"rows": 401, "bytes": 6650},
    "rare, filter": {"rows": 262, "bytes": 1888},
    "message": {"rows": 3576, "bytes": 18311},
    "message, filter": {"rows": 3890, "bytes": 9775},
}
"""What a recall reads, and the bytes of its answer: 5 % more fails, and 5 % less asks for lower figures here."""
WORDS = [f"w{n}ord" for n in range(400)]


async def test_a_recall_reads_a_bounded_number_of_rows_however_common_its_words_are_and_no_more_than_it_did(
    engine: D1Engine,
) -> None:
    place = engine.migrated_database()
    database = CountedD1(place.url, place.id)
    try:
        memories, chance = Memories(database), Random(1)
        for first in range(0, MEMORIES, 500):
            await memories.put(
                *[
                    Held(
                        " ".join(chance.choices(WORDS, weights=range(400, 0, -1), k=15)) + f" n{n}",
                        {"topic": f"t{n % 10}", "turn": n},
                        session=f"s{n // 20}",
                    )
                    for n in range(first, first + 500)
                ]
            )
        read: Counted = {}
        for name, query in {"common": WORDS[:4], "rare": WORDS[-4:], "message": WORDS[::7]}.items():
            for where in (Filter(), Filter(metadata={"topic": "t3"})):
                database.reads.clear()
                pool = await memories.gather(" ".join(query), where=where, fill=5 if where else 0)
                assert pool.candidates
                case = f"{name}, filter" if where else name
                read[case] = {"rows": database.reads[0].rows, "bytes": database.reads[0].size}
        assert {case: counts for case, counts in read.items() if counts["rows"] > MOST_ROWS} == {}
        assert list(problems(read, FIGURES, VERSION)) == [], read
    finally:
        await database.close()


async def test_what_few_memories_of_an_agent_are_or_tell_is_found_without_reading_the_others(engine: D1Engine) -> None:
    place = engine.migrated_database()
    database = CountedD1(place.url, place.id)
    asked = Filter(type="fact", about=about(None, "plays"))
    try:
        memories = Memories(database)
        told = [Fact(f"user {n}", "lives in", "Oslo") for n in range(OTHERS)] + [Fact("user 1", "plays", "chess")]
        ids = await memories.put(*[Held(fact.sentence, fact.metadata, f"s{n}") for n, fact in enumerate(told)])
        events = await memories.put("it rained", "it snowed")
        await set_rows(database, "long_term_memory", {"type": "fact"})
        for event in events:
            await set_rows(database, "long_term_memory", {"type": "event"}, id=event)
        claims = [{"key": read_fact(fact).claims[0].key, "memory_id": id_} for fact, id_ in zip(told, ids, strict=True)]
        rest = {**OWN.argument, "happened_at": NOW, "value": "said", "whole": 1}
        await insert_rows(database, "claim", *[{**claim, **rest} for claim in claims])
        database.reads.clear()
        listed = MemoryListing(OWN.tenant_id).profile(OWN, limit=5, after=None, session_id=None, type_="event")
        stating = ScopedStatement.read(OWN, filters.stating(asked), where=filters.argument(asked))
        found = [(await database.run([statement]))[0] for statement in (listed, stating)]
        assert [{row["id"] for row in rows} for rows in found] == [set(events), {ids[-1]}]
        assert max(read.rows for read in database.reads) < OTHERS / 10, [read.rows for read in database.reads]
    finally:
        await database.close()
