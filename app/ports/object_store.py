"""The place of large and binary values: bytes under keys, each written once and never changed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.errors import Unavailable


class ObjectMissing(Exception):
    """There is no object under the key."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a listing; ``size`` is in bytes."""

    key: str
    size: int


class ObjectStore(Protocol):
    """Keeps objects. It knows no tenants: ``app.services.tenant.objects`` makes the keys of a request.

    A key has segments with slashes between them, at most 1,024 bytes, none of them empty, ``.`` or ``..``.
    """

    @property
    def backend(self) -> str:
        """A short name for operators, such as ``folder``."""
        ...

    async def put(self, key: str, data: bytes, media_type: str) -> None:
        """Write an object as a whole, in place of an earlier object of the key.

        The object is durable when this returns. Without an answer it is there as a whole, or not at all.

        Raises:
            Unavailable: the store cannot be written; the object may be there, if the error is ``UpstreamTimeout`` or
                ``UpstreamUnavailable``, and may appear within ``PUT_SECONDS``.
        """
        ...

    async def get(self, key: str, *, most: int) -> bytes:
        """Return the bytes of an object.

        Raises:
            ObjectMissing: there is no object under the key.
            UpstreamRejected: the object has more than ``most`` bytes, which were not read.
            Unavailable: the store cannot be read; never fewer bytes instead.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove an object, and the remains of an unfinished ``put``; an absent object is no error.

        Raises:
            Unavailable: the store cannot be written; the object may be gone.
        """
        ...

    def list(self, prefix: str, after: str = "") -> AsyncIterator[Sequence[StoredObject]]:
        """Yield the objects whose keys begin with the segments of ``prefix``, page by page.

        They come in the order of their keys' bytes, from behind the key ``after``; ``prefix`` ends with no slash.

        Raises:
            Unavailable: the store cannot be read; never an end instead.
        """
        ...

    async def ping(self) -> None:
        """Return if the store answers; raise as ``get`` does if not."""
        ...


PUT_SECONDS = 60.0
"""How long a ``put`` may take: after this time no ``put`` is on its way any more."""


_AT_ONCE = 16
"""Objects that are removed at the same time."""


async def delete_all(objects: ObjectStore, prefix: str, *, first: str) -> None:
    """Remove every object below a prefix, ``first`` before the others; raises as ``delete`` does, and some may be gone.

    ``first`` is the object that makes one thing of the others: without it they are of no use.
    """
    await objects.delete(first)
    keys = [stored.key async for page in objects.list(prefix) for stored in page]
    for start in range(0, len(keys), _AT_ONCE):
        await asyncio.gather(*(objects.delete(key) for key in keys[start : start + _AT_ONCE]))


class NoObjectStore:
    """The object store of a service that is set to none: every call raises ``Unavailable``."""

    backend = "none"

    async def put(self, key: str, data: bytes, media_type: str) -> None:
        """Refuse."""
        del key, data, media_type
        raise _not_set()

    async def get(self, key: str, *, most: int) -> bytes:
        """Refuse."""
        del key, most
        raise _not_set()

    async def delete(self, key: str) -> None:
        """Refuse."""
        del key
        raise _not_set()

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[Sequence[StoredObject]]:
        """Refuse."""
        del prefix, after
        raise _not_set()
        yield ()

    async def ping(self) -> None:
        """Refuse."""
        raise _not_set()


def _not_set() -> Unavailable:
    error = Unavailable(
        "This service keeps no blobs: R2_BUCKET, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY are not set."
    )
    error.retry_after = None
    return error
