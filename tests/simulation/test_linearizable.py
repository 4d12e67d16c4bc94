"""Whatever fails meanwhile: what was acknowledged is found, and what was deleted is not.

``SOAK_SEEDS`` says how many seeds make a run, ``SEED`` runs a single one again.
"""

import asyncio
import os
from collections import Counter
from dataclasses import dataclass

import pytest

from tests.simulation import clock
from tests.simulation.trace import Trace
from tests.simulation.weather import beside, calm, storm, watch
from tests.simulation.workload import Agent
from tests.simulation.world import Kind, World, world
from tests.support import generation

OPERATIONS = 3000 if generation.LONG else 500
_TENANTS = ("acme", "globex")
_AGENTS = ("bot-1", "bot-2", "bot-3", "bot-4")
_CALLERS = 2
_SEEDS = int(os.environ.get("SOAK_SEEDS", "1"))
_FIRST = 5
"""A seed of which one short run has everything that ``_check_eventful`` asks for."""
_TOGETHER = 10
_ERASES_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a simulation went: all of it, and how often each thing happened."""

    trace: Trace
    counts: Counter[str]


def simulate(kind: Kind, seed: int, operations: int = OPERATIONS) -> Outcome:
    """Run one seed to its end and check everything on the way."""
    try:
        return clock.run(_simulate(kind, seed, operations))
    except AssertionError as error:
        raise AssertionError(f"SEED={seed} on {kind}, {operations} operations: {error}") from error


async def _simulate(kind: Kind, seed: int, operations: int) -> Outcome:
    async with world(kind, seed) as made:
        for _ in range(2):
            made.replica().start()
        agents = [Agent(made, tenant, agent) for tenant in _TENANTS for agent in _AGENTS]
        await _work(made, agents, -(-operations // (len(agents) * _CALLERS)))
        await calm(made)
        for agent in agents:
            await agent.recall_all()
        return Outcome(made.trace, made.counts)


async def _work(made: World, agents: list[Agent], times: int) -> None:
    callers = [agent.act(times) for agent in agents for _ in range(_CALLERS)]
    await beside([storm(made), watch(made), _erase_some(made, agents)], callers)


async def _erase_some(made: World, agents: list[Agent]) -> None:
    while True:
        await asyncio.sleep(made.random.expovariate(1 / _ERASES_SECONDS))
        await made.random.choice(agents).erase()


def _seeds(count: int) -> list[range]:
    if "SEED" in os.environ:
        seed = int(os.environ["SEED"])
        return [range(seed, seed + 1)]
    end = _FIRST + count
    return [range(first, min(first + _TOGETHER, end)) for first in range(_FIRST, end, _TOGETHER)]


@pytest.mark.parametrize("seeds", _seeds(_SEEDS), ids=str)
def test_every_answer_is_true_over_an_index_that_shows_writes_late(seeds: range) -> None:
    _check_eventful([simulate("late", seed) for seed in seeds])


@pytest.mark.thorough
@pytest.mark.parametrize("seeds", _seeds(-(-_SEEDS // 3)), ids=str)
def test_every_answer_is_true_over_the_embedded_index(seeds: range) -> None:
    _check_eventful([simulate("embedded", seed) for seed in seeds])


def _check_eventful(outcomes: list[Outcome]) -> None:
    """Runs in which nothing went wrong would prove nothing."""
    counts = sum((outcome.counts for outcome in outcomes), Counter[str]())
    thousands = len(outcomes) * OPERATIONS / 1000
    assert counts["stored"] > 250 * thousands
    assert counts["deleted"] > 65 * thousands
    assert counts["forgotten"] > 8 * thousands
    assert counts["recalled whole"] > 200 * thousands
    assert counts["recalled index_unavailable"] > 3 * thousands
    assert counts["store upstream_timeout"] > thousands / 2
    assert counts["reconcile orphans"] == 0
    circuits = {what.rpartition(" ")[2] for what in counts if what.startswith("circuit ")}
    assert circuits == {"open", "half_open", "closed"}
