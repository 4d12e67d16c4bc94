"""Reads a body in parts: as it arrives, or as a JSON object with one long list, whose items are read one by one.

No step of the reading holds the event loop up.
"""

import asyncio
import re
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from contextlib import aclosing
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, TypeAlias

from starlette.requests import ClientDisconnect, Request

from app.domain.errors import ContentTooLarge, FieldError, MalformedRequest
from app.interfaces.fields import refused

PART_CHARACTERS: Final = 256 * 1024
"""The most characters of one value: as many as the whole body of another request may have bytes."""
_CHARACTERS_AT_ONCE = 64 * 1024
_MAX_MEMBERS = 100
_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()

Member: TypeAlias = tuple[str, int | None, Any]
"""A member's name, the number of the item where the member is the long list, and the value."""


def announced(request: Request, most: int) -> int:
    """Return how many bytes the body has by its Content-Length, at most ``most``; without that header ``most``."""
    length = request.headers.get("content-length", "")
    return min(int(length), most) if length.isdigit() else most


async def chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the body as it arrives.

    Raises:
        MalformedRequest: the body broke off.
    """
    async with aclosing(request.stream()) as stream:
        try:
            async for chunk in stream:
                yield chunk
        except ClientDisconnect as error:
            raise MalformedRequest("The body broke off.") from error


async def members(request: Request, long: str) -> AsyncIterator[Member]:
    """Yield the members of the JSON object in a request's body; the list named ``long`` is yielded item by item.

    An empty list is yielded as a whole, and so is a member of that name that is no list.

    Raises:
        MalformedRequest: the body is not JSON, no object, or broke off.
        ContentTooLarge: a value, or the body, is too large.
        InvalidRequest: a member comes twice, or there are too many.
    """
    text = _Text(chunks(request))
    await text.expect("{")
    names: set[str] = set()
    more = await text.peek() != "}"
    while more:
        name = await text.name()
        if name in names or len(names) == _MAX_MEMBERS:
            named = name[:64].encode(errors="replace").decode()  # of lone surrogates no answer can be made
            raise refused([FieldError(named, "is given more than once, or is one of too many fields")])
        names.add(name)
        await text.expect(":")
        if name == long and await text.peek() == "[":
            async for number, item in _items(text, name):
                yield name, number, item
        else:
            yield name, None, await text.value(name)
        more = await text.goes_on("}")
    await text.expect("}")
    if await text.peek():
        raise _malformed()


async def _items(text: "_Text", name: str) -> AsyncIterator[tuple[int | None, Any]]:
    await text.expect("[")
    if await text.peek() == "]":
        await text.expect("]")
        yield None, []
        return
    number = 0
    more = True
    while more:
        yield number, await text.value(f"{name}.{number}")
        number += 1
        more = await text.goes_on("]")
    await text.expect("]")


class _Text:
    """The text of a body; no more of it is held than the next value may need."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        """Take the body as it arrives."""
        self._chunks = chunks
        self._decode = getincrementaldecoder("utf-8")().decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._since_pause = 0

    async def peek(self) -> str:
        """Return the next character that is not blank; "" at the end."""
        while True:
            await self._fill()
            blank = _BLANK.match(self._text, self._at)
            await self._pass(self._at if blank is None else blank.end())
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]

    async def expect(self, character: str) -> None:
        """Pass over a character that must come next."""
        if await self.peek() != character:
            raise _malformed()
        self._at += 1

    async def goes_on(self, end: str) -> bool:
        """Tell whether another value follows, and pass over the comma before it."""
        if await self.peek() == end:
            return False
        await self.expect(",")
        return True

    async def name(self) -> str:
        """Read a member's name."""
        if await self.peek() != '"':
            raise _malformed()
        return str(await self.value("body"))

    async def value(self, field: str) -> Any:  # noqa: ANN401 - any JSON
        """Read a value."""
        await self.peek()
        try:
            value, end = _DECODER.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            cut = not self._ended and (error.msg.startswith("Unterminated") or error.pos >= len(self._text) - 8)
            raise (_too_large(field) if cut else _malformed()) from error
        except (ValueError, RecursionError) as error:  # a number with thousands of digits, or too deep
            raise _malformed() from error
        if end - self._at >= PART_CHARACTERS:
            raise _too_large(field)
        await self._pass(end)
        return value

    async def _pass(self, end: int) -> None:
        self._since_pause += end - self._at
        self._at = end
        if self._since_pause >= _CHARACTERS_AT_ONCE:
            self._since_pause = 0
            await asyncio.sleep(0)

    async def _fill(self) -> None:
        """Hold as many characters as one value may have, or the rest of the body where that is less."""
        held = len(self._text) - self._at
        if self._ended or held > PART_CHARACTERS:
            return
        parts = [self._text[self._at :]]
        while held <= 2 * PART_CHARACTERS and (part := await self._next()) is not None:
            parts.append(part)
            held += len(part)
        self._text, self._at = "".join(parts), 0

    async def _next(self) -> str | None:
        """Return the text of the next chunk; None at the end."""
        try:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                self._ended = True
                self._decode(b"", final=True)
                return None
            return self._decode(chunk)
        except UnicodeDecodeError as error:
            raise _malformed() from error


def _malformed() -> MalformedRequest:
    return MalformedRequest("The body is not a JSON object.", errors=[FieldError("body", "is not a JSON object")])


def _too_large(field: str) -> ContentTooLarge:
    message = f"has more than {PART_CHARACTERS} characters"
    return ContentTooLarge(f"{field} {message}.", errors=[FieldError(field, message)])
