"""A session is deleted with all that was remembered of it, in as many requests as that takes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.services.memories import sessions
from app.services.memories.sessions import SessionDeletion
from app.services.profiles.profile import ProfileService
from app.storage.sessions import MAX_CHUNK
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.ingestions import message
from tests.support.memories import contents
from tests.support.tables import rows_of
from tests.support.told import told


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


@pytest.fixture
def profiles(bench: Bench) -> ProfileService:
    return ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR))


async def held(bench: Bench) -> list[str]:
    return await contents(bench, by="rowid")


async def staged(bench: Bench, count: int, session_id: str) -> None:
    """Have messages of a session wait to become memories."""
    for number in range(1, count + 1):
        await message(bench, f"{number:032x}", place=number, said_at=number, session_id=session_id)


async def test_a_session_goes_with_its_memories_their_vectors_and_its_messages_and_others_stay(
    bench: Bench, profiles: ProfileService
) -> None:
    for session in ("s1", "s2", None):
        await bench.gateway.store("bot", NewMemory(f"The cat of {session}", session_id=session))
    await bench.gateway.store("other", NewMemory("The cat of another agent", session_id="s1"))
    await bench.tenant("globex").store("bot", NewMemory("The cat of another tenant", session_id="s1"))
    gone = await profiles.remember("bot", "The dog of s1", session_id="s1")
    await profiles.forget("bot", gone.id)
    await staged(bench, 3, "s1")
    await bench.quiet()
    assert await profiles.delete_session("bot", "s1") == SessionDeletion(memories=2, messages=3, more=False)
    assert sorted(await bench.contents("The cat")) == ["The cat of None", "The cat of s2"]
    assert len(await held(bench)) == 4
    assert await bench.queued() == {"delete": 2}
    await bench.quiet()
    assert await bench.queued() == {}
    assert await profiles.delete_session("bot", "s1") == SessionDeletion(memories=0, messages=0, more=False)


async def test_each_memory_of_a_deleted_session_has_its_row_in_the_audit(
    bench: Bench, profiles: ProfileService
) -> None:
    ids = {(await profiles.remember("bot", f"note {n}", session_id="s1")).id for n in range(3)}
    await profiles.delete_session("bot", "s1")
    rows = await rows_of(bench, "audit", "memory_id", "written_by", event="deleted")
    assert {(row["memory_id"], row["written_by"]) for row in rows} == {(id_, "administrator") for id_ in ids}


async def test_deleting_a_session_takes_back_what_it_had_corrected(bench: Bench, profiles: ProfileService) -> None:
    for session, content in (("s1", "I live in Rome"), ("s2", "I live in Oslo")):
        await bench.gateway.store("bot", NewMemory(content, told(content), session))
    assert await bench.contents("Where do I live?") == ["I live in Oslo"]
    await profiles.delete_session("bot", "s2")
    assert await bench.contents("Where do I live?") == ["I live in Rome"]


async def test_a_large_session_is_deleted_in_bounded_requests_that_say_what_is_left(
    bench: Bench, profiles: ProfileService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_CHUNKS", 1)
    await staged(bench, MAX_CHUNK + 2, "s1")
    await profiles.remember("bot", "The cat is black", session_id="s1")
    first = await profiles.delete_session("bot", "s1")
    assert first == SessionDeletion(memories=1, messages=MAX_CHUNK, more=True)
    assert await profiles.delete_session("bot", "s1") == SessionDeletion(memories=0, messages=2, more=False)
