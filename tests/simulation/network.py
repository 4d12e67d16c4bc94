"""The way between a replica and its ports: slow, and at times broken, as a seed has it."""

import asyncio
import random
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from app.domain.errors import (
    DatabaseUnavailable,
    EmbeddingUnavailable,
    RateLimited,
    Unavailable,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.trace import Trace

T = TypeVar("T")
Fate: TypeAlias = Literal["done", "refused", "cut", "late", "again"]
"""What becomes of a call: effect and answer; neither; the effect alone, at once or once the caller has gone; all twice.

The last is what an adapter does that does not know how its call ended, where that is allowed.
"""

_QUICK = (0.005, 0.080)
_SLOW = (1.0, 8.0)
_WITHIN_DEADLINES = (0.3, 0.9)
"""Both ways together, for the calls that a recall waits for least."""
_LATE = (0.0, 9.0)
_AGAIN = (0.1, 5.0)
_DONE_ALL_THE_SAME = 0.3


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a call fails; of the upserts that do, a few land late. How often one is slow."""

    upsert: float = 0.20
    other: float = 0.02
    late: float = 0.20
    slow: float = 0.02
    slow_seconds: tuple[float, float] = _SLOW


SOUND = Rates(0, 0, 0, slow_seconds=_WITHIN_DEADLINES)
QUICK = Rates(0, 0, 0, 0)


class Network:
    """Every call takes its time before and after its effect, and may fail before or after it."""

    def __init__(self, seeded: random.Random, trace: Trace) -> None:
        self.rates = SOUND
        self.down: set[str] = set()
        """Ports that refuse every call, such as ``index``, or single calls, such as ``index.upsert``."""
        self.stalled: set[str] = set()
        """Calls whose effect comes after the caller has gone."""
        self.hanging: set[str] = set()
        """Ports whose calls get no answer, or single calls of them; some of them were done all the same."""
        self._random = seeded
        self._trace = trace
        self._late: set[asyncio.Task[None]] = set()

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        self._trace.note("->", call.name, call.about)
        if _names(call) & self.hanging:
            await self._hang(call, effect)
        await self._takes_time()
        fate = self._fate(call)
        if fate in {"refused", "late"}:
            if fate == "late":
                self._land_later(effect)
            await self._takes_time()
            error = UpstreamTimeout("Nobody answered.") if fate == "late" else self._refusal(call)
            self._trace.note("<-", call.name, call.about, fate, error.code)
            raise error
        answer = await effect()
        self._trace.note("!!", call.name, call.about)
        await self._takes_time()
        if fate == "again":
            await asyncio.sleep(self._random.uniform(*_AGAIN))
            answer = await effect()
            self._trace.note("!!", call.name, call.about, fate)
        if fate == "cut":
            self._trace.note("<-", call.name, call.about, fate)
            raise UpstreamTimeout("The answer got lost.")
        self._trace.note("<-", call.name, call.about, _short(answer))
        return answer

    async def _hang(self, call: PortCall, effect: Effect[Any]) -> None:
        """Never return; whoever waits has a deadline."""
        if self._random.random() < _DONE_ALL_THE_SAME:
            await effect()
        self._trace.note("hangs", call.name, call.about)
        await asyncio.get_running_loop().create_future()

    async def settled(self) -> None:
        """Return once nothing is on its way any more."""
        await asyncio.gather(*self._late)

    async def _takes_time(self) -> None:
        slow = self._random.random() < self.rates.slow
        await asyncio.sleep(self._random.uniform(*(self.rates.slow_seconds if slow else _QUICK)))

    def _fate(self, call: PortCall) -> Fate:
        if _names(call) & self.down:
            return "refused"
        if call.name in self.stalled:
            return "late"
        upsert = call.name == "index.upsert"
        if self._random.random() >= (self.rates.upsert if upsert else self.rates.other):
            return "done"
        if upsert and self._random.random() < self.rates.late:
            return "late"
        return self._random.choice(("refused", "cut", "again") if call.repeatable else ("refused", "cut"))

    def _refusal(self, call: PortCall) -> Unavailable:
        errors: Mapping[str, Unavailable] = {
            "database": DatabaseUnavailable("The database is away."),
            "embedder": EmbeddingUnavailable("The model is away."),
            "index": RateLimited("Too many calls.", retry_after=1),
        }
        of_port = errors[call.name.partition(".")[0]]
        return self._random.choice((of_port, UpstreamTimeout("Nobody answered."), UpstreamUnavailable("It is away.")))

    def _land_later(self, effect: Effect[Any]) -> None:
        async def land(effect: Effect[Awaitable[Any]]) -> None:
            await asyncio.sleep(self._random.uniform(*_LATE))
            await effect()
            self._trace.note("late effect")

        task = asyncio.create_task(land(effect))
        self._late.add(task)
        task.add_done_callback(self._late.discard)


def _short(answer: object) -> object:
    """What of an answer goes into the trace."""
    if isinstance(answer, int):
        return answer
    hits = getattr(answer, "hits", None)
    if hits is not None:
        return [hit.id for hit in hits[:5]]
    return len(answer) if isinstance(answer, list | dict) else None


def _names(call: PortCall) -> set[str]:
    """Return the call's name and its port's."""
    return {call.name, call.name.partition(".")[0]}
