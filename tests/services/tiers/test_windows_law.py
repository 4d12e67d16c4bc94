"""The law of windows on databases that know no virtual time: no message is lost, whatever breaks.

``test_working_law.py`` has it among more faults, in a simulation.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.errors import MemoryGatewayError, UpstreamTimeout
from app.domain.messages import NewMessage
from app.ports.database import Row, Statement
from app.runtime.ingestions import resume_once
from app.runtime.windows import settle_once
from app.services.tenant.background import Background
from app.services.tiers.windows import WindowService
from tests.simulation.killer import KilledError
from tests.support.backends import BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import ON_THE_DOUBLE, examples
from tests.support.memories import contents
from tests.support.tables import column_of, rows_of

_TRIES = 50
_ROUNDS = 12
_TTL = 600
"""Seconds without an append after which the window is idle."""
_ALL = 99
"""Statements of a run, and more: the answer alone is lost."""


@dataclass(frozen=True)
class Broken:
    """What is done to a window by two processes, and how runs of the first one break.

    Attributes:
        steps: How many messages are appended, and by which process; or what else is done.
        faults: For the next runs that write, how many statements of it are executed; None: all is well.
        killed_at: The run of the first process that is its last.
    """

    steps: Sequence[tuple[str, int]]
    faults: Sequence[int | None]
    killed_at: int | None


STEPS = st.one_of(
    st.tuples(st.sampled_from(["first", "first", "second"]), st.integers(2, 5)),
    st.tuples(st.just("wait"), st.sampled_from([1, 70, 700])),
    st.tuples(st.just("round"), st.just(0)),
)
FAULTS = st.sampled_from([None, None, None, 0, 1, 2, _ALL])
BROKEN = st.builds(
    Broken,
    st.lists(STEPS, min_size=4, max_size=12),
    st.lists(FAULTS, min_size=10, max_size=40),
    st.sampled_from([None, None, 3, 8, 15, 20, 30]),
)


class Breaking:
    """The database of a process whose runs break as they are told to, and which ends with one of them."""

    def __init__(self, inner: Any, broken: Broken) -> None:
        self.inner = inner
        self.killed_at, self.runs = broken.killed_at, 0
        self.faults: Iterator[int | None] = iter(broken.faults)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.runs += 1
        is_last = self.killed_at is not None and self.runs >= self.killed_at
        if self.killed_at is not None and self.runs > self.killed_at:
            raise KilledError
        executed = next(self.faults, None) if any(each.writes for each in statements) else None
        if executed is None and not is_last:
            rows: list[list[Row]] = await self.inner.run(statements)
            return rows
        if done := statements[: executed or 0]:
            await self.inner.run(done)
        raise KilledError if is_last else UpstreamTimeout("The connection broke.")


class World:
    """Two processes over one database, and what was appended."""

    def __init__(self, bench: Bench, broken: Broken) -> None:
        self.bench = bench
        breaking = Breaking(bench.backends.database, broken)
        self.first = replace(bench.backends, database=breaking, background=Background())
        self.second = replace(bench.backends, background=Background())
        self.appended: set[str] = set()
        self.number = 0
        self.waited = 0

    async def do(self, step: str, value: int) -> None:
        if step == "wait":
            self.wait(value)
        elif step == "round":
            with suppress(MemoryGatewayError):
                await settle_once(self.first)
        else:
            for _ in range(value):
                self.number += 1
                await self.append(self.first if step == "first" else self.second, f"turn {self.number:03}".ljust(20))
                await self.check()
        await self.check()

    async def append(self, backends: Any, content: str) -> None:
        """Append a message, as often as it takes until it is taken."""
        windows = WindowService(backends.of_tenant("acme", ADMINISTRATOR))
        for _ in range(_TRIES):
            try:
                await windows.append("bot", "i", [NewMessage("user", content)], ttl_seconds=_TTL)
            except MemoryGatewayError:
                continue
            self.appended.add(content)
            return
        raise AssertionError("It was never taken.")

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.waited += seconds
        self.bench.later(seconds)

    async def check(self) -> tuple[list[str], list[str]]:
        """Read the window before the memories: a turn that moves meanwhile is in one of them."""
        window = await column_of(self.bench, "working_turn", "content", by="place")
        memories = await contents(self.bench)
        assert self.appended <= {*window, *memories}
        assert len({*window}) == len(window)
        assert len({*memories}) == len(memories)
        if self.waited < _TTL:  # a window that nobody uses is moved without a summary
            turns = "(SELECT count(*) FROM working_turn) AS turns"  # all at one moment: the processes go on meanwhile
            summed = "(SELECT coalesce(sum(turns), 0) FROM working_summary) AS summed"
            rows = await rows_of(self.bench, "working_window", "fallen", turns, summed)
            assert all(row["fallen"] == row["summed"] for row in rows)
            assert sum(int(row["turns"] or 0) + int(row["summed"] or 0) for row in rows) >= len(self.appended)
        # A summary is written with the fall of its turns, and no turn stands in two.
        told = [line.removeprefix("user: ") for line in await self._told()]
        assert len({*told}) == len(told)
        assert {*told} <= {content.strip() for content in await contents(self.bench)}
        return window, memories

    async def come_to_rest(self) -> None:
        """End both processes, and let another one do what is left, as long as it takes."""
        await self.close()
        for _ in range(_ROUNDS):
            self.wait(700)
            await resume_once(self.bench.backends)
            await settle_once(self.bench.backends)
            window, memories = await self.check()
            if not window and self.appended <= {*memories}:
                break
        await self.bench.backends.background.close()
        assert window == []
        assert self.appended <= {*memories}

    async def close(self) -> None:
        for each in (self.first, self.second):
            with suppress(KilledError):
                await each.background.close()

    async def _told(self) -> list[str]:
        rows = await column_of(self.bench, "working_summary", "sentences")
        return [told["text"] for row in rows for told in json.loads(row)]


def nothing_is_lost(broken: Broken, directory: Path, on: BackendName) -> None:
    async def live() -> None:
        with running_on(on) as backend:
            async with bench_on(directory, backend) as bench:
                world = World(bench, broken)
                with suppress(KilledError):
                    for step, value in broken.steps:
                        await world.do(step, value)
                await world.come_to_rest()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_BYTES", 60)
        asyncio.run(live())


@settings(deadline=None, max_examples=examples(160))
@given(broken=BROKEN)
def test_a_message_is_in_the_window_or_in_long_term_memory_whatever_breaks(
    broken: Broken, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nothing_is_lost(broken, tmp_path_factory.mktemp("law"), "embedded")


@pytest.mark.cloudflare
@settings(deadline=None, max_examples=ON_THE_DOUBLE)
@given(broken=BROKEN)
def test_a_message_is_in_the_window_or_in_long_term_memory_whatever_breaks_on_the_double(
    broken: Broken, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nothing_is_lost(broken, tmp_path_factory.mktemp("law"), "cloudflare")
