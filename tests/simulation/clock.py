"""Virtual time: an event loop that never waits. Where it would, the clock jumps to the next timer."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH_MS = 1_790_000_000_000
"""Where every simulation begins, in milliseconds since the Unix epoch."""


class DeadlockError(RuntimeError):
    """Nothing is ready and nothing is scheduled: whoever still waits would wait for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Watches no file: its wait is the passing of virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("Every task waits and no timer is set.")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose ``time()`` is virtual seconds since ``EPOCH_MS``; what is to run in a thread runs at once."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # noqa: ARG002
        """Run it here: a thread would take real time."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - who waits is told
            future.set_exception(error)
        return future

    def time(self) -> float:
        return self._virtual.now


def now() -> float:
    """Virtual seconds since the simulation began."""
    return asyncio.get_running_loop().time()


def now_ms() -> int:
    """The virtual moment in milliseconds since the Unix epoch."""
    return EPOCH_MS + int(now() * 1000)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
