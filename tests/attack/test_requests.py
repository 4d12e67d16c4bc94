"""No request costs more than its budget, holds up the others, or costs more than twice as much for twice the size.

Costs are CPU time of this process, which has the service in it, and so the client's part too.
"""

import asyncio
import gc
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.hostile import SHAPES, TEXTS, import_line
from bench.stalls import watched
from tests.attack.tier_fields import RUN, TIER_SHAPES, TIER_TEXTS
from tests.support.cost import longest_step, usual, within
from tests.support.hostile import cases
from tests.support.service import Service, serving

CONTENT, METADATA, BODY, PARAMETER, WORDS = 32 * 1024, 10 * 1024, 250 * 1024, 4 * 1024, 1024
STALL_SECONDS = 0.05
BUDGET_SECONDS = 1.0
"""CPU of one request at its largest, whatever it holds (docs/limits.md)."""
GROWTH = 2.6
"""A cost that grows with the square would be 4."""
SLACK_SECONDS = 0.02
TRIES, ENOUGH_TRIES = 6, 3


@dataclass(frozen=True, slots=True)
class Field:
    """A place of a request that takes what is made, up to a size, and the route it goes to."""

    route: str
    largest: int
    body: Callable[[Any], dict[str, Any]]
    agent: str = "bot"

    def request(self, service: Service, value: Any) -> httpx.Request:
        method, path = self.route.split()
        headers = service.credential(admin=True) | {"Content-Type": "application/json"} | _OF_MCP
        headers |= {"X-Agent-Id": self.agent}
        if method == "GET":
            return service.client.build_request(method, path, params=self.body(value), headers=headers)
        if path == "/import":
            headers |= {"Content-Type": "application/x-ndjson"}
        content = json.dumps(self.body(value), ensure_ascii=False).encode("utf-8", "surrogatepass")
        return service.client.build_request(method, path, content=content, headers=headers)


_OF_MCP = {"Accept": "application/json"}


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


TEXT_FIELDS = {
    "content": Field("POST /store", CONTENT, lambda text: {"agent_id": "bot", "content": text}),
    "query": Field("POST /recall", CONTENT, lambda text: {"agent_id": "bot", "query": text, "collapse": True}),
    "explained query": Field(
        "POST /recall/explain",
        CONTENT,
        lambda text: {"agent_id": "bot", "query": text, "memory_id": "01K5ZZZZZZZZZZZZZZZZZZZZZZ"},
    ),
    "tool's content": Field("POST /mcp", CONTENT, lambda text: _call("store_memory", {"content": text})),
    "tool's query": Field("POST /mcp", CONTENT, lambda text: _call("recall_memory", {"query": text})),
    "tool's argument": Field("POST /mcp", BODY, lambda text: _call("recall_memory", {"query": "x", text: 1})),
    "what to remember": Field("POST /mcp", CONTENT, lambda text: _call("remember", {"text": text}), "four"),
    "question": Field("POST /mcp", WORDS, lambda text: _call("recall", {"question": text}), "four"),
    "what to forget": Field("POST /mcp", WORDS, lambda text: _call("forget", {"memory": text}), "four"),
    "what to list": Field("POST /mcp", WORDS, lambda text: _call("list", {"about": text}), "four"),
    "question too long": Field("POST /mcp", BODY, lambda text: _call("recall", {"question": text}), "four"),
    "remembered": Field("POST /profiles/bot/remember", CONTENT, lambda text: {"content": text}),
    "profile's query": Field("POST /profiles/bot/recall", 1024, lambda text: {"query": text}),
    "writer": Field("GET /memories", PARAMETER, lambda text: {"agent_id": "bot", "written_by": text}),
    "metadata value": Field(
        "POST /store", METADATA, lambda text: {"agent_id": "bot", "content": "text", "metadata": {"a": text}}
    ),
    "wanted value": Field(
        "POST /recall", METADATA, lambda text: {"agent_id": "bot", "query": "text", "filter": {"metadata": {"a": text}}}
    ),
    "wanted key": Field(
        "POST /recall", METADATA, lambda text: {"agent_id": "bot", "query": "text", "filter": {"metadata": {text: 1}}}
    ),
    "agent": Field("POST /recall", CONTENT, lambda text: {"agent_id": text, "query": "text"}),
    "unknown field": Field("POST /store", BODY, lambda text: {"agent_id": "bot", "content": "text", text: 1}),
    "cursor": Field("GET /memories", PARAMETER, lambda text: {"agent_id": "bot", "cursor": text}),
    "imported content": Field("POST /import", CONTENT, lambda text: import_line("bot", text)),
    **{name: Field(*each) for name, each in TIER_TEXTS.items()},
}
SHAPE_FIELDS = {
    "metadata": Field("POST /store", BODY, lambda made: {"agent_id": "bot", "content": "text", "metadata": made}),
    "filter": Field("POST /recall", BODY, lambda made: {"agent_id": "bot", "query": "x", "filter": {"metadata": made}}),
    "fields": Field("POST /store", BODY, lambda made: made),
    "tool's metadata": Field(
        "POST /mcp", BODY, lambda made: _call("store_memory", {"content": "text", "metadata": made})
    ),
    "tool's message": Field("POST /mcp", BODY, lambda made: made),
    **{name: Field(*each) for name, each in TIER_SHAPES.items()},
    "list filter": Field("GET /memories", PARAMETER, lambda made: {"agent_id": "bot", "metadata": json.dumps(made)}),
}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """A service whose agents have memories that many of these requests find; ``four`` has the four tools."""
    async with serving(tmp_path_factory.mktemp("attack") / "data") as service:
        for number in range(30):
            for agent in ("bot", "four"):
                content = f"red fox {number} w{number} \u6f22 text 5/6/2023"
                await service.store(content, agent_id=agent, metadata={"a": number})
        await service.post("/runs", {"agent_id": "bot", "agent_type": "t", "input": None, "run_id": RUN})
        headers = service.credential(admin=True)
        await service.client.put("/agents/four", json={"tools": "profile"}, headers=headers)
        gc.collect()
        gc.freeze()  # what is there by now is no garbage: to look through it before each request takes most of the time
        yield service
        gc.unfreeze()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a request has cost, the least of some tries: a host that others use too takes part of some of them."""

    seconds: float = math.inf
    """Of CPU."""
    longest_step: float = math.inf
    """Of the loop, in seconds of a usual machine."""

    def or_less(self, other: "Cost") -> "Cost":
        return Cost(min(self.seconds, other.seconds), min(self.longest_step, other.longest_step))

    def flaws(self, of_half: "Cost") -> list[str]:
        """Say what is wrong with this cost beside that of half the size."""
        right = {
            "costs too much": within(self.seconds, BUDGET_SECONDS),
            "grows with more than the size": self.seconds <= GROWTH * of_half.seconds + SLACK_SECONDS,
            "holds others up": max(self.longest_step, of_half.longest_step) <= STALL_SECONDS,
        }
        return [flaw for flaw, is_right in right.items() if not is_right]


async def check(service: Service, field: Field, make: Callable[[int], Any]) -> None:
    await service.client.send(field.request(service, make(field.largest // 8)))
    half, whole = make(field.largest // 2), make(field.largest)
    of_half, of_whole = Cost(), Cost()
    flaws: list[str] = []
    for number in range(1, TRIES + 1):
        of_half = of_half.or_less(await cost(service, field, half))
        of_whole = of_whole.or_less(await cost(service, field, whole))
        flaws = of_whole.flaws(of_half)
        if not flaws and (number >= ENOUGH_TRIES or of_whole.seconds <= SLACK_SECONDS):
            return
    assert not flaws, (of_half, of_whole)


async def cost(service: Service, field: Field, value: Any) -> Cost:
    request = field.request(service, value)
    gc.collect()
    with watched() as stalls:
        await asyncio.sleep(0)
        started = time.process_time()
        response = await service.client.send(request)
        spent = time.process_time() - started
        await asyncio.sleep(0)
    assert response.status_code < 500
    assert response.status_code not in {401, 403}  # which cost nothing
    return Cost(spent, stalls.longest if stalls.longest <= STALL_SECONDS else usual(stalls.longest))


@pytest.mark.parametrize(("field", "text"), cases(TEXT_FIELDS, TEXTS, one_in=31))
async def test_a_text_costs_in_proportion_to_its_size(service: Service, field: str, text: str) -> None:
    await check(service, TEXT_FIELDS[field], TEXTS[text])


@pytest.mark.parametrize(("field", "shape"), cases(SHAPE_FIELDS, SHAPES, one_in=11))
async def test_a_shape_costs_in_proportion_to_its_size(service: Service, field: str, shape: str) -> None:
    await check(service, SHAPE_FIELDS[field], SHAPES[shape])


LARGE_TEXTS = ["what becomes combining marks", pytest.param("low opening quotes", marks=pytest.mark.long)]
"""What takes longest to fold, and to count as tokens."""


def shaped_recall(shaped: dict[str, Any]) -> Field:
    return Field("POST /recall", 0, lambda query: {"agent_id": "bot", "query": query, **shaped})


OF_RECALL: list[dict[str, Any]] = [
    {"collapse": True, "top_k": 20},
    {"max_tokens": 1},
    {"group_by": "session", "top_k": 50},
]
OF_PROFILE = [
    Field("POST /profiles/bot/recall", 0, lambda query: {"query": query, "response_length": "long"}),
    Field("POST /profiles/bot/summary", 0, lambda _: {}),
    Field("GET /profiles/bot/memories", 0, lambda _: {"limit": 100}),
]


@pytest.mark.parametrize("text", LARGE_TEXTS)
async def test_many_of_the_largest_memories_hold_nobody_up(tmp_path: Path, text: str) -> None:
    contents = [f"red fox {number} {TEXTS[text](CONTENT - 20)}" for number in range(90)]
    files = [
        "\n".join(json.dumps(import_line(agent, content)) for content in contents)
        for agent in ("bot", "bot2", "bot3", "bot4", "bot5")
    ]
    async with serving(tmp_path / "data") as service:
        headers = service.credential(admin=True) | {"Content-Type": "application/x-ndjson"}

        async def imported(attempt: int) -> None:
            report = await service.client.post("/import", content=files[attempt], headers=headers)
            assert json.loads(report.text.splitlines()[-1])["imported"] == len(contents)

        assert await longest_step(imported, STALL_SECONDS, tries=len(files)) <= STALL_SECONDS
        for field in (*map(shaped_recall, OF_RECALL), *OF_PROFILE):
            await check(service, field, lambda _: "red fox")


async def test_an_import_of_line_ends_holds_nobody_up(service: Service) -> None:
    headers = service.credential(admin=True) | {"Content-Type": "application/x-ndjson"}

    async def imported(_attempt: int) -> None:
        answer = await service.client.post("/import", content=b"\n" * 256 * 1024, headers=headers)
        assert json.loads(answer.text.splitlines()[-1])["rejected"] == 256 * 1024

    assert await longest_step(imported, STALL_SECONDS) <= STALL_SECONDS


_MESSAGE = {"role": "user", "content": "I live in Rome"}
ARRIVES = 64 * 1024
"""Bytes of a body that a server passes on at once."""
LONG_BODIES: dict[str, Callable[[int], str]] = {
    "blanks": lambda size: '{"messages": [' + " " * size + json.dumps(_MESSAGE) + "]}",
    "deep lists": lambda size: '{"messages": [' + "[" * size + "]}",
    "many small items": lambda size: '{"messages": [' + "1," * (size // 2) + "1]}",
    "a long item": lambda size: '{"messages": ["' + "x" * size + '"]}',
    "a long member": lambda size: '{"other": [' + "1," * (size // 2) + '1], "messages": [1]}',
    "a long number": lambda size: '{"messages": [' + "1" * size + "]}",
    "escapes": lambda size: json.dumps(
        {"messages": [{"role": "user", "content": "\x01" * 30_000}] * (size // 180_000)}
    ),
    "what is not taken": lambda size: json.dumps({"messages": [{"role": "x", "content": 1}] * (size // 40)}),
}


@pytest.mark.parametrize("body", LONG_BODIES)
async def test_a_conversation_of_any_form_holds_nobody_up(service: Service, body: str) -> None:
    content = LONG_BODIES[body](20 * 1024 * 1024 - 1000).encode()
    headers = service.credential() | {"Content-Type": "application/json"}

    async def as_it_arrives() -> AsyncIterator[bytes]:
        for begin in range(0, len(content), ARRIVES):
            yield content[begin : begin + ARRIVES]

    async def ingested(_attempt: int) -> None:
        answer = await service.client.post("/profiles/other/ingest", content=as_it_arrives(), headers=headers)
        assert answer.status_code < 500
        assert answer.status_code not in {401, 403}

    assert await longest_step(ingested, STALL_SECONDS) <= STALL_SECONDS


@pytest.mark.parametrize("text", LARGE_TEXTS)
async def test_many_of_the_largest_messages_hold_nobody_up(tmp_path: Path, text: str) -> None:
    contents = [f"red fox {number} {TEXTS[text](CONTENT - 20)}" for number in range(90)]
    body = {"messages": [{"role": "user", "content": content} for content in contents]}
    async with serving(tmp_path / "data") as service:

        async def ingested(attempt: int) -> None:
            answer = await service.post(f"/profiles/bot{attempt}/ingest", body)
            assert answer.json().get("stored") == len(contents) or answer.status_code == 202

        assert await longest_step(ingested, STALL_SECONDS) <= STALL_SECONDS
