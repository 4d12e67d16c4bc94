"""An object store that fails when it is told to, around a real one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from app.ports.object_store import ObjectStore, StoredObject

Moment = Callable[[str, str], Awaitable[None]]
"""Is told of each call and of its key."""


async def _nothing(operation: str, key: str) -> None:
    del operation, key


@dataclass
class WatchedObjects:
    """Does what the inner store does; ``before`` and ``after`` see each call, and may raise."""

    inner: ObjectStore
    before: Moment = _nothing
    after: Moment = _nothing
    calls: list[str] = field(default_factory=list)

    @property
    def backend(self) -> str:
        return self.inner.backend

    async def put(self, key: str, data: bytes, media_type: str) -> None:
        await self._around("put", key, lambda: self.inner.put(key, data, media_type))

    async def get(self, key: str, *, most: int) -> bytes:
        self.calls.append("get")
        await self.before("get", key)
        data = await self.inner.get(key, most=most)
        await self.after("get", key)
        return data

    async def delete(self, key: str) -> None:
        await self._around("delete", key, lambda: self.inner.delete(key))

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[Sequence[StoredObject]]:
        self.calls.append("list")
        await self.before("list", prefix)
        async for page in self.inner.list(prefix, after):
            yield page

    async def ping(self) -> None:
        await self.inner.ping()

    async def _around(self, operation: str, key: str, effect: Callable[[], Awaitable[None]]) -> None:
        self.calls.append(operation)
        await self.before(operation, key)
        await effect()
        await self.after(operation, key)


async def keys(objects: ObjectStore, prefix: str = "t") -> list[str]:
    return [each.key async for page in objects.list(prefix) for each in page]


def at(operation: str, error: BaseException) -> Moment:
    """Raise an error at every call of an operation."""

    async def raises(name: str, key: str) -> None:
        del key
        if name == operation:
            raise error

    return raises
