"""What the service answers in time under rising load: ``python -m bench.load``, and a part of ``make bench``.

Requests arrive open loop (``bench.open_loop``), a rate after the other, until a deployment no longer keeps up. A table
and a plot of it go to ``bench/results/load.md`` and ``load.svg``.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from bench.client import drive
from bench.data import Requests, tenants
from bench.edge import Behind, behind_edge, not_measured
from bench.line_plot import COLOURS, Line, plot
from bench.open_loop import NO_ANSWER, Answer, offer
from bench.prefill import prefill
from bench.report import RESULTS, aligned, circumstances, listed
from bench.server import embedded, service
from bench.upstream import account, calls_of, forget_calls, set_clock, slow_down
from tests.conformance.toolchain import missing

_TENANTS = 8
_MEMORIES = 10_000
_STORED = 3_200
"""In the account: 400 of each tenant."""
_ASKED, _CLIENTS = 160, 64
_SECONDS_A_RATE = 2.5
_RATES = tuple(2.0**power for power in range(4, 11))
_IN_TIME = 0.95
_LATE_SECONDS = 1.0
_SEED = 7
_CALLS_OF_A_WINDOW, _WINDOW_SECONDS = 1_100, 300
_SUCCESS = 2
_EDGE = "behind the edge"
_HEAD = ("offered/s", "answered/s", "p50 ms", "p95 ms", "p99 ms", "refused", "lost", "calls/op", "within the limit/s")
_NOTES = f"""\
Requests arrive whether or not others were answered, {_SECONDS_A_RATE:g} s at each rate, which doubles until fewer than
{_IN_TIME:.0%} of the requests succeed or p99 is over {_LATE_SECONDS:g} s. A time runs from the moment the request was
due. Refused: answered, but not with a 2xx. Lost: no answer within 10 s. The load client runs on the same processors.
On Cloudflare's double an embedding takes 100 ms and every other call 40 ms, and its limit of calls is off here.
Embedded as many processes answer as `WORKERS=auto` starts, else one. Embedded there are {_MEMORIES:,} memories, in the
account {_STORED:,}, of {_TENANTS} tenants with an agent each. Those over REST were just stored, and the index may not
show all of them yet; behind the edge it does.
Calls/op are its calls an operation, those of the indexer included and embeddings not; "within the limit" is how many
operations a second {_CALLS_OF_A_WINDOW:,} calls in {_WINDOW_SECONDS} seconds allow at so many calls each.
Behind the edge, D1 is Cloudflare's own on this machine and takes what it takes, and the Worker runs on workerd; an
embedding takes 100 ms and a query of the index 40 ms, by the double, which runs in the process of the load client. Its
calls/op are calls of the Worker, which no limit concerns.
"""

_Calls = Callable[[], float]
_Deployed = Callable[[], AbstractAsyncContextManager["Target"]]


@dataclass(frozen=True, slots=True)
class Target:
    """A running deployment: its port, and what counts the calls it makes, where these are counted."""

    port: int
    calls: _Calls | None = None
    forget: Callable[[], None] = field(default=lambda: None)
    limited: bool = False
    """Whether the limit of the REST API concerns its calls."""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of the requests at one rate."""

    rate: float
    answers: Sequence[Answer]
    calls: float | None
    limited: bool = False

    @property
    def answered(self) -> list[float]:
        """The seconds of those that succeeded."""
        return [each.seconds for each in self.answers if each.status // 100 == _SUCCESS]

    @property
    def lost(self) -> float:
        """The share that nothing was heard of."""
        return sum(each.status == NO_ANSWER for each in self.answers) / len(self.answers)

    @property
    def kept_up(self) -> bool:
        """Whether nearly all succeeded in time."""
        return len(self.answered) >= _IN_TIME * len(self.answers) and self.milliseconds(99) <= _LATE_SECONDS * 1000

    def milliseconds(self, percent: int) -> float:
        """Return a percentile of the times of those that succeeded; of all where hardly any did."""
        seconds = self.answered if len(self.answered) > 1 else [each.seconds for each in self.answers]
        return quantiles(seconds, n=100, method="inclusive")[percent - 1] * 1000

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        succeeded, lost = len(self.answered) / len(self.answers), self.lost
        refused = 1 - succeeded - lost
        calls = f"{self.calls:.2f}" if self.calls else ""
        allowed = f"{_CALLS_OF_A_WINDOW / _WINDOW_SECONDS / self.calls:.1f}" if self.calls and self.limited else ""
        times = (f"{self.milliseconds(percent):.0f}" for percent in (50, 95, 99))
        answered = f"{self.rate * succeeded:.1f}"
        return (f"{self.rate:g}", answered, *times, f"{refused:.1%}", f"{lost:.1%}", calls, allowed)


@dataclass(frozen=True, slots=True)
class Result:
    """What one deployment did under one kind of request."""

    name: str
    steps: Sequence[Step]


def _deployments() -> list[tuple[str, _Deployed]]:
    """Return what is measured, by its name; the edge only where the packages of the conformance tests are."""
    every: list[tuple[str, _Deployed]] = [("embedded, hashing", _embedded), ("Cloudflare over REST", _over_rest)]
    return every if missing() else [*every, (_EDGE, _behind_edge)]


async def loads() -> list[Result]:
    """Measure every deployment, recalls first, then stores: they change the data."""
    results = []
    for name, deployed in _deployments():
        async with deployed() as target:
            requests = Requests(tenants(_TENANTS), seed=_SEED)
            for kind, make in (("recall", requests.recalls), ("store", requests.stores)):
                results.append(Result(f"{kind}, {name}", [step async for step in _rising(target, make)]))
    return results


def write(results: Sequence[Result], told: Mapping[str, object]) -> None:
    """Write ``load.md`` and ``load.svg``; ``told`` are the circumstances before."""
    parts = [f"## {result.name}\n\n{aligned([_HEAD, *(step.row() for step in result.steps)])}" for result in results]
    if missing():
        parts.append(not_measured())
    body = "\n\n".join(parts)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "load.md").write_text(f"# Load\n\n![latency](load.svg)\n\n{body}\n\n{_NOTES}\n{listed(told)}\n", "utf-8")
    (RESULTS / "load.svg").write_text(plot(list(_lines(results)), across="offered a second", up="ms"), "utf-8")


async def _rising(target: Target, make: Callable[[int], list[bytes]]) -> AsyncIterator[Step]:
    """Offer one rate after the other, until one is not kept up with."""
    for rate in _RATES:
        requests = make(max(1, round(rate * _SECONDS_A_RATE)))
        target.forget()
        answers = await offer(target.port, requests, rate, seed=_SEED)
        calls = None if target.calls is None else target.calls() / len(answers)
        step = Step(rate, answers, calls, target.limited)
        yield step
        if not step.kept_up:
            return


@asynccontextmanager
async def _embedded() -> AsyncIterator[Target]:
    with TemporaryDirectory(prefix="load-") as directory:
        folder, scopes = Path(directory) / "data", tenants(_TENANTS)
        await asyncio.to_thread(prefill, folder, "hashing", scopes, _MEMORIES)
        (first,) = Requests(scopes, seed=_SEED + 1).recalls(1)
        async with embedded(folder, "hashing", first, WORKERS="auto") as server:
            yield Target(server.port)


@asynccontextmanager
async def _over_rest() -> AsyncIterator[Target]:
    with TemporaryDirectory(prefix="load-") as directory:
        async with account(Path(directory)) as settings:
            url = settings["OPENAI_BASE_URL"].removesuffix("/v1")
            await asyncio.to_thread(set_clock, url, 1)  # 60 times as fast, D1 would give a statement half a second
            async with _warm(Path(directory), settings) as port:
                await asyncio.to_thread(slow_down, url)
                yield Target(port, lambda: _cloudflare_calls(url), lambda: forget_calls(url), limited=True)


@asynccontextmanager
async def _behind_edge() -> AsyncIterator[Target]:
    async with behind_edge(Requests(tenants(_TENANTS), seed=_SEED + 1), _STORED) as running:
        yield Target(running.port, lambda: len(running.worker.called()), lambda: _forget(running))


@asynccontextmanager
async def _warm(directory: Path, settings: Mapping[str, str]) -> AsyncIterator[int]:
    requests = Requests(tenants(_TENANTS), seed=_SEED + 1)
    (first,) = requests.recalls(1)
    async with service(directory, settings, first) as server:
        await drive(server.port, requests.stores(_STORED), clients=_CLIENTS)
        await drive(server.port, requests.recalls(_ASKED))
        yield server.port


def _forget(running: Behind) -> None:
    running.worker.called()


def _cloudflare_calls(url: str) -> int:
    return sum(count for operation, count in calls_of(url).items() if not operation.startswith("openai."))


def _lines(results: Sequence[Result]) -> Iterator[Line]:
    for result, colour in zip(results, COLOURS, strict=False):
        for percent, dashed in ((50, False), (99, True)):
            points = [(step.rate, step.milliseconds(percent)) for step in result.steps]
            yield Line(f"{result.name}: p{percent}", points, colour, dashed)


def measure_load() -> None:
    """Measure, write and print."""
    before, started = circumstances(), time.monotonic()
    if missing():
        print(not_measured(), file=sys.stderr)
    results = asyncio.run(loads())
    write(results, {**before, "seconds": round(time.monotonic() - started)})
    for result in results:
        print(f"{result.name}\n{aligned([_HEAD, *(step.row() for step in result.steps)])}\n")


if __name__ == "__main__":
    measure_load()
