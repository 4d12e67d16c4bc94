"""How a client is set up, what it shows of itself, and what of it is closed."""

import asyncio
import inspect
import logging
import pydoc
import traceback
import typing
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import memory_gateway_client
from memory_gateway_client import (
    AsyncMemoryClient,
    MemoryClient,
    MemoryGatewayError,
    Recall,
    Unavailable,
)
from memory_gateway_client.operations import memory
from tests.clients.asking import TOKEN, Asked
from tests.clients.conftest import Connect
from tests.support.service import Service

CLIENTS: dict[str, Any] = {"sync": MemoryClient, "async": AsyncMemoryClient}
EMPTY = httpx.Response(200, json={"entries": [], "confidence": 0.0})


async def test_what_is_not_said_comes_from_the_environment(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_GATEWAY_TOKEN", TOKEN)
    assert repr(CLIENTS[kind]()) == f"{CLIENTS[kind].__name__}('http://127.0.0.1:8000', agent_id=None)"
    monkeypatch.setenv("MEMORY_GATEWAY_URL", "https://memory.example.com/base/")
    monkeypatch.setenv("MEMORY_GATEWAY_AGENT", "billing")
    client = CLIENTS[kind]()
    assert (client.base_url, client.agent_id) == ("https://memory.example.com/base", "billing")
    said = CLIENTS[kind]("http://localhost:1", agent_id="support")
    assert (said.base_url, said.agent_id) == ("http://localhost:1", "support")


def test_a_client_without_a_token_is_refused_unless_its_http_may_bring_one(kind: str) -> None:
    with pytest.raises(ValueError, match="MEMORY_GATEWAY_TOKEN"):
        CLIENTS[kind]()
    http = httpx.Client() if kind == "sync" else httpx.AsyncClient()
    assert CLIENTS[kind](http=http).base_url == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    "url",
    [
        "host",
        "host:8000",
        "ftp://host",
        "http://",
        "http://user:secret@host",
        "http://host?secret",
        "http://host:secret",
    ],
)
def test_a_base_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match="base URL") as caught:
        MemoryClient(url, TOKEN)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("arguments", [{"timeout": 0.0}, {"timeout": -1.0}, {"retries": -1}])
def test_a_call_without_time_or_with_less_than_no_retries_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="A call has"):
        MemoryClient(token=TOKEN, **arguments)


async def test_a_call_without_an_agent_is_refused_before_anything_is_sent(connect: Connect) -> None:
    asked: list[httpx.Request] = []
    nobody = connect(asked.append, agent_id=None)
    for name, arguments in {
        "store": ["c"],
        "recall": ["q"],
        "explain": ["q", "m"],
        "get_memory": ["m"],
        "delete_memory": ["m"],
        "get_agent": [],
    }.items():
        with pytest.raises(ValueError, match="MEMORY_GATEWAY_AGENT"):
            await getattr(nobody, name)(*arguments)
    with pytest.raises(ValueError, match="MEMORY_GATEWAY_AGENT"):
        await nobody.set_agent(retention_days=None)
    with pytest.raises(TypeError):
        await nobody.erase_agent()
    with pytest.raises(ValueError, match="not both"):
        await nobody.usage(agent_id="bot", every_agent=True)
    with pytest.raises(ValueError, match="empty"):
        await nobody.erase_agent("")
    assert asked == []


async def test_a_base_url_with_a_path_leads_every_call(connect: Connect) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return EMPTY

    await connect(answer, base_url="http://host:1/memory/").recall("anything")
    assert str(asked[0].url) == "http://host:1/memory/recall"
    assert asked[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_only_connections_of_its_own_are_closed() -> None:
    own, given = MemoryClient(token=TOKEN), httpx.Client()
    with own as entered, MemoryClient(token=TOKEN, http=given):
        assert entered is own
    with pytest.raises(RuntimeError, match="closed"):
        own.recall("anything", agent_id="bot")
    assert not given.is_closed
    async_own, async_given = AsyncMemoryClient(token=TOKEN), httpx.AsyncClient()
    async with async_own as async_entered, AsyncMemoryClient(token=TOKEN, http=async_given):
        assert async_entered is async_own
    with pytest.raises(RuntimeError, match="closed"):
        await async_own.recall("anything", agent_id="bot")
    assert not async_given.is_closed


@pytest.mark.parametrize("token", ["two words", "a\nb", "schlüssel", "a\x00b", "a\x7fb"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII") as caught:
        MemoryClient(token=token)
    assert token not in str(caught.value)


def shown(error: BaseException) -> Iterator[str]:
    """Give all that a report of the error may show, with the variables of every frame."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    yield "".join(report.format())
    yield repr(vars(error))


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ConnectError("refused"),
        httpx.Response(401, json={"code": "unauthenticated", "detail": "No."}),
        httpx.Response(200, html="<h1>Log in</h1>"),
    ],
    ids=repr,
)
async def test_the_token_is_in_no_error(connect: Connect, answer: Any) -> None:
    def answers(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]  # a response

    asked = connect(answers, retries=0)
    with pytest.raises(MemoryGatewayError) as caught:
        await asked.recall("anything")
    assert all(TOKEN not in text for text in (*shown(caught.value), repr(asked.client), repr(vars(asked.client))))


async def test_the_token_is_in_no_log(url: str, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    async with AsyncMemoryClient(url, token, agent_id="bot") as client:
        await client.store("anything")
    assert any("POST" in record.getMessage() for record in caplog.records)
    assert token not in caplog.text


async def breaking(answer: bytes, *, hold: bool = False) -> asyncio.Server:
    """Listen, answer every request so, and then break the connection or hold it."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if hold:
            await reader.read()
        writer.close()

    return await asyncio.start_server(served, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("answer", "then", "code"),
    [
        (b"", "break", "answer_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Len", "break", "answer_lost"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"entries": []', "break", "answer_lost"),
        (b"220 mail.example.com ESMTP\r\n", "break", "answer_lost"),
        (b"", "hold", "answer_timeout"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"entries": []', "hold", "answer_timeout"),
    ],
)
async def test_half_an_answer_on_a_socket_is_no_answer(kind: str, answer: bytes, then: str, code: str) -> None:
    async with await breaking(answer, hold=then == "hold") as server:
        port = server.sockets[0].getsockname()[1]
        client = Asked(CLIENTS[kind](f"http://127.0.0.1:{port}", TOKEN, agent_id="bot", timeout=0.2, retries=0))
        with pytest.raises(Unavailable) as caught:
            await client.recall("anything")
        assert caught.value.code == code
        await close(client)


async def test_a_service_that_is_not_there_is_unreachable(kind: str, pauses: list[float]) -> None:
    async with await breaking(b"") as server:
        port = server.sockets[0].getsockname()[1]
    client = Asked(CLIENTS[kind](f"http://127.0.0.1:{port}", TOKEN, agent_id="bot"))
    with pytest.raises(Unavailable) as caught:
        await client.recall("anything")
    assert caught.value.code == "service_unreachable"
    assert "http://127.0.0.1:" in str(caught.value)
    assert "MEMORY_GATEWAY_URL" in str(caught.value)
    assert len(pauses) == 2
    await close(client)


async def close(client: Asked) -> None:
    await (client.aclose() if isinstance(client.client, AsyncMemoryClient) else client.close())


def test_a_method_shows_the_parameters_the_answer_and_the_docstring_of_its_operation(kind: str) -> None:
    method = CLIENTS[kind](token=TOKEN).recall
    described = inspect.signature(memory.recall)
    _, *said = described.parameters.values()
    assert list(inspect.signature(method).parameters.values()) == said
    assert inspect.signature(method).return_annotation is Recall
    assert list(inspect.signature(CLIENTS[kind].recall).parameters) == ["self", *(each.name for each in said)]
    assert typing.get_type_hints(method)["return"] is Recall
    assert inspect.iscoroutinefunction(method) == (kind == "async")
    assert method.__doc__ == memory.recall.__doc__
    assert method.__qualname__ == f"{CLIENTS[kind].__name__}.recall"
    assert "Return the agent's memories that answer the query best." in pydoc.render_doc(CLIENTS[kind])


def test_what_is_exported_is_sorted_and_there() -> None:
    exported = memory_gateway_client.__all__
    assert exported == sorted(exported)
    assert all(hasattr(memory_gateway_client, name) for name in exported)
    for module in (memory_gateway_client.errors, memory_gateway_client.types):
        classes = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
        assert classes <= set(exported)
