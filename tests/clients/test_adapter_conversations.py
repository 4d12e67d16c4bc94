"""How adapters hand over what was said: what is kept, what is not, and who is told."""

import json
import logging
from datetime import UTC, datetime

import httpx
import pytest

from memory_gateway_client import AsyncMemoryClient, MemoryClient, MemoryGatewayError, QuotaExceeded
from memory_gateway_client.adapters.asking import Asking
from memory_gateway_client.adapters.conversations import Said, remember
from tests.clients.asking import TOKEN
from tests.support.service import Service

SAID = [Said("user", "I live in Oslo"), Said("assistant", "Noted")]


def first_alone(request: httpx.Request) -> httpx.Response:
    """Store the first message, and no other, since the agent may hold no more."""
    others = len(json.loads(request.content)["messages"]) - 1
    messages = [{"id": "0", "status": "stored"}, *[{"id": "1", "status": "failed", "code": "quota_exceeded"}] * others]
    counts = {"stored": 1, "known": 0, "waiting": 0, "failed": others}
    return httpx.Response(200, json={"session_id": "s", "status": "failed", **counts, "messages": messages})


def client_of(kind: str) -> MemoryClient | AsyncMemoryClient:
    transport = httpx.MockTransport(first_alone)
    if kind == "async":
        return AsyncMemoryClient("http://service", TOKEN, http=httpx.AsyncClient(transport=transport))
    return MemoryClient("http://service", TOKEN, http=httpx.Client(transport=transport))


async def test_messages_of_which_a_part_was_not_stored_are_told_as_a_failure_once(kind: str) -> None:
    told: list[MemoryGatewayError] = []
    asking = Asking(client_of(kind), logging.getLogger(__name__), on_outage=told.append)
    failures = [await remember(asking, SAID, agent_id="bot", session_id="s") for _ in range(2)]
    assert [type(failure) for failure in failures] == [QuotaExceeded, QuotaExceeded]
    assert [error.detail for error in told] == ["1 of 2 messages were not stored."]
    assert await remember(asking, SAID[:1], agent_id="bot", session_id="s") is None


async def test_a_strict_adapter_raises_that_a_part_was_not_stored(kind: str) -> None:
    asking = Asking(client_of(kind), logging.getLogger(__name__), strict=True)
    with pytest.raises(QuotaExceeded):
        await remember(asking, SAID, agent_id="bot", session_id="s")


async def test_a_message_with_a_time_that_the_service_does_not_take_is_kept_without_it(service: Service) -> None:
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    http = httpx.AsyncClient(transport=service.client._transport)  # noqa: SLF001 - the service in this process
    bot = AsyncMemoryClient("http://service", token, agent_id="bot", http=http)
    asking = Asking(bot, logging.getLogger(__name__))
    said = [Said("user", "I live in Oslo", datetime(9999, 1, 1, tzinfo=UTC)), Said("assistant", "Noted")]
    assert await remember(asking, said, agent_id="bot", session_id="s") is None
    memories = (await bot.list_memories()).memories
    assert sorted(memory.content for memory in memories) == ["I live in Oslo", "Noted"]
