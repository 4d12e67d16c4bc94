"""Ends a process at a chosen port call."""

from typing import TypeVar

from tests.simulation.intercept import Effect, PortCall

T = TypeVar("T")


class KilledError(BaseException):
    """The process is gone: nothing of it may go on, and nothing may catch this."""


class Killer:
    """Counts the calls of a replica and kills it before, or after the effect of, the n-th; 0: never."""

    def __init__(self, number: int = 0, *, after: bool = False) -> None:
        self.calls: list[str] = []
        self.fired = False
        self._number = number
        self._after = after

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        self._check_alive()
        self.calls.append(call.name)
        mine = len(self.calls) == self._number
        if mine and not self._after:
            self._kill()
        answer = await effect()
        if mine:
            self._kill()
        self._check_alive()
        return answer

    def _check_alive(self) -> None:
        """A dead process makes no calls, not even those of its ``finally`` clauses."""
        if self.fired:
            raise KilledError

    def _kill(self) -> None:
        self.fired = True
        raise KilledError
