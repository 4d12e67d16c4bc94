"""A conversation becomes memories: each message once, in its own words, said when it was said."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.errors import (
    ContentTooLarge,
    Erasing,
    InvalidRequest,
    LongTermDisabled,
    NotFound,
    Unauthenticated,
    UpstreamUnavailable,
)
from app.domain.memory import NewMemory
from app.domain.messages import NewMessage
from app.domain.query import Query
from app.ports.database import Row
from app.services.ingest.ingester import Ingester
from app.storage.ingestions import Ingestion
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import REPLACES, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import expire, memory_rows, set_memories
from tests.support.scopes import erasing, revoke, switch
from tests.support.tables import ANY, insert_rows, rows_of

DAY = 86_400_000
BOT = "'acme', 'bot'"
HOMES = of_one_thing("I live in Rome", "I moved to Oslo", "I live in Lima", "I live in Bonn", "I live in a data centre")
PNPM = [
    NewMessage("user", "I prefer dark mode in my editor", 1 * DAY),
    NewMessage("assistant", "Noted: dark mode.", 1 * DAY + 1),
    NewMessage("user", "We use npm", 2 * DAY),
    NewMessage("user", "We use pnpm, not npm", 3 * DAY),
]


async def held_rows(bench: Bench) -> list[Row]:
    return await memory_rows(bench, by="occurred_at, content", tenant_id="acme", agent_id="bot")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def ingest(
    bench: Bench,
    messages: Sequence[NewMessage],
    session_id: str | None = "s",
    *,
    tenant: str = "acme",
    author: Author = ADMINISTRATOR,
) -> Ingestion:
    return await Ingester(bench.backends.of_tenant(tenant, author)).ingest("bot", messages, session_id)


def said(content: str, day: int | None = None, role: Any = "user") -> NewMessage:
    return NewMessage(role, content, None if day is None else day * DAY)


def statuses(ingestion: Ingestion) -> list[str]:
    return [item.status for item in ingestion.items]


async def held(bench: Bench, column: str) -> list[Any]:
    return [row[column] for row in await held_rows(bench)]


async def answers(bench: Bench, query: str, **asked: Any) -> list[str]:
    return [entry.content for entry in (await bench.gateway.recall("bot", Query(query, **asked))).entries]


async def test_each_message_becomes_one_memory_with_its_session_speaker_and_time(bench: Bench) -> None:
    ingestion = await ingest(bench, PNPM)
    assert (ingestion.status, ingestion.messages, ingestion.known, ingestion.written) == ("done", 4, 0, 4)
    assert statuses(ingestion) == ["stored"] * 4
    rows = await held_rows(bench)
    assert [row["content"] for row in rows] == [message.content for message in PNPM]
    assert [row["metadata"] for row in rows] == ["{}", '{"speaker":"assistant"}', "{}", "{}"]
    assert [row["occurred_at"] for row in rows] == [message.occurred_at for message in PNPM]
    assert [row["message_id"] for row in rows] == [item.id for item in ingestion.items]
    assert {row["session_id"] for row in rows} == {"s"}
    assert await rows_of(bench, "message") == []
    assert {row["event"] for row in await rows_of(bench, "audit", "event")} == {"ingested"}


async def test_what_was_ingested_is_recalled_at_once_whatever_becomes_of_the_index(bench: Bench) -> None:
    bench.index.error = UpstreamUnavailable("The index is away.")
    await ingest(bench, PNPM)
    assert "We use pnpm, not npm" in await answers(bench, "pnpm or npm?")
    bench.index.error = None
    await bench.quiet()
    assert await bench.queued() == {}
    assert "We use pnpm, not npm" in await answers(bench, "pnpm or npm?")


async def test_of_messages_of_one_moment_the_last_holds_however_many_conversations_come_at_once(bench: Bench) -> None:
    filler = "Nothing in particular was said then. " * 100
    places = ("Rome", "Paris", "Madrid", "Lisbon", "Oslo")
    messages = [message for place in places for message in (said(f"I live in {place}.", 1), said(place + filler, 1))]
    ingesters = [Ingester(bench.backends.of_tenant("acme", ADMINISTRATOR)) for _ in range(6)]
    await asyncio.gather(*(each.ingest(f"a{n}", messages, "s") for n, each in enumerate(ingesters)))
    await compare(bench.backends, ScriptedReader(of_one_thing(*(f"I live in {place}." for place in places))))
    asked = Query("Where do I live?", 1)
    found = [(await bench.gateway.recall(f"a{n}", asked)).entries[0].content for n in range(len(ingesters))]
    assert found == ["I live in Oslo."] * len(ingesters)


async def test_ingesting_again_changes_nothing_and_says_so(bench: Bench) -> None:
    first = await ingest(bench, PNPM)
    before = await held_rows(bench)
    bench.embedder.calls.clear()
    bench.database.runs.clear()
    again = await ingest(bench, [replace(message, occurred_at=None) for message in PNPM])
    assert statuses(again) == ["known"] * 4
    assert [item.id for item in again.items] == [item.id for item in first.items]
    assert (again.id, again.status, again.known, again.written) == (None, "done", 4, 0)
    assert await held_rows(bench) == before
    assert bench.embedder.calls == []
    assert len(bench.database.runs) == 1
    more = await ingest(bench, [*PNPM, said("And yarn never")])
    assert statuses(more) == ["known"] * 4 + ["stored"]
    assert (more.known, more.written) == (4, 1)


async def test_what_is_said_twice_in_a_session_is_one_message_and_in_another_session_another(bench: Bench) -> None:
    twice = await ingest(bench, [said("Yes", 1), said("Really?", 2), said("Yes", 3)])
    assert statuses(twice) == ["stored", "stored", "known"]
    assert twice.items[0].id == twice.items[2].id
    other = await ingest(bench, [said("Yes", 1)], "t")
    assert statuses(other) == ["stored"]
    assert await bench.memories() == 3


async def test_a_session_that_is_not_named_is_made_of_what_was_said(bench: Bench) -> None:
    first = await ingest(bench, PNPM, None)
    again = await ingest(bench, [replace(message, occurred_at=5 * DAY) for message in PNPM], None)
    assert first.session_id == again.session_id
    assert statuses(again) == ["known"] * 4
    assert (await ingest(bench, PNPM[:3], None)).session_id != first.session_id
    assert 1 <= len(first.session_id) <= 64


async def test_a_time_that_is_not_told_follows_the_one_before_and_without_any_it_is_now(bench: Bench) -> None:
    await ingest(bench, [said("a"), said("b", 2), said("c"), said("d"), said("e", 1), said("f")])
    assert sorted(await held(bench, "occurred_at")) == sorted(
        [2 * DAY - 1, 2 * DAY, 2 * DAY + 1, 2 * DAY + 2, DAY, DAY + 1]
    )
    await ingest(bench, [said("g"), said("h")], "t")
    now = bench.backends.clock()
    first, second = (await held(bench, "occurred_at"))[-2:]
    assert now - 60_000 < first <= now
    assert second == first + 1


async def test_two_who_say_the_same_at_the_same_moment_make_two_memories(bench: Bench) -> None:
    roles = [said("Good morning", 1, role) for role in ("user", "assistant", "system")]
    assert statuses(await ingest(bench, roles)) == ["stored"] * 3
    assert await held(bench, "occurred_at") == [DAY, DAY + 1, DAY + 2]
    assert statuses(await ingest(bench, roles)) == ["known"] * 3


async def test_whoever_says_it_later_at_the_same_moment_makes_a_memory_of_their_own(bench: Bench) -> None:
    for role in ("user", "assistant", "system"):
        assert statuses(await ingest(bench, [said("Good morning", 1, role)])) == ["stored"]
    assert sorted(await held(bench, "metadata")) == ['{"speaker":"assistant"}', '{"speaker":"system"}', "{}"]
    assert len(set(await held(bench, "message_id"))) == 3


async def test_a_message_of_the_system_is_taken_and_does_not_count_as_said_by_the_system(bench: Bench) -> None:
    anybody = bench.backends.of_tenant("acme", replace(ADMINISTRATOR, may_replace=False))
    messages = [said("You are a helpful assistant.", 1, "system")]
    assert statuses(await Ingester(anybody).ingest("bot", messages, "s")) == ["stored"]
    assert await held(bench, "metadata") == ['{"speaker":"system"}']
    assert await held(bench, "speaker_holds") == [0]


async def test_a_turn_that_was_stored_before_becomes_the_message_and_keeps_what_it_has(bench: Bench) -> None:
    for content, metadata in (("Ann: hello", {}), ("Ann: goodbye", {"mood": "sad"})):
        await bench.gateway.store("bot", NewMemory(content, metadata, "s", DAY))
    ingestion = await ingest(bench, [said("Ann: hello", 1), said("Ann: goodbye", 1)])
    assert statuses(ingestion) == ["stored", "stored"]
    assert sorted(await held(bench, "metadata")) == ['{"mood":"sad"}', "{}"]
    assert set(await held(bench, "message_id")) == {item.id for item in ingestion.items}
    await bench.quiet()
    assert await answers(bench, "Ann hello", top_k=1) == ["Ann: hello"]


async def test_a_correction_in_a_conversation_wins_and_an_old_transcript_joins_the_past(bench: Bench) -> None:
    where = "Where do I live?"
    await ingest(bench, [said("I live in Rome", 10), said("I moved to Oslo", 20)])
    await compare(bench.backends, ScriptedReader(HOMES))
    assert await answers(bench, where) == ["I moved to Oslo"]
    await ingest(bench, [said("I live in Lima", 1), said("I live in Bonn", 15)], "older")
    await compare(bench.backends, ScriptedReader(HOMES))
    assert await answers(bench, where) == ["I moved to Oslo"]
    for day, place in ((5, "I live in Lima"), (12, "I live in Rome"), (16, "I live in Bonn")):
        assert await answers(bench, where, as_of=day * DAY) == [place]


async def test_an_assistant_states_nothing_for_the_user(bench: Bench) -> None:
    await ingest(bench, [said("I live in Rome", 10), said("I live in a data centre", 20, "assistant")])
    await compare(bench.backends, ScriptedReader(update=True))
    assert "I live in Rome" in await answers(bench, "Where do I live?", top_k=20)


async def test_what_was_forgotten_does_not_come_back_by_ingesting_it(bench: Bench) -> None:
    await ingest(bench, PNPM)
    await bench.gateway.store("bot", NewMemory("I like tea", {}, "s", DAY))
    await set_memories(bench, {"forgotten_at": 1})
    await ingest(bench, [*PNPM, said("I like tea", 1)])
    assert await held(bench, "forgotten_at") == [1] * 5


async def test_the_agents_retention_holds_for_what_is_ingested_and_what_has_expired_may_be_ingested_anew(
    bench: Bench,
) -> None:
    await insert_rows(bench, "agent", {"tenant_id": "acme", "agent_id": "bot", "retention_seconds": 3600})
    await ingest(bench, PNPM)
    now = bench.backends.clock()
    assert all(now + 3_500_000 < each < now + 3_700_000 for each in await held(bench, "expires_at"))
    await expire(bench)
    assert statuses(await ingest(bench, PNPM)) == ["stored"] * 4
    assert await bench.memories() == 4
    assert all(each > now for each in await held(bench, "expires_at"))


async def test_who_may_speak_for_some_only_states_nothing_for_others(bench: Bench) -> None:
    bob = Author("bob", "http", speakers=frozenset({"bob"}))
    before = ("Ann: I live in Lima", "Bob: I live in Lima", "I live in Lima")
    after = ("Ann: I live in Rome", "Bob: I live in Oslo", "I live in Bonn")
    await ingest(bench, [said(content, 1 + number) for number, content in enumerate(before)], "before")
    await ingest(bench, [said(content, 5 + number) for number, content in enumerate(after)], author=bob)
    replacing = {(older, newer): REPLACES for older in before for newer in after}
    await compare(bench.backends, ScriptedReader(replacing))
    hidden = await memory_rows(bench, "content", "superseded_at", superseded_at=ANY)
    assert hidden == [{"content": "Bob: I live in Lima", "superseded_at": 6 * DAY}]


async def test_many_messages_are_embedded_in_few_calls(bench: Bench) -> None:
    ingestion = await ingest(bench, [said(f"Turn {number} of many", 1) for number in range(250)])
    assert statuses(ingestion) == ["stored"] * 250
    assert [len(texts) for texts, _ in bench.embedder.calls] == [100, 100, 50]
    assert await bench.memories() == 250


@pytest.mark.parametrize(
    ("messages", "session_id", "error", "field"),
    [
        ([], "s", InvalidRequest, "messages"),
        ([said("a")] * 501, "s", InvalidRequest, "messages"),
        ([said("a"), said(" ")], "s", InvalidRequest, "messages.1.content"),
        ([said("a"), said("x" * 32_769)], "s", ContentTooLarge, "messages.1.content"),
        ([said("a", role="tool")], "s", InvalidRequest, "messages.0.role"),
        ([said("a"), said("b", 40_000)], "s", InvalidRequest, "messages.1.occurred_at"),
        ([said("a")], "x" * 65, InvalidRequest, "session_id"),
        ([said("a")], "", InvalidRequest, "session_id"),
    ],
)
async def test_what_is_out_of_bounds_is_named_and_nothing_is_written(
    bench: Bench, messages: list[NewMessage], session_id: str, error: type[InvalidRequest], field: str
) -> None:
    with pytest.raises(error) as refused:
        await ingest(bench, messages, session_id)
    assert [each.field for each in refused.value.errors] == [field]
    for table in ("message", "ingestion", "long_term_memory"):
        assert await rows_of(bench, table) == []


@pytest.mark.parametrize(
    ("change", "error"),
    [(erasing, Erasing), (partial(switch, on=False), LongTermDisabled), (revoke, Unauthenticated)],
)
async def test_it_is_refused_as_a_store_is(
    bench: Bench, change: Callable[[Any], Awaitable[None]], error: type[Exception]
) -> None:
    await change(bench.backends)
    with pytest.raises(error):
        await ingest(bench, PNPM)
    for table in ("message", "ingestion", "long_term_memory"):
        assert await rows_of(bench, table) == []


async def test_an_ingestion_is_told_to_its_tenant_and_agent_alone(bench: Bench) -> None:
    ingestion = await ingest(bench, PNPM)
    own = Ingester(bench.backends.of_tenant("acme", ADMINISTRATOR))
    assert replace(await own.ingestion("bot", str(ingestion.id)), items=ingestion.items) == ingestion
    assert (await own.ingestion(None, str(ingestion.id))).id == ingestion.id
    for tenant, agent_id in (("acme", "other"), ("globex", "bot"), ("globex", None)):
        with pytest.raises(NotFound):
            await Ingester(bench.backends.of_tenant(tenant)).ingestion(agent_id, str(ingestion.id))


async def test_agents_and_tenants_ingest_each_their_own(bench: Bench) -> None:
    await ingest(bench, PNPM)
    assert statuses(await ingest(bench, PNPM, tenant="globex")) == ["stored"] * 4
    other = await Ingester(bench.backends.of_tenant("acme", ADMINISTRATOR)).ingest("other", PNPM, "s")
    assert statuses(other) == ["stored"] * 4
    assert await bench.memories() == 12


async def test_two_at_once_write_each_message_once(bench: Bench) -> None:
    longer = [*PNPM, *(said(f"Turn {number}", 4) for number in range(30))]
    both = await asyncio.gather(ingest(bench, longer), ingest(bench, longer[10:] + PNPM))
    assert [each.status for each in both] == ["done", "done"]
    assert await bench.memories() == len(longer)
    assert sum(status == "stored" for each in both for status in statuses(each)) == len(longer)
