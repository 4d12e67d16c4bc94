"""A profile is an agent's memory: what is remembered is recalled and listed, and what is forgotten is not."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.domain.errors import LongTermDisabled, NotFound, Superseded
from app.domain.memory import Memory, NewMemory
from app.domain.query import Query
from app.services.profile import ProfileService
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

DAY = 86_400_000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


@pytest.fixture
def profiles(bench: Bench) -> ProfileService:
    return of(bench, "acme")


def of(bench: Bench, tenant_id: str) -> ProfileService:
    return ProfileService(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))


async def listed(profiles: ProfileService, **asked: object) -> list[str]:
    page = await profiles.list("bot", limit=100, after=None, **asked)  # type: ignore[arg-type]
    return [memory.content for memory in page.memories]


async def recalled(bench: Bench, query: str, **asked: object) -> list[str]:
    recall = await bench.gateway.recall("bot", Query(query, top_k=20, **asked))  # type: ignore[arg-type]
    return [entry.content for entry in recall.entries]


async def test_what_is_remembered_has_a_type_and_is_recalled_and_listed(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "I live in Rome", session_id="s1", occurred_at=DAY)
    assert (memory.content, memory.type, memory.session_id, memory.occurred_at) == ("I live in Rome", "fact", "s1", DAY)
    recall = await profiles.recall("bot", "Where do I live?")
    assert "Rome" in recall.answer
    (candidate,) = recall.candidates
    assert (candidate.id, candidate.summary, candidate.session_id) == (memory.id, "I live in Rome", "s1")
    assert await listed(profiles) == await recalled(bench, "Rome") == ["I live in Rome"]


async def test_a_task_expires_after_seven_days_unless_told(bench: Bench, profiles: ProfileService) -> None:
    now = bench.backends.clock()
    task = await profiles.remember("bot", "I need to file the report by Friday")
    assert task.type == "task"
    assert task.expires_at is not None
    assert 6 * DAY < task.expires_at - now < 8 * DAY
    told = await profiles.remember("bot", "I need to call Ann by Monday", expires_at=now + 30 * DAY)
    assert told.expires_at == now + 30 * DAY
    assert (await profiles.remember("bot", "I live in Rome")).expires_at is None
    assert (await profiles.remember("bot", "I live in Oslo. I need to call Bob by Friday.")).expires_at is None


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
    rows = await bench.rows("SELECT event, memory_id, written_by FROM audit WHERE event <> 'stored' ORDER BY rowid")
    assert [tuple(row.values()) for row in rows] == [
        ("forgotten", memory.id, "administrator"),
        ("remembered_again", memory.id, "administrator"),
    ]


async def test_what_is_superseded_cannot_be_forgotten_and_the_refusal_names_what_holds(
    profiles: ProfileService,
) -> None:
    old = await profiles.remember("bot", "I live in Rome", occurred_at=DAY)
    await profiles.remember("bot", "I live in Lima", occurred_at=2 * DAY)
    new = await profiles.remember("bot", "I live in Oslo", occurred_at=3 * DAY)
    with pytest.raises(Superseded, match=new.id):
        await profiles.forget("bot", old.id)
    assert (await profiles.get("bot", old.id)).memory.forgotten_at is None
    assert await listed(profiles) == ["I live in Oslo"]


async def test_what_a_forgotten_memory_had_replaced_does_not_come_back(bench: Bench, profiles: ProfileService) -> None:
    await profiles.remember("bot", "I live in Rome", occurred_at=DAY)
    new = await profiles.remember("bot", "I live in Oslo", occurred_at=2 * DAY)
    await profiles.forget("bot", new.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == []
    assert await recalled(bench, "Where do I live?", as_of=DAY) == ["I live in Rome"]
    await profiles.unforget("bot", new.id)
    assert await listed(profiles) == await recalled(bench, "Where do I live?") == ["I live in Oslo"]


async def test_the_versions_of_what_a_memory_states_come_oldest_first(profiles: ProfileService) -> None:
    said: Sequence[Memory] = [
        await profiles.remember("bot", f"I live in {place}", occurred_at=day * DAY)
        for day, place in ((1, "Rome"), (2, "Oslo"), (3, "Rome"))
    ]
    for memory in said:
        detail = await profiles.get("bot", memory.id)
        assert [(one.memory_id, one.superseded_at) for one in detail.versions] == [
            (said[0].id, 2 * DAY),
            (said[1].id, 3 * DAY),
            (said[2].id, None),
        ]
        assert detail.sources == []


async def test_a_memory_of_another_profile_or_tenant_is_not_there(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "I live in Rome")
    for service, agent_id in ((profiles, "other"), (of(bench, "other"), "bot")):
        for verb in (service.get, service.forget, service.unforget):
            with pytest.raises(NotFound):
                await verb(agent_id, memory.id)
        assert (await service.list(agent_id, limit=5, after=None)).memories == []
        assert (await service.recall(agent_id, "Rome")).candidates == []
    assert (await profiles.get("bot", memory.id)).memory == memory


async def test_an_agent_whose_memory_is_switched_off_neither_lists_nor_forgets(
    bench: Bench, profiles: ProfileService
) -> None:
    memory = await profiles.remember("bot", "I live in Rome")
    await bench.change("INSERT INTO agent (tenant_id, agent_id, long_term_enabled) VALUES ('acme', 'bot', FALSE)")
    for call in (
        profiles.remember("bot", "I live in Oslo"),
        profiles.recall("bot", "Rome"),
        profiles.list("bot", limit=5, after=None),
        profiles.get("bot", memory.id),
        profiles.forget("bot", memory.id),
        profiles.unforget("bot", memory.id),
    ):
        with pytest.raises(LongTermDisabled):
            await call
    await bench.change("DELETE FROM agent")
    assert (await profiles.get("bot", memory.id)).memory.forgotten_at is None


async def test_pages_follow_each_other_and_end(profiles: ProfileService) -> None:
    contents = [f"note number {number}" for number in range(5)]
    for content in contents:
        await profiles.remember("bot", content)
    seen, after = list[str](), None
    for _ in range(3):
        page = await profiles.list("bot", limit=2, after=after)
        seen += [memory.content for memory in page.memories]
        after = page.after
    assert (seen, after) == (contents[::-1], None)


async def test_a_page_of_large_memories_is_shorter_and_goes_on(profiles: ProfileService) -> None:
    for number in range(130):
        await profiles.remember("bot", f"{number} " + "word " * 6550)
    seen, after, pages = 0, None, 0
    while pages == 0 or after is not None:
        page = await profiles.list("bot", limit=200, after=after)
        seen, after, pages = seen + len(page.memories), page.after, pages + 1
    assert (seen, pages) == (130, 2)


async def test_a_list_is_of_one_session_and_of_one_type_where_asked(bench: Bench, profiles: ProfileService) -> None:
    await profiles.remember("bot", "I live in Rome", session_id="s1")
    await profiles.remember("bot", "Always run the tests first", session_id="s2")
    await bench.gateway.store("bot", NewMemory("a row of a program", {"store.key": "k"}, "s1"))
    assert await listed(profiles, session_id="s1") == await listed(profiles, type="fact") == ["I live in Rome"]
    assert await listed(profiles, session_id="s2", type="instruction") == ["Always run the tests first"]
    assert await listed(profiles, session_id="s1", type="instruction") == []
    assert len(await listed(profiles)) == 2
