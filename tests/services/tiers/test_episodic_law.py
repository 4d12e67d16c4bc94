"""Runs and episodes are as a plain model has them, whatever answers are lost and however often a write is repeated."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.episodes import EpisodesWanted, NewEpisode, NewRun, RunsWanted
from app.domain.errors import Conflict, MemoryGatewayError, NotFound, QuotaExceeded, RunEnded, UpstreamTimeout
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Row, Statement
from app.services.tiers.episodic import EpisodicMemory
from tests.services.tiers.test_episodic import check_counts, later
from tests.support.backends import BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.generation import ON_THE_DOUBLE, examples

DAYS, DAY_MS, LIMIT = 90, 24 * 3600 * 1000, 4
TENANTS, AGENTS, TYPES = ("acme", "globex"), ("bot", "other"), ("t", "u")
RUNS = [f"01K2Z4M1V7Q8T3B5N6C7D8E9F{letter}" for letter in "AB"]
EPISODES = [f"01K2Z4M1V7Q8T3B5N6C7D8E9E{letter}" for letter in "012345678"]

tenants = st.sampled_from([*TENANTS, "acme", "acme"])
callers = st.sampled_from([None, None, *AGENTS])
losses = st.lists(st.integers(0, 4), max_size=2)
"""Of each try that fails, how many statements the database executes before the connection breaks."""
ids = st.lists(st.sampled_from(EPISODES), min_size=1, max_size=4)
acts = st.one_of(
    st.tuples(
        st.just("begin"), tenants, st.sampled_from(RUNS), st.sampled_from(AGENTS), st.sampled_from(TYPES), losses
    ),
    st.tuples(st.just("append"), tenants, st.sampled_from(RUNS), callers, ids, losses),
    st.tuples(st.just("complete"), tenants, st.sampled_from(RUNS), callers, st.integers(0, 1), losses),
    st.tuples(st.just("fail"), tenants, st.sampled_from(RUNS), callers, st.sampled_from("xy"), losses),
    st.tuples(st.just("wait"), st.sampled_from([45, 90])),
    st.tuples(st.just("prune")),
)
Act: TypeAlias = tuple[Any, ...]


@dataclass
class Held:
    """A run of the model; ages are in days."""

    agent: str
    type: str
    age: int = 0
    ended: tuple[str, object] | None = None
    ended_age: int = 0
    episodes: dict[str, int] = field(default_factory=dict)


class Model:
    """What a tenant's runs and episodes are."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], Held] = {}

    def of(self, tenant: str, run: str, caller: str | None) -> Held:
        held = self.runs.get((tenant, run))
        if held is None or caller not in {None, held.agent}:
            raise NotFound("")
        return held

    def begin(self, tenant: str, run: str, agent: str, type_: str) -> None:
        held = self.runs.setdefault((tenant, run), Held(agent, type_))
        if (held.agent, held.type) != (agent, type_):
            raise Conflict("")

    def append(self, tenant: str, run: str, caller: str | None, named: Sequence[str]) -> None:
        held = self.of(tenant, run, caller)
        mine = [each for (owner, _), each in self.runs.items() if owner == tenant]
        if any(id_ in each.episodes for each in mine if each is not held for id_ in named):
            raise Conflict("")
        new = {*named} - held.episodes.keys()
        if new and held.ended:
            raise RunEnded("")
        if new and sum(len(each.episodes) for each in mine) + len(new) > LIMIT:
            raise QuotaExceeded("", reached="")
        held.episodes |= dict.fromkeys(new, 0)

    def end(self, tenant: str, run: str, caller: str | None, how: tuple[str, object]) -> None:
        held = self.of(tenant, run, caller)
        if held.ended not in {None, how}:
            raise RunEnded("")
        held.ended = how

    def wait(self, days: int) -> None:
        for held in self.runs.values():
            held.age += days
            held.ended_age += days if held.ended else 0
            held.episodes = {id_: age + days for id_, age in held.episodes.items()}

    def prune(self) -> None:
        for key, held in [*self.runs.items()]:
            held.episodes = {id_: age for id_, age in held.episodes.items() if age < DAYS}
            if not held.episodes and (held.ended_age if held.ended else held.age) >= DAYS:
                del self.runs[key]


class Losing:
    """A database whose connection breaks when so much of a run is done."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.losses = inner, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if not self.losses or not any(each.writes for each in statements):
            rows: list[list[Row]] = await self.inner.run(statements)
            return rows
        if done := statements[: self.losses.pop()]:
            await self.inner.run(done)
        raise UpstreamTimeout("The connection broke.")


class World:
    """The service and the model of it, to which the same is done."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.model = bench, Model()
        self.losing = Losing(bench.backends.database)
        self.of = {
            tenant: EpisodicMemory(
                with_changed(bench.backends, database=self.losing, tenant_episodes=LIMIT).of_tenant(
                    tenant, ADMINISTRATOR
                )
            )
            for tenant in TENANTS
        }

    async def act(self, name: str, *said: Any) -> None:
        if name == "wait":
            later(self.bench, said[0] * DAY_MS)
            self.model.wait(*said)
        elif name == "prune":
            limiter = RateLimiter(1e9)
            job = Prune(
                self.bench.database, audit_days=400, episode_days=DAYS, rate_limiter=limiter, report=lambda _: None
            )
            await job.run()
            self.model.prune()
        else:
            tenant, run, who, what, losses_ = said
            expected = outcome(lambda: self.expected(name, tenant, run, who, what))
            assert await self.done(losses_, lambda: self.asked(name, tenant, run, who, what)) is expected, name

    def expected(self, name: str, tenant: str, run: str, who: Any, what: Any) -> None:
        if name == "begin":
            self.model.begin(tenant, run, who, what)
        elif name == "append":
            self.model.append(tenant, run, who, what)
        else:
            self.model.end(tenant, run, who, (name, what))

    async def asked(self, name: str, tenant: str, run: str, who: Any, what: Any) -> Any:
        service = self.of[tenant]
        match name:
            case "begin":
                return await service.begin(NewRun(who, what, 1, run))
            case "append":
                return await service.append(run, [NewEpisode("n", id_, {}, id_) for id_ in what], only_agent=who)
            case "complete":
                return await service.complete(run, what, only_agent=who)
            case _:
                return await service.fail(run, what, only_agent=who)

    async def done(self, broken: Sequence[int], ask: Callable[[], Awaitable[Any]]) -> type[MemoryGatewayError] | None:
        """Ask until there is an answer, and return what is raised then."""
        self.losing.losses = list(broken)
        while True:
            try:
                await ask()
            except UpstreamTimeout:
                continue
            except MemoryGatewayError as error:
                return type(error)
            return None

    async def compared(self) -> None:
        self.losing.losses = []
        for tenant, service in self.of.items():
            held = {run: each for (owner, run), each in self.model.runs.items() if owner == tenant}
            runs = (await service.runs(RunsWanted(), limit=100)).items
            ends = {"completed": "complete", "failed": "fail"}
            found = {
                each.id: (
                    each.agent_id,
                    each.agent_type,
                    each.ended_at and (ends[each.status], each.output or each.error),
                )
                for each in runs
            }
            assert found == {
                run: (each.agent, each.type, each.ended and (each.ended[0], each.ended[1] or None))
                for run, each in held.items()
            }
            for agent in (None, *AGENTS):
                page = await service.episodes(EpisodesWanted(agent_id=agent), limit=100)
                got = [each.id for each in page.items]
                newest = sorted(page.items, key=lambda each: (each.created_at, each.id), reverse=True)
                assert list(page.items) == newest
                assert len(got) <= LIMIT
                wanted = [id_ for each in held.values() if agent in {None, each.agent} for id_ in each.episodes]
                assert sorted(got) == sorted(wanted)
        await check_counts(self.bench)


def outcome(expected: Callable[[], None]) -> type[MemoryGatewayError] | None:
    try:
        expected()
    except MemoryGatewayError as error:
        return type(error)
    return None


def as_the_model(done: list[Act], directory: Path, on: BackendName) -> None:
    async def all_of_it() -> None:
        with running_on(on) as backend:
            async with bench_on(directory, backend) as bench:
                world = World(bench)
                for run, agent in zip(RUNS, AGENTS, strict=True):
                    await world.act("begin", "acme", run, agent, "t", [])
                for act in done:
                    await world.act(*act)
                await world.compared()

    asyncio.run(all_of_it())


@settings(deadline=None, max_examples=examples(160))
@given(done=st.lists(acts, min_size=4, max_size=24))
def test_runs_and_episodes_are_as_the_model_has_them(done: list[Act], tmp_path_factory: pytest.TempPathFactory) -> None:
    as_the_model(done, tmp_path_factory.mktemp("law"), "embedded")


@pytest.mark.cloudflare
@settings(deadline=None, max_examples=ON_THE_DOUBLE)
@given(done=st.lists(acts, min_size=4, max_size=24))
def test_runs_and_episodes_are_as_the_model_has_them_on_the_double(
    done: list[Act], tmp_path_factory: pytest.TempPathFactory
) -> None:
    as_the_model(done, tmp_path_factory.mktemp("law"), "cloudflare")
