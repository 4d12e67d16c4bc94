"""Conversations by the client: ingested, shown before they are, undone with their run, and asked for."""

from datetime import UTC, datetime

import httpx
import pytest

from memory_gateway_client import IngestedMessage, InvalidRequest, NotFound
from tests.clients.asking import Asked
from tests.clients.conftest import Connect

ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
MOVED = datetime(2026, 1, 2, tzinfo=UTC)
SAID = [
    {"role": "user", "content": "I moved to Oslo", "timestamp": MOVED},
    {"role": "assistant", "content": "Noted."},
]


async def test_a_conversation_becomes_memories_once(bot: Asked) -> None:
    shown = await bot.ingest(SAID, session_id="s", dry_run=True)
    assert (shown.dry_run, shown.stored) == (True, 2)
    first = await bot.ingest(SAID, session_id="s")
    assert (first.session_id, first.stored, first.known, first.waiting, first.failed) == ("s", 2, 0, 0, 0)
    again = await bot.ingest(SAID, session_id="s")
    assert again.messages == tuple(IngestedMessage(each.id, "known") for each in first.messages)
    assert again.operation_id is None
    found = await bot.ingestion(first.operation_id)
    assert (found.status, found.agent_id, found.sent, found.stored) == ("done", "bot", 2, 2)
    (entry, *_) = (await bot.recall("Where did I move?")).entries
    assert (entry.content, entry.occurred_at) == ("I moved to Oslo", MOVED)


async def test_what_a_run_has_ingested_goes_with_its_undo(bot: Asked) -> None:
    run = await bot.start_run("support", None)
    await bot.ingest(SAID, run_id=run.run_id)
    assert (await bot.undo_learned(run_id=run.run_id, dry_run=False)).memories == 2
    with pytest.raises(NotFound) as missing:
        await bot.ingest(SAID, run_id=ABSENT)
    assert [each.field for each in missing.value.errors] == ["run_id"]


async def test_what_cannot_be_ingested_is_told_by_its_field(bot: Asked) -> None:
    with pytest.raises(InvalidRequest):
        await bot.ingest([])
    with pytest.raises(NotFound):
        await bot.ingestion(ABSENT)


async def test_messages_are_sent_again_where_no_answer_came(connect: Connect, pauses: list[float]) -> None:
    answers = [httpx.Response(503, json={"code": "database_unavailable", "status": 503, "detail": "away"})]
    counts = {"stored": 0, "known": 0, "waiting": 1, "failed": 0}
    waits = {"session_id": "s", "operation_id": "o", "status": "running", **counts}

    def answer(_: httpx.Request) -> httpx.Response:
        sent = {**waits, "messages": [{"id": "m", "status": "waiting"}]}
        return answers.pop() if answers else httpx.Response(202, json=sent)

    assert (await connect(answer).ingest(SAID)).waiting == 1
    assert len(pauses) == 1
