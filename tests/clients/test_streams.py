"""Exports, imports and acts go line by line, in both directions, with either client."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio.to_thread
import httpx
import pytest

from memory_gateway_client import (
    AnswerNotUnderstood,
    AsyncMemoryClient,
    Forbidden,
    Line,
    MemoryClient,
    NotFound,
    Unavailable,
)
from tests.clients.asking import TOKEN
from tests.support.service import Service

SEPARATORS = "one\u2028two\u0085three\x1cfour"
"""What other readers of lines take for their end."""
END = {"type": "end", "memories": 0}


@pytest.fixture
def token(service: Service) -> str:
    return service.credential(admin=True)["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def other(service: Service) -> str:
    return service.credential("other", admin=True)["Authorization"].removeprefix("Bearer ")


def answered(chunks: list[bytes], *, broken: bool = False, status: int = 200) -> Any:
    """Return what answers every request with these chunks, and then, if it is ``broken``, fails."""

    class Chunks(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from chunks
            if broken:
                raise httpx.ReadError("cut")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

    return httpx.MockTransport(lambda _: httpx.Response(status, stream=Chunks()))


def waited(transport: Any, **arguments: Any) -> MemoryClient:
    return MemoryClient("http://service", TOKEN, http=httpx.Client(transport=transport), **arguments)


def awaited(transport: Any, **arguments: Any) -> AsyncMemoryClient:
    return AsyncMemoryClient("http://service", TOKEN, http=httpx.AsyncClient(transport=transport), **arguments)


async def test_what_one_tenant_exports_another_imports_with_a_client_that_waits(
    url: str, token: str, other: str
) -> None:
    def moved() -> tuple[list[Line], list[Line]]:
        with MemoryClient(url, token, agent_id="bot") as here, MemoryClient(url, other) as there:
            for number in range(3):
                here.store(f"{SEPARATORS} {number}", metadata={"number": number})
            here.store("another's", agent_id="other")
            exported = list(here.export_memories())
            return exported, list(there.import_memories(here.export_memories(every_agent=True)))

    exported, report = await anyio.to_thread.run_sync(moved)
    assert [line["type"] for line in exported] == ["manifest", *["memory"] * 3, "end"]
    assert {line["content"] for line in exported[1:-1]} == {f"{SEPARATORS} {number}" for number in range(3)}
    assert (report[-1]["type"], report[-1]["imported"], report[-1]["end"]) == ("summary", 4, "holds")


async def test_what_one_tenant_exports_another_imports_with_a_client_that_is_awaited(
    url: str, token: str, other: str
) -> None:
    async with AsyncMemoryClient(url, token, agent_id="bot") as here, AsyncMemoryClient(url, other) as there:
        for number in range(3):
            await here.store(f"{SEPARATORS} {number}")
        report = [line async for line in there.import_memories(here.export_memories(vectors=True))]
        assert (report[-1]["imported"], report[-1]["end"]) == (3, "holds")
        assert len((await there.list_memories(agent_id="bot")).memories) == 3
        written = [json.dumps(line) async for line in here.export_memories()]
        again = [line async for line in there.import_memories([written[0], *(line.encode() for line in written[1:])])]
        assert (again[-1]["unchanged"], again[-1]["end"]) == (3, "holds")


async def test_the_acts_are_given_line_by_line(url: str, token: str) -> None:
    async with AsyncMemoryClient(url, token) as client:
        await client.set_agent(retention_days=3, agent_id="bot")
        acts = [line async for line in client.export_acts()]
    assert "agent.set" in json.dumps(acts)


async def test_who_may_not_export_is_told_so_before_the_first_line(url: str, service: Service) -> None:
    token = service.credential()["Authorization"].removeprefix("Bearer ")

    def asked() -> None:
        with MemoryClient(url, token, agent_id="bot") as client, pytest.raises(Forbidden):
            next(client.export_memories())

    await anyio.to_thread.run_sync(asked)
    async with AsyncMemoryClient(url, token, agent_id="bot") as client:
        with pytest.raises(Forbidden):
            await anext(aiter(client.import_memories([END])))


@pytest.mark.parametrize("chunks", [[], [b'{"type":"memory"}\n'], [b'{"type":"memory"}\n{"type":"en']])
async def test_an_export_that_is_cut_off_is_no_whole_one(chunks: list[bytes]) -> None:
    client = waited(answered(chunks))
    with pytest.raises(Unavailable) as caught:
        list(client.export_memories())
    assert caught.value.code == "answer_lost"
    with pytest.raises(Unavailable):
        async for _ in awaited(answered(chunks)).export_memories():
            pass


async def test_a_connection_that_breaks_is_told_after_the_lines_that_came() -> None:
    transport = answered([b'{"type":"memory"}\n{"ty'], broken=True)
    lines = waited(transport).export_memories()
    assert next(lines) == {"type": "memory"}
    with pytest.raises(Unavailable):
        next(lines)
    coming = awaited(transport).export_memories()
    assert await anext(coming) == {"type": "memory"}
    with pytest.raises(Unavailable):
        await anext(coming)


@pytest.mark.parametrize("line", [b"<html>\n", b"[1]\n", b"\n", b"[" * 100_000 + b"\n"])
async def test_a_line_that_is_no_object_is_not_understood(line: bytes) -> None:
    with pytest.raises(AnswerNotUnderstood):
        list(waited(answered([line])).export_memories())


async def test_lines_may_be_cut_anywhere_on_their_way() -> None:
    written = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in ({"text": SEPARATORS}, END)).encode()
    for size in (1, 2, 3, 7, len(written)):
        chunks = [written[start : start + size] for start in range(0, len(written), size)]
        assert list(waited(answered(chunks)).export_memories()) == [{"text": SEPARATORS}, END]


def test_a_client_that_waits_takes_no_lines_that_have_to_be_awaited() -> None:
    async def lines() -> AsyncIterator[Line]:
        yield END

    with pytest.raises(TypeError, match="AsyncMemoryClient"):
        next(waited(answered([])).import_memories(lines()))


async def test_an_import_is_not_sent_twice(pauses: list[float]) -> None:
    client = waited(answered([b'{"code":"unavailable","detail":"gone"}'], status=503), retries=3)
    with pytest.raises(Unavailable):
        list(client.import_memories([END]))
    assert pauses == []


async def test_what_cloudflares_surface_refuses_is_told_by_its_status_and_its_message() -> None:
    refusal = b'{"result":null,"success":false,"errors":[{"code":1404,"message":"No such profile."}],"messages":[]}'
    with pytest.raises(NotFound) as caught:
        waited(answered([refusal], status=404)).agent_memory_namespace_get("acc", "none")
    assert (caught.value.code, caught.value.detail) == ("1404", "No such profile.")
