"""What is forgotten comes back through no channel until that is taken back, and then all is as it was."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.errors import Forbidden, Superseded, UpstreamTimeout
from app.domain.memory import Memory, NewMemory
from app.domain.query import Query
from app.services.profiles.profile import ProfileService
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import expire
from tests.support.tables import Not, rows_of
from tests.support.told import told

DAY = 86_400_000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


@pytest.fixture
def profiles(bench: Bench) -> ProfileService:
    return by(bench)


def by(bench: Bench, author: Author = ADMINISTRATOR) -> ProfileService:
    return ProfileService(bench.backends.of_tenant("acme", author))


async def tell(bench: Bench, content: str, **fields: Any) -> Memory:
    """Store a text; one that tells where somebody lives has that as a fact beside it."""
    memory_id = await bench.gateway.store("bot", NewMemory(content, told(content), **fields))
    return (await by(bench).get("bot", memory_id)).memory


async def listed(profiles: ProfileService) -> list[str]:
    return [memory.content for memory in (await profiles.list("bot", limit=100, after=None)).items]


async def recalled(bench: Bench, query: str, **asked: object) -> list[str]:
    recall = await bench.gateway.recall("bot", Query(query, top_k=20, **asked))  # type: ignore[arg-type]
    return [entry.content for entry in recall.entries]


async def test_what_is_forgotten_is_neither_recalled_nor_listed_until_that_is_taken_back(
    bench: Bench, profiles: ProfileService
) -> None:
    memory = await profiles.remember("bot", "The cat is black")
    forgotten = await profiles.forget("bot", memory.id)
    assert forgotten.forgotten_at is not None
    assert await listed(profiles) == await recalled(bench, "The cat is black") == []
    assert await profiles.forget("bot", memory.id) == forgotten
    for _ in range(2):
        assert await profiles.unforget("bot", memory.id) == memory
    assert await listed(profiles) == await recalled(bench, "The cat is black") == ["The cat is black"]


async def test_each_forgetting_and_remembering_again_leaves_one_row_in_the_audit(
    bench: Bench, profiles: ProfileService
) -> None:
    memory = await profiles.remember("bot", "The cat is black")
    for _ in range(2):
        await profiles.forget("bot", memory.id)
    for _ in range(2):
        await profiles.unforget("bot", memory.id)
    rows = await rows_of(bench, "audit", "event", "memory_id", "written_by", by="rowid", event=Not("stored"))
    assert [tuple(row.values()) for row in rows] == [
        ("forgotten", memory.id, "administrator"),
        ("remembered_again", memory.id, "administrator"),
    ]


async def test_what_is_superseded_cannot_be_forgotten_and_the_refusal_names_what_holds(
    bench: Bench, profiles: ProfileService
) -> None:
    old = await tell(bench, "I live in Rome", occurred_at=DAY)
    await tell(bench, "I live in Lima", occurred_at=2 * DAY)
    new = await tell(bench, "I live in Oslo", occurred_at=3 * DAY)
    with pytest.raises(Superseded, match=new.id):
        await profiles.forget("bot", old.id)
    assert (await profiles.get("bot", old.id)).memory.forgotten_at is None
    assert await listed(profiles) == ["I live in Oslo"]


async def test_what_a_forgotten_memory_had_replaced_does_not_come_back(bench: Bench, profiles: ProfileService) -> None:
    await tell(bench, "I live in Rome", occurred_at=DAY)
    new = await tell(bench, "I live in Oslo", occurred_at=2 * DAY)
    await profiles.forget("bot", new.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == []
    assert await recalled(bench, "Where do I live?", as_of=DAY) == ["I live in Rome"]
    await profiles.unforget("bot", new.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == ["I live in Oslo"]


QUERIES = {
    "words": "beagle balcony",
    "vector": "My dogg Rexx is a beagel, sleeping on the balconys",
    "question": "What is my dog called?",
    "date": "What happened on 1970-01-04?",
    "neighbours": "We had breakfast at seven",
}


@pytest.mark.parametrize("where", ["pending", "indexed"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
async def test_no_channel_finds_what_was_forgotten(
    bench: Bench, profiles: ProfileService, query: str, where: str
) -> None:
    said = ["We had breakfast at seven", "My dog is called Rex, a beagle that sleeps on the balcony", "Then it rained"]
    ids = [
        (await profiles.remember("bot", text, session_id="s", occurred_at=3 * DAY + n)).id
        for n, text in enumerate(said)
    ]
    if where == "indexed":
        await bench.quiet()
    assert said[1] in await recalled(bench, query)
    await profiles.forget("bot", ids[1])
    assert said[1] not in await recalled(bench, query)
    assert said[1] not in await recalled(bench, query, as_of=10 * DAY)
    assert said[1] not in await recalled(bench, query, collapse="copies", for_model=True)
    assert ids[1] not in {candidate.id for candidate in (await profiles.recall("bot", query)).entries}
    await profiles.unforget("bot", ids[1])
    assert said[1] in await recalled(bench, query)


async def test_what_was_forgotten_before_the_index_had_it_stays_so_once_it_has(
    bench: Bench, profiles: ProfileService
) -> None:
    bench.index.error = UpstreamTimeout("away")
    memory = await profiles.remember("bot", "The cat is black")
    await profiles.forget("bot", memory.id)
    bench.index.error = None
    assert await recalled(bench, "The cat is black") == []
    await bench.quiet()
    assert await recalled(bench, "The cat is black") == []
    await profiles.unforget("bot", memory.id)
    assert await recalled(bench, "The cat is black") == ["The cat is black"]


async def test_a_copy_in_other_case_is_another_memory_and_stays(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "The cat is black")
    await profiles.remember("bot", "the CAT is black")
    await profiles.forget("bot", memory.id)
    assert await recalled(bench, "black cat", collapse="copies") == ["the CAT is black"]


async def test_an_explanation_says_that_a_memory_was_forgotten_and_no_query_returns_it(
    bench: Bench, profiles: ProfileService
) -> None:
    memory = await profiles.remember("bot", "The cat is black")
    await profiles.forget("bot", memory.id)
    explanation = await bench.gateway.explain("bot", Query("The cat is black"), memory.id)
    assert (explanation.obstacles, explanation.change) == (["forgotten"], None)


async def test_who_remembers_or_stores_the_same_again_has_it_again(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "The cat is black")
    other = by(bench, Author("other", "http"))
    for remembered in (
        profiles.remember("bot", "The cat is black"),
        other.remember("bot", "The cat is black"),
        bench.gateway.store("bot", NewMemory("The cat is black")),
        bench.gateway.store("bot", NewMemory("The cat is black", {"of": "Ann"})),
        bench.gateway.store("bot", NewMemory("The cat is black", {"of": "Bob"}), idempotency_key="new"),
    ):
        await profiles.forget("bot", memory.id)
        assert await recalled(bench, "black cat") == []
        await remembered
        assert await recalled(bench, "black cat") == ["The cat is black"]
    assert (await profiles.get("bot", memory.id)).memory.forgotten_at is None


async def test_a_store_that_is_sent_again_with_its_key_was_made_before_the_forgetting(
    bench: Bench, profiles: ProfileService
) -> None:
    new = NewMemory("The cat is black")
    memory_id = await bench.gateway.store("bot", new, idempotency_key="once")
    await profiles.forget("bot", memory_id)
    assert await bench.gateway.store("bot", new, idempotency_key="once") == memory_id
    assert await recalled(bench, "black cat") == []


async def test_what_is_forgotten_and_then_superseded_stays_forgotten_and_can_be_remembered_again(
    bench: Bench, profiles: ProfileService
) -> None:
    old = await tell(bench, "I live in Rome", occurred_at=DAY)
    await profiles.forget("bot", old.id)
    await tell(bench, "I live in Oslo", occurred_at=2 * DAY)
    assert await recalled(bench, "Where do I live?") == ["I live in Oslo"]
    assert (await profiles.forget("bot", old.id)).forgotten_at is not None
    assert await recalled(bench, "Where do I live?", as_of=DAY) == []
    await profiles.unforget("bot", old.id)
    assert await recalled(bench, "Where do I live?") == ["I live in Oslo"]
    assert await recalled(bench, "Where do I live?", as_of=DAY) == ["I live in Rome"]


async def test_the_versions_of_a_memory_leave_out_what_was_forgotten(bench: Bench, profiles: ProfileService) -> None:
    first = await tell(bench, "I live in Rome", occurred_at=DAY)
    await profiles.forget("bot", first.id)
    second = await tell(bench, "I live in Oslo", occurred_at=2 * DAY)
    assert [version.memory_id for version in (await profiles.get("bot", second.id)).versions] == [second.id]
    assert [version.memory_id for version in (await profiles.get("bot", first.id)).versions] == [first.id, second.id]


async def test_where_what_holds_has_expired_the_one_that_it_had_replaced_holds_and_can_be_forgotten(
    bench: Bench, profiles: ProfileService
) -> None:
    old = await tell(bench, "I live in Rome", occurred_at=DAY)
    new = await tell(bench, "I live in Oslo", expires_at=bench.backends.clock() + 60_000)
    with pytest.raises(Superseded):
        await profiles.forget("bot", old.id)
    await expire(bench, id=new.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == ["I live in Rome"]
    await profiles.forget("bot", old.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == []


async def test_who_is_bound_to_speakers_forgets_nothing_that_another_one_said(
    bench: Bench, profiles: ProfileService
) -> None:
    hers = await bench.gateway.store("bot", NewMemory("Ann: I live in Rome"))
    his = await bench.gateway.store("bot", NewMemory("Bob: I live in Oslo"))
    ann = by(bench, Author("ann", "http", speakers=frozenset({"ann"})))
    assert (await ann.forget("bot", hers)).forgotten_at is not None
    with pytest.raises(Forbidden):
        await ann.forget("bot", his)
    await profiles.forget("bot", his)
    with pytest.raises(Forbidden):
        await ann.unforget("bot", his)
    assert (await profiles.get("bot", his)).memory.forgotten_at is not None
