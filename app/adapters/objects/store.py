"""The common part of both object stores: the calls of obstore, each with a deadline, a measure and mapped failures.

obstore is loaded with the first call: a command that needs no blobs does not wait for it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import cached_property
from importlib import import_module
from typing import Any

from app.adapters.breaker import Breaker
from app.domain.errors import MemoryGatewayError, UpstreamRejected
from app.observability.metrics import Metrics
from app.ports.object_store import PUT_SECONDS, ObjectMissing, StoredObject

GET_SECONDS = 60.0
_SECONDS = 5.0
"""The deadline until an answer begins."""
_LIST_SECONDS = 20.0
"""The deadline of a page of a listing, which is long."""
_BYTES_PER_SECOND = 500_000
"""The slowest line on which an object is written and read."""
PAGE = 1_000

Failure = Callable[[Exception, str], MemoryGatewayError | ObjectMissing]


class ObstoreObjects:
    """An object store by obstore. A failed call raises, and is not made again."""

    backend = ""

    def __init__(
        self, metrics: Metrics, failure: Failure, *, patience: float = 1.0, breaker: Breaker | None = None
    ) -> None:
        """Take the metrics, the mapping of failures, a factor of all deadlines, and the store's circuit."""
        self._breaker = breaker
        self._metrics = metrics
        self._failure = failure
        self._patience = patience

    @cached_property
    def _library(self) -> Any:  # noqa: ANN401 - a module has no better type
        return import_module("obstore")

    @cached_property
    def _store(self) -> Any:  # noqa: ANN401 - each subclass has its own
        return self._open()

    def _open(self) -> Any:  # noqa: ANN401 - each subclass has its own
        raise NotImplementedError

    async def put(self, key: str, data: bytes, media_type: str) -> None:
        """Write an object with one call."""
        async with self._call("put", min(_seconds(len(data)), PUT_SECONDS)):
            await self._put(key, data, media_type)

    async def _put(self, key: str, data: bytes, media_type: str) -> None:
        raise NotImplementedError

    async def get(self, key: str, *, most: int) -> bytes:
        """Read an object, once it is known not to be too large."""
        async with self._call("get", _SECONDS) as deadline:
            found = await self._library.get_async(self._store, key)
            size = found.meta["size"]
            if size > most:
                raise UpstreamRejected(f"The object has {size} bytes, and at most {most} were written.")
            seconds = min(_seconds(size), GET_SECONDS) * self._patience
            deadline.reschedule(asyncio.get_running_loop().time() + seconds)
            data = bytes(await found.bytes_async())
            if len(data) != size:
                raise UpstreamRejected("The object store has broken off its answer.")
            return data

    async def delete(self, key: str) -> None:
        """Remove an object with one call."""
        try:
            async with self._call("delete", _SECONDS):
                await self._delete(key)
        except ObjectMissing:
            return

    async def _delete(self, key: str) -> None:
        await self._library.delete_async(self._store, key)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[Sequence[StoredObject]]:
        """List page by page."""
        offset = after or None
        stream = aiter(self._library.list(self._store, prefix, offset=offset, chunk_size=PAGE))
        while True:
            async with self._call("list", _LIST_SECONDS):
                page = await anext(stream, None)
            if page is None:
                return
            yield [StoredObject(stored["path"], stored["size"]) for stored in page]

    async def ping(self) -> None:
        """Read the first page of the objects of a tenant that does not exist."""
        async with self._call("ping", _SECONDS):
            await anext(aiter(self._library.list(self._store, "ping", chunk_size=1)), None)

    async def close(self) -> None:
        """Leave the connections to the library, which closes those that are idle."""

    @asynccontextmanager
    async def _call(self, operation: str, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        if self._breaker is not None:
            self._breaker.check()
        circuit = nullcontext() if self._breaker is None else self._breaker.call()
        with self._metrics.upstream.measured(f"objects.{operation}", fine=ObjectMissing), circuit:
            try:
                async with asyncio.timeout(seconds * self._patience) as deadline:
                    yield deadline
            except (MemoryGatewayError, ObjectMissing):
                raise
            except Exception as error:
                raise self._failure(error, operation) from error


def _seconds(size: int) -> float:
    """Return for how many seconds a transfer of ``size`` bytes may last."""
    return _SECONDS + size / _BYTES_PER_SECOND
