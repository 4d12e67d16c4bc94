"""Forward passes of the model on a few threads, for which tenants take turns (ADR 0020)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from app.domain.embedding import Vector
from app.domain.turns import Turns

Sequences = Sequence[Sequence[int]]
Run = Callable[..., Awaitable[Any]]
"""Runs a function with its arguments on a thread."""

_SHORT_TOKENS = 64
"""A pass of so many tokens is short: it is not interrupted, and calls of several tenants share it."""
_TOGETHER_TOKENS = 256
"""Up to how many tokens calls of one tenant share a pass: the weights are read once for all of them."""
_KEPT_FREE_SECONDS = 2.0
"""For how long after a call of another tenant longer passes leave one thread free for its next."""


class ForwardPass(Protocol):
    """A forward pass that may be interrupted between its layers."""

    def advance(self, stop: Callable[[], bool]) -> list[Vector] | None:
        """Compute layers, at least one, until ``stop`` says so; return the vectors once all are computed."""
        ...


@dataclass(slots=True, eq=False)
class _Call:
    tenant_id: str
    sequences: Sequences
    future: "asyncio.Future[list[Vector]]"
    tokens: int
    begun: "_Begun | None" = None

    @property
    def long(self) -> bool:
        return self.tokens > _SHORT_TOKENS

    @property
    def gone(self) -> bool:
        return self.future.done()


@dataclass(slots=True, eq=False)
class _Begun:
    """A pass that was begun, and whose calls it computes."""

    forward: ForwardPass
    calls: list[_Call] = field(default_factory=list)

    @property
    def long(self) -> bool:
        return sum(call.tokens for call in self.calls) > _SHORT_TOKENS


class Passes:
    """Computes token sequences. A pass makes room for other tenants between its layers; short calls share one."""

    def __init__(self, begin: Callable[[Sequences], ForwardPass], run: Run, threads: int) -> None:
        """Take what begins a pass, and what runs its layers on one of so many threads."""
        self._begin = begin
        self._run = run
        self._threads = self._free = threads
        self._long = self._short = 0
        """How many threads compute passes of long calls, and of short ones."""
        self._asked_at: dict[str, float] = {}
        """When a tenant asked last, of those that did so lately."""
        self._waiting: Turns[_Call] = Turns()
        self._tasks: set[asyncio.Task[None]] = set()

    async def encode(self, tenant_id: str, sequences: Sequences) -> list[Vector]:
        """Return the sequences' vectors, once the tenant has had its turns."""
        future: asyncio.Future[list[Vector]] = asyncio.get_running_loop().create_future()
        self._waiting.put(tenant_id, _Call(tenant_id, sequences, future, sum(map(len, sequences))))
        self._asked_at[tenant_id] = asyncio.get_running_loop().time()
        self._dispatch()
        return await future

    def _dispatch(self) -> None:
        """Give the free threads to those whose turn it is."""
        lately = asyncio.get_running_loop().time() - _KEPT_FREE_SECONDS
        self._asked_at = {tenant_id: at for tenant_id, at in self._asked_at.items() if at > lately}
        while self._free and (taken := self._waiting.take(self._may_begin)):
            tenant_id, call = taken
            if call.gone and (call.begun is None or all(each.gone for each in call.begun.calls)):
                continue
            self._free -= 1
            self._count(call, 1)
            task = asyncio.create_task(self._turn(tenant_id, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _may_begin(self, call: _Call) -> bool:
        """Tell whether a call may have a free thread.

        While a pass of short calls is under way the next ones gather, and share the pass after it: two passes at once
        would read the weights twice, and take nearly twice the processor time. The last thread is kept from long calls
        where another tenant has asked lately.
        """
        if not call.long:
            return not self._short
        others = len(self._asked_at) > (call.tenant_id in self._asked_at)
        return not (others and 0 < self._threads - 1 <= self._long)

    def _count(self, call: _Call, more: int) -> None:
        if call.long:
            self._long += more
        else:
            self._short += more

    async def _turn(self, tenant_id: str, call: _Call) -> None:
        begun = call.begun or self._with_company(call)
        long = begun.long

        def stop() -> bool:
            return long and self._waiting.others(tenant_id)

        try:
            vectors = await self._run(begun.forward.advance, stop)
        except Exception as error:  # noqa: BLE001 - goes to everyone who asked
            for each in begun.calls:
                if not each.gone:
                    each.future.set_exception(error)
        else:
            if vectors is None:
                call.begun = begun
                self._waiting.put_back(tenant_id, call)
            else:
                _resolve(begun.calls, vectors)
        finally:
            self._free += 1
            self._count(call, -1)
            self._dispatch()

    def _with_company(self, call: _Call) -> _Begun:
        """Begin a pass for a call, and for others that may share it."""
        calls, tokens = [call], call.tokens

        def fits(other: _Call) -> bool:
            most = _TOGETHER_TOKENS if other.tenant_id == call.tenant_id else _SHORT_TOKENS
            return other.begun is None and tokens + other.tokens <= most

        while taken := self._waiting.take(fits):
            if not taken[1].gone:
                calls.append(taken[1])
                tokens += taken[1].tokens
        return _Begun(self._begin([tokens for each in calls for tokens in each.sequences]), calls)


def _resolve(calls: Sequence[_Call], vectors: Sequence[Vector]) -> None:
    remaining = iter(vectors)
    for call in calls:
        own = list(islice(remaining, len(call.sequences)))
        if not call.gone:
            call.future.set_result(own)
