"""How many rows a recall reads, as the engine that D1 runs on counts them."""

from random import Random

from app.domain.query import Filter
from bench.d1 import CountedD1
from tests.conformance.d1_engine import D1Engine
from tests.contracts.memories import Held, Memories

MEMORIES = 3_000
MOST_ROWS = 4_000
WORDS = [f"w{n}ord" for n in range(400)]


async def test_a_recall_reads_a_bounded_number_of_rows_however_common_its_words_are(engine: D1Engine) -> None:
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
        read = {}
        for name, query in {"common": WORDS[:4], "rare": WORDS[-4:], "message": WORDS[::7]}.items():
            for where in (Filter(), Filter(metadata={"topic": "t3"})):
                database.reads.clear()
                pool = await memories.gather(" ".join(query), where=where, fill=5 if where else 0)
                assert pool.candidates
                read[name, bool(where)] = database.reads[0].rows
        assert {case: rows for case, rows in read.items() if rows > MOST_ROWS} == {}
    finally:
        await database.close()
