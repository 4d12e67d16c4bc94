"""Answers that are the same for every caller: their bytes are made once, also compressed, and have an entity tag."""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from fastapi import Request, Response

_LEAST_COMPRESSED = 512
"""Bytes below which an answer is not compressed."""


@dataclass(frozen=True, slots=True)
class StaticPage:
    """An answer's bytes, as they are and compressed by gzip; ``compressed`` is None where that saves nothing."""

    content: bytes
    compressed: bytes | None
    media_type: str
    tag: str
    """The entity tag of the bytes as they are, without quotes."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes, media_type: str, headers: Mapping[str, str] | None = None) -> Self:
        """Make the page of an answer, with further headers."""
        compressed = gzip.compress(content, 6, mtime=0) if len(content) >= _LEAST_COMPRESSED else None
        if compressed is not None and len(compressed) >= len(content):
            compressed = None
        return cls(content, compressed, media_type, hashlib.sha256(content).hexdigest(), headers or {})

    def answer(self, request: Request) -> Response:
        """Answer with the bytes in the encoding that the caller takes, or with 304 where the caller has them."""
        packed = self.compressed if _takes_gzip(request.headers.get("accept-encoding", "")) else None
        etag = f'"{self.tag}"' if packed is None else f'"{self.tag}-gzip"'
        headers = {**self.headers, "ETag": etag}
        if self.compressed is not None:
            headers["Vary"] = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
        known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if known & {etag, "*"}:
            return Response(status_code=304, headers=headers)
        if packed is not None:
            headers["Content-Encoding"] = "gzip"
        return Response(self.content if packed is None else packed, headers=headers, media_type=self.media_type)


class Pages:
    """The pages of one application; each page is made once, in a thread, when it is first asked for.

    A page may depend on the request's host, which the caller chooses: no more than ``most`` pages are held.
    """

    def __init__(self, most: int = 16) -> None:
        """Begin with no pages."""
        self._most = most
        self._made: dict[str, StaticPage] = {}
        self._making = asyncio.Lock()

    async def get(self, key: str, make: Callable[[], StaticPage]) -> StaticPage:
        """Return the page of a key, which ``make`` makes where it is not held."""
        if key not in self._made:
            async with self._making:
                if key not in self._made:
                    page = await asyncio.to_thread(make)
                    if len(self._made) >= self._most:
                        del self._made[next(iter(self._made))]
                    self._made[key] = page
                    return page
        return self._made[key]


class LatelyMade:
    """A page that changes: it is made anew, in a thread, at most once in ``reuse_seconds`` for all callers."""

    def __init__(self, make: Callable[[], StaticPage], reuse_seconds: float) -> None:
        """Take the function that makes the page, and for how many seconds the page is reused."""
        self._make = make
        self._reuse_seconds = reuse_seconds
        self._made: tuple[float, StaticPage] | None = None
        self._making = asyncio.Lock()

    async def get(self) -> StaticPage:
        """Return a page that is at most ``reuse_seconds`` old; a request that comes while it is made waits for it."""
        async with self._making:
            now = asyncio.get_running_loop().time()
            if self._made is None or now - self._made[0] >= self._reuse_seconds:
                self._made = (now, await asyncio.to_thread(self._make))
            return self._made[1]


def _takes_gzip(accepted: str) -> bool:
    """Tell whether a caller takes gzip (RFC 9110, 12.5.3)."""
    codings: dict[str, bool] = {}
    for coding in accepted.lower().replace(" ", "").split(","):
        name, *parameters = coding.split(";")
        codings[name] = not any(re.fullmatch(r"q=0(?:\.0*)?", parameter) for parameter in parameters)
    return codings.get("gzip", codings.get("*", False))
