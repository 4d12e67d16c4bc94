"""A process that dies at one call of its database or its object store, before the call or after it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.gateways import Bench
from tests.support.objects import WatchedObjects

WRITES = {"put", "delete", "get"}


class Killed(BaseException):
    """The process is gone."""


async def killed_at(bench: Bench, number: int, work: Callable[[], Awaitable[Any]], *, done: bool) -> bool:
    """Do the work, which dies at its call of this number; return whether it came to so many.

    With ``done`` it dies once the call was carried out, of which it learns nothing.
    """
    left = number

    def dies(*, after: bool) -> None:
        nonlocal left
        left -= not after
        if left == 0 and after == done:
            left -= after  # what cleans up behind a dead process is another one
            raise Killed

    kind = type(bench.database)
    run = kind.run

    async def run_or_die(database: Any, statements: Any) -> Any:
        dies(after=False)
        rows = await run(database, statements)
        dies(after=True)
        return rows

    async def before(operation: str, _: str) -> None:
        if operation in WRITES:
            dies(after=False)

    async def after(operation: str, _: str) -> None:
        if operation in WRITES:
            dies(after=True)

    watched: WatchedObjects = bench.backends.objects
    bench.backends = replace(bench.backends, objects=WatchedObjects(watched.inner, before, after))
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(kind, "run", run_or_die)
            await work()
    except Killed:
        return True
    finally:
        bench.backends = replace(bench.backends, objects=watched)
    return False
