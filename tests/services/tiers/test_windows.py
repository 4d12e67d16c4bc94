"""Windows: the newest messages of an instance; older ones fall out into long-term memory, and none is lost."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain import limits
from app.domain.author import Author
from app.domain.errors import ContentTooLarge, Erasing, InvalidRequest, QuotaExceeded, Unavailable
from app.domain.memory import Scope
from app.domain.messages import NewMessage
from app.domain.windows import AppendedTurns, Window
from app.runtime.ingestions import resume_once
from app.runtime.windows import settle_once
from app.services.ingest.ingester import Ingester
from app.services.memories.browse import Browser
from app.services.memories.sessions import Sessions
from app.services.tiers.windows import WindowService
from app.storage.agents import AgentChange
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import memory_column, memory_rows
from tests.support.scopes import revoke
from tests.support.secrets import CARD, TOKEN
from tests.support.tables import rows_of


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench
        await bench.backends.background.close()


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_BYTES", 100)
    monkeypatch.setattr(limits, "MAX_WINDOW_BYTES", 400)


def windows(bench: Bench, tenant: str = "acme", author: Author = ADMINISTRATOR) -> WindowService:
    return WindowService(bench.backends.of_tenant(tenant, author))


def said(*numbers: int, size: int = 20, role: Any = "user") -> list[NewMessage]:
    return [NewMessage(role, f"turn {number} ".ljust(size, "x")) for number in numbers]


async def append(bench: Bench, messages: Sequence[NewMessage], *, ttl: int = 3600) -> AppendedTurns:
    """Append to a window, and wait for what falls out of it."""
    done = await windows(bench).append("bot", "i", messages, ttl_seconds=ttl)
    await ended(bench)
    return done


async def ended(bench: Bench, *names: str) -> None:
    """Wait for all that goes on behind the answers, or for the work of these names."""
    going = bench.backends.background._tasks  # noqa: SLF001 - nothing else tells
    while tasks := [task for task in going if not names or task.get_name() in names]:
        await asyncio.wait(tasks)


async def window(bench: Bench, max_tokens: int = 8000) -> Window:
    return await windows(bench).window("bot", "i", max_tokens=max_tokens)


async def numbers(bench: Bench) -> list[int]:
    return [int(turn.content.split()[1]) for turn in (await window(bench)).turns]


async def remembered(bench: Bench) -> list[int]:
    rows = await memory_rows(bench, "content", by="happened_at", session_id="i")
    return [int(str(row["content"]).split()[1]) for row in rows]


def idle(bench: Bench, seconds: int = 3601) -> None:
    bench.later(seconds)


async def test_what_was_appended_is_read_in_its_order_with_its_tokens(bench: Bench) -> None:
    done = await append(bench, said(1, 2))
    assert (done.appended, done.known, done.state.messages, done.state.bytes) == (2, 0, 2, 40)
    await append(bench, said(3, role="assistant"))
    found = await window(bench)
    assert [(turn.role, turn.tokens) for turn in found.turns] == [("user", 5), ("user", 5), ("assistant", 5)]
    assert (found.tokens, found.older) == (15, 0)
    assert sorted(turn.said_at for turn in found.turns) == [turn.said_at for turn in found.turns]
    assert await remembered(bench) == []


async def test_the_newest_that_fit_are_one_piece_and_the_others_are_counted(bench: Bench) -> None:
    await append(bench, [*said(1), *said(2, size=40), *said(3)])
    for most, fitting in ((20, [1, 2, 3]), (19, [2, 3]), (14, [3]), (4, [])):
        found = await window(bench, most)
        assert [int(turn.content.split()[1]) for turn in found.turns] == fitting
        assert found.older == 3 - len(fitting)


async def test_a_window_that_is_not_there_is_empty(bench: Bench) -> None:
    found = await window(bench)
    assert (found.turns, found.tokens, found.older, found.state) == ([], 0, 0, None)


async def test_what_does_not_fit_falls_out_into_long_term_memory_oldest_first(bench: Bench) -> None:
    for number in range(8):
        await append(bench, said(number))
    assert (await remembered(bench), await numbers(bench)) == ([0, 1, 2], [3, 4, 5, 6, 7])
    state = (await window(bench)).state
    assert state is not None
    assert (state.fallen, state.messages, state.bytes, state.due) == (3, 5, 100, False)
    assert (state.fallen_since or 0) < (state.fallen_until or 0)
    moments = await memory_column(bench, "occurred_at")
    assert (min(moments), max(moments)) == (state.fallen_since, state.fallen_until)


async def test_a_message_is_itself_however_often_it_is_appended(bench: Bench) -> None:
    for _ in range(2):
        await append(bench, said(*range(8)))
    done = await append(bench, [*said(0, 7), *said(7)])
    assert (done.appended, done.known) == (0, 3)
    assert (await remembered(bench), await numbers(bench)) == ([0, 1, 2], [3, 4, 5, 6, 7])


async def test_an_outage_of_long_term_memory_keeps_the_turns_until_it_ends(bench: Bench) -> None:
    bench.embedder.error = Unavailable("The embedder is away.")
    await windows(bench).append("bot", "i", said(*range(8)), ttl_seconds=3600)
    await ended(bench, "window")
    assert (await remembered(bench), await numbers(bench)) == ([], [*range(8)])
    bench.embedder.error = None
    await bench.backends.background.close()
    bench.later(130)
    assert await resume_once(bench.backends) == 1
    idle(bench, 300)
    await settle_once(bench.backends)
    assert (await remembered(bench), await numbers(bench)) == ([0, 1, 2], [3, 4, 5, 6, 7])


async def test_a_refused_ingestion_keeps_the_turns_until_there_is_room(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = Ingester.ingest

    async def refuse(*_: Any) -> Any:
        raise QuotaExceeded("Full.", reached="memories")

    monkeypatch.setattr(Ingester, "ingest", refuse)
    await append(bench, said(*range(8)))
    await append(bench, said(*range(8, 20)))
    with pytest.raises(ContentTooLarge) as caught:
        await append(bench, said(20, 21))
    assert [each.field for each in caught.value.errors] == ["messages"]
    assert await numbers(bench) == [*range(20)]
    assert (await append(bench, said(3))).known == 1
    monkeypatch.setattr(Ingester, "ingest", ingest)
    await append(bench, said(3))
    assert (await remembered(bench), await numbers(bench)) == ([*range(15)], [*range(15, 20)])


async def test_an_idle_window_is_moved_as_a_whole_and_removed(bench: Bench) -> None:
    await append(bench, said(1, 2, 3), ttl=60)
    assert await settle_once(bench.backends) == 0
    idle(bench, 61)
    assert await numbers(bench) == [1, 2, 3]
    assert await settle_once(bench.backends) == 1
    assert (await remembered(bench), await numbers(bench)) == ([1, 2, 3], [])
    assert await rows_of(bench, "working_window") == []
    assert await settle_once(bench.backends) == 0
    await append(bench, said(3, 4))
    assert await numbers(bench) == [4]


async def test_an_append_makes_an_idle_window_living_again(bench: Bench) -> None:
    await append(bench, said(1), ttl=60)
    idle(bench, 61)
    await windows(bench).append("bot", "i", said(2), ttl_seconds=60)
    assert await settle_once(bench.backends) == 0
    assert await numbers(bench) == [1, 2]


async def test_an_agent_without_long_term_memory_forgets_what_falls_out(bench: Bench) -> None:
    browser = Browser(bench.backends.of_tenant("acme", ADMINISTRATOR))
    await browser.set_agent("bot", AgentChange(long_term_enabled=False))
    await append(bench, said(*range(8)))
    assert (await remembered(bench), await numbers(bench)) == ([], [3, 4, 5, 6, 7])
    state = (await window(bench)).state
    assert state is not None
    assert (state.fallen, state.fallen_since) == (0, None)
    idle(bench)
    assert await settle_once(bench.backends) == 1
    assert await numbers(bench) == []


async def test_what_a_revoked_credential_brought_goes(bench: Bench) -> None:
    await append(bench, said(1, 2))
    await windows(bench, author=Author("other", "http", 5)).append("bot", "i", said(3, 4), ttl_seconds=3600)
    await revoke(bench.backends, "other")
    idle(bench)
    assert await settle_once(bench.backends) == 1
    assert (await remembered(bench), await numbers(bench)) == ([1, 2], [])


async def test_memories_are_of_whoever_brought_the_messages(bench: Bench) -> None:
    await append(bench, said(1))
    await windows(bench, author=Author("other", "mcp", 5)).append("bot", "i", said(2), ttl_seconds=3600)
    idle(bench)
    await settle_once(bench.backends)
    rows = await memory_rows(bench, "written_by", by="happened_at")
    assert [row["written_by"] for row in rows] == [ADMINISTRATOR.credential_id, "other"]


async def test_a_session_that_is_deleted_takes_its_window_with_it(bench: Bench) -> None:
    await append(bench, said(*range(8)))
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    deleted = await Sessions(backends).delete(Scope("acme", "bot"), "i")
    assert (deleted.memories, deleted.messages, deleted.more) == (3, 5, False)
    idle(bench)
    await settle_once(bench.backends)
    assert (await remembered(bench), await numbers(bench)) == ([], [])


async def test_nothing_is_appended_or_moved_while_the_agent_is_erased(bench: Bench) -> None:
    await append(bench, said(1))
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await append(bench, said(2))
    idle(bench)
    assert await settle_once(bench.backends) == 0
    assert await numbers(bench) == [1]


async def test_fields_outside_their_bounds_are_refused_by_name(bench: Bench) -> None:
    service = windows(bench)
    for messages, field in (
        ([], "messages"),
        (said(*range(101)), "messages"),
        ([NewMessage("user", " ")], "messages.0.content"),
        ([NewMessage("user", "x", bench.backends.clock() + 2 * 86_400_000)], "messages.0.occurred_at"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            await service.append("bot", "i", messages, ttl_seconds=60)
        assert [each.field for each in caught.value.errors] == [field]
    for most in (0, 200_001):
        with pytest.raises(InvalidRequest):
            await window(bench, most)


async def test_a_window_is_of_one_instance_of_one_agent_of_one_tenant(bench: Bench) -> None:
    await append(bench, said(1))
    for tenant, agent, instance in (("globex", "bot", "i"), ("acme", "other", "i"), ("acme", "bot", "j")):
        assert (await windows(bench, tenant).window(agent, instance, max_tokens=10)).turns == []


async def test_a_hundred_appends_at_once_lose_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_WINDOW_BYTES", 4000)
    await asyncio.gather(*(windows(bench).append("bot", "i", said(number), ttl_seconds=60) for number in range(100)))
    await ended(bench)
    await windows(bench).settle("bot", "i")
    kept, gone = await numbers(bench), await remembered(bench)
    assert (sorted([*kept, *gone]), len(kept)) == ([*range(100)], 5)


def masking(bench: Bench) -> WindowService:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    return WindowService(replace(backends, screening=replace(backends.screening, handling="mask")))


async def test_turns_of_an_instance_whose_name_looks_like_a_card_number_fall_where_numbers_are_masked(
    bench: Bench,
) -> None:
    for number in range(8):
        await masking(bench).append("bot", CARD, said(number), ttl_seconds=3600)
        await ended(bench)
    state = (await masking(bench).window("bot", CARD)).state
    assert state is not None
    assert (state.messages, state.fallen, state.due) == (5, 3, False)
    assert await memory_column(bench, "session_id") == [CARD] * 3


async def test_turns_that_are_masked_on_their_way_fall_with_the_others(bench: Bench) -> None:
    secret = f"my token is {TOKEN}"
    await append(bench, [*said(0), NewMessage("user", secret)])
    for _ in range(2):
        await masking(bench).append("bot", "i", [NewMessage("user", secret), *said(*range(1, 8))], ttl_seconds=3600)
        await ended(bench)
        await settle_once(bench.backends)
        await ended(bench)
    held = await memory_column(bench, "content", by="happened_at")
    assert [content for content in held if "token" in content] == ["my token is [token]"]
    state = (await window(bench)).state
    assert state is not None
    assert (state.due, state.bytes) == (False, 100)
    assert await numbers(bench) == [3, 4, 5, 6, 7]
