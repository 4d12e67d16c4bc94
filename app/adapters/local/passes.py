"""Forward passes of the model on a few threads, for which tenants take turns (ADR 0020)."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar

from app.domain.turns import TenantTurns

_Tokens = TypeVar("_Tokens", bound=Sized)
"""The tokens of a text, as many as its length says."""
_Computed = TypeVar("_Computed")
"""The result of a pass for the tokens of one text."""
Run = Callable[..., Awaitable[Any]]
"""Runs a function with its arguments on a thread."""

_PASS_TOKENS = 256
"""How many tokens a pass takes, unless one sequence has more: more would save little, and delay other requests."""
_SHORT_TOKENS = 128
"""Calls with at most this number of tokens share passes."""
_KEPT_FREE_SECONDS = 2.0
"""For how long after a tenant's call the long calls of others leave one thread free for its next call."""


@dataclass(slots=True, eq=False)
class _Call(Generic[_Tokens, _Computed]):
    tenant_id: str
    future: "asyncio.Future[list[_Computed]]"
    waiting: deque[Sequence[_Tokens]]
    """The sequences that are not computed yet, for each pass of the call."""
    computed: list[_Computed] = field(default_factory=list)
    long: bool = field(init=False)
    """Whether the call has more tokens than ``_SHORT_TOKENS``."""

    def __post_init__(self) -> None:
        self.long = len(self.waiting) > 1 or self.tokens > _SHORT_TOKENS

    @property
    def tokens(self) -> int:
        """Return how many tokens the call's next pass has."""
        return sum(map(len, self.waiting[0]))

    @property
    def gone(self) -> bool:
        return self.future.done()


class Passes(Generic[_Tokens, _Computed]):
    """Computes token sequences. Short calls share a pass; a long call waits for its turn before each of its passes."""

    def __init__(self, encode: Callable[[Sequence[_Tokens]], list[_Computed]], run: Run, threads: int) -> None:
        """Take the function that computes a pass, and the one that runs it on one of ``threads`` threads."""
        self._encode = encode
        self._run = run
        self._threads = threads
        self._long = self._short = 0
        """How many threads compute passes of long calls, and of short ones."""
        self._asked_at: dict[str, float] = {}
        """When each tenant with a recent call asked last."""
        self._waiting: TenantTurns[_Call[_Tokens, _Computed]] = TenantTurns()
        self._tasks: set[asyncio.Task[None]] = set()

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds a call of the tenant waits for a pass, as ``TenantTurns.lag`` says."""
        return self._waiting.lag(tenant_id)

    async def encode(self, tenant_id: str, sequences: Sequence[_Tokens]) -> list[_Computed]:
        """Return the result for each sequence, once the tenant has had its turns."""
        if not sequences:
            return []
        loop = asyncio.get_running_loop()
        call = _Call[_Tokens, _Computed](tenant_id, loop.create_future(), deque(_parts(sequences)))
        self._waiting.put(tenant_id, call, held=call.long)
        self._asked_at[tenant_id] = loop.time()
        self._dispatch()
        return await call.future

    def _dispatch(self) -> None:
        """Give the free threads to the calls whose turn it is."""
        lately = asyncio.get_running_loop().time() - _KEPT_FREE_SECONDS
        self._asked_at = {tenant_id: at for tenant_id, at in self._asked_at.items() if at > lately}
        while self._long + self._short < self._threads and (taken := self._waiting.take(self._may_begin)):
            call = taken[1]
            if call.gone:
                continue
            self._count(call, 1)
            task = asyncio.create_task(self._turn(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _may_begin(self, call: _Call[_Tokens, _Computed]) -> bool:
        """Tell whether a call may have a free thread.

        While a pass of short calls is under way the next ones gather, and share the pass after it: two passes at once
        would read the weights twice. The last thread is kept from long calls where another tenant has asked lately.
        """
        if not call.long:
            return not self._short
        others = len(self._asked_at) > (call.tenant_id in self._asked_at)
        return not (others and 0 < self._threads - 1 <= self._long)

    def _count(self, call: _Call[_Tokens, _Computed], more: int) -> None:
        if call.long:
            self._long += more
        else:
            self._short += more

    async def _turn(self, call: _Call[_Tokens, _Computed]) -> None:
        """Compute a call's next part, and the short calls that may share its pass."""
        calls = [call, *self._company(call)]
        parts = [each.waiting[0] for each in calls]
        try:
            computed = await self._run(self._encode, [tokens for part in parts for tokens in part])
        except Exception as error:  # noqa: BLE001 - every caller gets it
            for each in calls:
                if not each.gone:
                    each.future.set_exception(error)
        else:
            remaining = iter(computed)
            for each, part in zip(calls, parts, strict=True):
                self._continue(each, list(islice(remaining, len(part))))
        finally:
            self._count(call, -1)
            self._dispatch()

    def _company(self, call: _Call[_Tokens, _Computed]) -> Iterator[_Call[_Tokens, _Computed]]:
        """Take the calls that may share a call's pass."""
        tokens = call.tokens

        def fits(other: _Call[_Tokens, _Computed]) -> bool:
            return not other.long and tokens + other.tokens <= _PASS_TOKENS

        while taken := self._waiting.take(fits):
            if not taken[1].gone:
                tokens += taken[1].tokens
                yield taken[1]

    def _continue(self, call: _Call[_Tokens, _Computed], computed: Sequence[_Computed]) -> None:
        """Keep the results of a call's part. Answer the call after its last part, else queue it for the next."""
        call.computed += computed
        call.waiting.popleft()
        if call.waiting:
            self._waiting.put(call.tenant_id, call, held=call.long)
        elif not call.gone:
            call.future.set_result(call.computed)


def _parts(sequences: Sequence[_Tokens]) -> Iterator[Sequence[_Tokens]]:
    """Group sequences, in their order, into the parts that one pass takes each."""
    part: list[_Tokens] = []
    for tokens in sequences:
        if part and sum(map(len, part)) + len(tokens) > _PASS_TOKENS:
            yield part
            part = []
        part.append(tokens)
    yield part
