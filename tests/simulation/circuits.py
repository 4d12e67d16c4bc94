"""The deadlines and the circuits that the adapters of a replica have, in virtual time."""

import asyncio
from collections import Counter
from typing import TypeVar

from app.adapters.breaker import Breaker
from app.domain.circuits import CircuitState
from app.domain.errors import UpstreamTimeout
from app.domain.query import RECALL_PART_SECONDS
from tests.simulation import clock
from tests.simulation.intercept import Effect, PortCall

T = TypeVar("T")

_CALL_SECONDS = 10.0
_DATABASE_SECONDS = 12.0


class Circuits:
    """Gives every call its deadline, and refuses calls while their circuit is open."""

    def __init__(self, counts: Counter[str]) -> None:
        self._breakers: dict[str, Breaker] = {}
        self._counts = counts

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        name, seconds = _kind(call)
        with self._of(name).call():
            try:
                async with asyncio.timeout(seconds):
                    return await effect()
            except TimeoutError as error:
                raise UpstreamTimeout("There was no answer in time.") from error

    def _of(self, name: str) -> Breaker:
        if name not in self._breakers:
            self._breakers[name] = Breaker(name, clock=clock.now, report=self._count)
        return self._breakers[name]

    def _count(self, name: str, state: CircuitState, *, opened: bool = False) -> None:
        self._counts[f"circuit {name} {state}"] += not (state == "open" and not opened)


def _kind(call: PortCall) -> tuple[str, float]:
    """Return the circuit of a call and its deadline in seconds, as the adapters of Cloudflare and OpenAI have them."""
    port, _, operation = call.name.partition(".")
    if port == "database":
        return "database", _DATABASE_SECONDS
    if port == "embedder":
        query = isinstance(call.about, tuple) and call.about[0] == "query"
        return ("embedder.query", RECALL_PART_SECONDS) if query else ("embedder.document", _CALL_SECONDS)
    if operation == "query":
        return "index.query", RECALL_PART_SECONDS
    return ("index.write" if operation in {"upsert", "delete"} else "index.read"), _CALL_SECONDS
