"""The head of an answer and the beginning of its body leave the server together."""

import asyncio
from typing import Any

from app.interfaces.server.joined import JoinedAnswer

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"


class Wire(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True


async def written(*parts: bytes, wait: bool = False, close: bool = False) -> list[bytes]:
    wire = Wire()
    answer = JoinedAnswer(wire, asyncio.get_running_loop())
    for part in parts:
        answer.write(part)
        if wait:
            await asyncio.sleep(0)
    if close:
        answer.close()
        assert wire.closed
    await asyncio.sleep(0)
    return wire.sent


async def test_a_head_and_a_body_are_sent_at_once() -> None:
    assert await written(HEAD, b"body") == [HEAD + b"body"]


async def test_a_head_whose_body_is_empty_is_sent() -> None:
    assert await written(HEAD, b"") == [HEAD]


async def test_a_head_whose_body_comes_later_does_not_wait_for_it() -> None:
    assert await written(HEAD, b"body", wait=True) == [HEAD, b"body"]


async def test_a_head_without_a_body_is_sent_before_the_connection_ends() -> None:
    assert await written(HEAD, close=True) == [HEAD]


async def test_further_parts_are_sent_as_they_come() -> None:
    assert await written(HEAD, b"HTTP/1.1 is", b" a text") == [HEAD + b"HTTP/1.1 is", b" a text"]


async def test_a_long_body_is_not_copied_behind_its_head() -> None:
    body = bytes(1 << 20)
    assert await written(HEAD, body) == [HEAD, body]


async def test_who_waits_to_send_a_body_is_told_to_at_once() -> None:
    assert await written(GO_ON, HEAD, b"body") == [GO_ON, HEAD + b"body"]
