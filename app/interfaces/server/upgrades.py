"""Reads the bodies of requests that ask for another protocol: httptools takes a body's bytes for that protocol."""

from collections.abc import Iterable
from typing import Protocol

import httptools

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class SentAhead(Exception):
    """A request was sent before the previous request was answered."""


class BodyReader(Protocol):
    """Takes the body of one request, and reads no other request."""

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        ...

    def body_complete(self) -> None:
        """Note that the body is complete."""
        ...

    def end_after_this(self) -> None:
        """Read no other request."""
        ...


def parser_of_body(reader: BodyReader, headers: Iterable[tuple[bytes, bytes]]) -> httptools.HttpRequestParser:
    """Return a parser of the body behind headers that another parser has read; the headers' names are in lower case."""
    parser = httptools.HttpRequestParser(_Body(reader))
    framing = [name + b": " + value for name, value in headers if name in _FRAMING]
    parser.feed_data(b"\r\n".join([b"POST / HTTP/1.1", *framing, b"", b""]))
    return parser


class _Body:
    """Passes on the body of the first message, and ends at a second one."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self._complete = False

    def on_message_begin(self) -> None:
        if self._complete:
            raise SentAhead

    def on_body(self, body: bytes) -> None:
        self._reader.on_body(body)

    def on_message_complete(self) -> None:
        self._complete = True
        self._reader.end_after_this()
        self._reader.body_complete()
