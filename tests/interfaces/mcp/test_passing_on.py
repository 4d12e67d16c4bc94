"""The command that passes on makes one request of each, and says what to do about whatever else answers at its URL."""

from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.domain.advice import advice
from app.domain.errors import Unavailable, UpstreamRejected, UpstreamUnavailable
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.connections import listening, log_of, over_stdio
from tests.support.service import Service

FAILED, STRANGE = UpstreamUnavailable(""), UpstreamRejected("")
CONTENT = "the content that must stay out"
ANSWERS = [
    (Response("<html>", 502, media_type="text/html"), FAILED),
    (Response("<html>", 503, media_type="text/html"), FAILED),
    (Response("", 500), FAILED),
    (Response('{"message": "no"}', 500, media_type="application/json"), FAILED),
    (Response("<html>", 404, media_type="text/html"), STRANGE),
    (Response("<html>", media_type="text/html"), STRANGE),
    (Response(f'{{"jsonrpc":"2.0","id":1,"result":{{"content":"{CONTENT}', media_type="application/json"), STRANGE),
    (Response(status_code=202), STRANGE),
    (Response(status_code=307, headers={"Location": "https://example.com/mcp"}), STRANGE),
    (Response(f'{{"jsonrpc":"2.0","id":1,"result":{{"tools":"{CONTENT}"}}}}', media_type="application/json"), STRANGE),
]
"""What is no memory service, and the error it stands for."""


class Elsewhere:
    """An application that gives one answer after the other."""

    def __init__(self) -> None:
        self.answer = Response()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.answer(scope, receive, send)


async def test_what_is_no_memory_service_is_told_with_what_to_do(tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    async with (
        listening(elsewhere) as url,
        over_stdio(tmp_path / "data", "--url", url, MEMORY_GATEWAY_TOKEN="any") as client,
    ):
        for elsewhere.answer, error in ANSWERS:
            await assert_told(client, url, error)
    assert CONTENT not in log_of(tmp_path / "data")


async def assert_told(client: Client, url: str, error: Unavailable) -> None:
    code, text = await refused(client, "store_memory", content="x")
    assert code == error.code, text
    assert CONTENT not in text
    assert url in text
    assert text.endswith(advice(error))
    with pytest.raises(MCPError) as raised:
        await client.list_tools()
    assert raised.value.data == {"code": error.code}
    assert raised.value.message.endswith(advice(error))


async def test_a_call_is_one_request(service: Service, tmp_path: Path) -> None:
    token = service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
    statuses: list[int] = []

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(int(message["status"]))
            await send(message)

        await service.app(scope, receive, noted)

    async with (
        listening(counted) as url,
        over_stdio(tmp_path / "data", "--url", f"{url}/", MEMORY_GATEWAY_TOKEN=token) as client,
    ):
        await client.list_tools()
        statuses.clear()
        for n in range(3):
            await answered(client, "store_memory", content=f"number {n}")
        assert statuses == [200] * 3
