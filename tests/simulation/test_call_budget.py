"""Replicas that share Cloudflare's limit never run into it, use nearly all of it, and serve tenants alike."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from app.adapters.cloudflare.call_budget import RESERVE
from app.runtime.call_shares import RENEWAL
from tests.simulation.call_budget import LIMIT, WINDOW, Agent, Simulation, jain
from tests.support.generation import LONG

SEEDS = range(1, 2)
MORE_SEEDS = range(2, 21 if LONG else 4)
Agents = Callable[[], list[Agent]]


def alike() -> list[Agent]:
    """64 agents of 8 tenants, as fast as they can, each at one of three replicas."""
    return [Agent(f"t{n % 8}", 0.0, place=n // 8) for n in range(64)]


def one_loud() -> list[Agent]:
    """The same, where one tenant asks fifty times as much as any other."""
    loud = [Agent("t0", 0.0, place=n) for n in range(8)]
    return loud + [Agent(f"t{n % 7 + 1}", 4.0, place=n // 7) for n in range(56)]


def anywhere(agents: Agents) -> list[Agent]:
    """The same, where a balancer sends each request to any replica."""
    return [replace(agent, place=-1) for agent in agents()]


async def used_up(agents: Sequence[Agent], seed: int, *, least: float = 0.95) -> Simulation:
    """Let agents use up two windows of three replicas, without a block, where tenants have alike."""
    simulation = Simulation(3, agents, seed=seed)
    await simulation.run(2 * WINDOW)
    assert (simulation.account.blocks, simulation.account.while_blocked) == (0, 0)
    assert simulation.account.within() <= LIMIT
    assert len(simulation.account.calls) >= least * 2 * LIMIT
    assert jain(list(simulation.by_tenant().values())) >= 0.95
    return simulation


def in_vain(simulations: Sequence[Simulation]) -> float:
    """Return which part of those who came back when they were told to had to wait again."""
    agents = [agent for simulation in simulations for agent in simulation.agents]
    return sum(agent.in_vain for agent in agents) / sum(agent.waited for agent in agents)


@pytest.mark.thorough
@pytest.mark.parametrize("agents", [alike, one_loud])
async def test_two_windows_are_used_up_tenants_have_alike_and_who_waits_is_served(agents: Agents) -> None:
    assert in_vain([await used_up(agents(), seed) for seed in SEEDS]) <= 0.02


@pytest.mark.thorough
@pytest.mark.parametrize("agents", [alike, one_loud])
async def test_where_a_balancer_chooses_any_replica_two_windows_are_used_up_and_most_who_wait_are_served(
    agents: Agents,
) -> None:
    assert in_vain([await used_up(anywhere(agents), seed) for seed in SEEDS]) <= 0.35


@pytest.mark.thorough
@pytest.mark.parametrize("seed", MORE_SEEDS)
async def test_whatever_comes_first_two_windows_are_used_up_and_who_waits_is_served(seed: int) -> None:
    for agents in (alike, one_loud):
        assert in_vain([await used_up(agents(), seed)]) <= 0.03
        assert in_vain([await used_up(anywhere(agents), seed, least=0.94)]) <= 0.37


@pytest.mark.parametrize("replicas", [2, 3])
@pytest.mark.parametrize("busy", [4, 16])
async def test_an_idle_replica_that_wakes_is_served_at_once_and_has_its_even_part_or_what_is_unspent_in_two_renewals(
    replicas: int, busy: int
) -> None:
    simulation = Simulation(replicas, [Agent(f"t{n}", 4.0 if busy < 16 else 0.0) for n in range(busy)])
    await simulation.run(WINDOW)
    limit, (asked, waking, *idle) = LIMIT - RESERVE, simulation.replicas
    assert waking.calls >= limit / replicas / 4, "an idle one keeps so much even beside one that lacks calls"
    woken = [Agent(f"w{n}", 0.0, place=1) for n in range(16)]
    simulation.begin(woken)
    unspent = limit
    for second in range(1, 61):
        await simulation.run(WINDOW + second)
        assert sum(replica.calls for replica in simulation.replicas) <= limit
        if second == 2:
            assert sum(agent.done for agent in woken) >= len(woken)
        if second == WINDOW * RENEWAL:
            unspent -= sum(calls for _, calls in asked.budget.spent()) + sum(each.calls for each in idle)
        if second == 2 * WINDOW * RENEWAL:
            assert waking.calls >= min(limit / replicas, unspent) * 0.9
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT


async def test_few_agents_that_wait_at_the_same_time_lose_no_calls() -> None:
    simulation = Simulation(1, [Agent(f"t{n}", 0.0) for n in range(8)], limit=180)
    await simulation.run(2 * WINDOW)
    assert len(simulation.account.calls) >= 0.85 * 2 * 180


@pytest.mark.thorough
@pytest.mark.parametrize("at", [0.5, 10.0, WINDOW])
async def test_what_a_replica_had_not_spent_that_was_killed_is_used_by_the_others_within_a_lease(at: float) -> None:
    simulation = Simulation(3, alike())
    await simulation.run(at)
    held = simulation.directory.shares()["r2"]
    simulation.replicas[2].alive = False
    await simulation.run(at + 60.0)
    spent_by_the_dead = simulation.directory.spent("r2", WINDOW * (1 + RENEWAL))
    shares = simulation.directory.shares()
    assert shares["r0"] + shares["r1"] >= LIMIT - RESERVE - spent_by_the_dead - 0.05 * held - 2
    await simulation.run(at + 2 * WINDOW)
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT
    assert len(simulation.account.calls) >= 0.9 * (at + 2 * WINDOW) / WINDOW * LIMIT


@pytest.mark.parametrize(
    "seconds",
    [-3600.0, *(pytest.param(seconds, marks=pytest.mark.thorough) for seconds in (-120.0, 120.0)), 3600.0],
)
async def test_a_jump_of_the_databases_clock_overdraws_nothing_and_wastes_nothing(seconds: float) -> None:
    simulation = Simulation(3, alike())
    await simulation.run(WINDOW / 2)
    simulation.directory.ahead = seconds
    await simulation.run(2 * WINDOW)
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT
    assert len(simulation.account.calls) >= 0.95 * 2 * LIMIT


async def test_a_clock_that_was_set_back_keeps_the_share_of_a_dead_replica_no_longer_than_a_lease() -> None:
    simulation = Simulation(3, alike())
    await simulation.run(10.0)
    simulation.replicas[2].alive = False
    simulation.directory.ahead = -3600.0
    await simulation.run(10.0 + 2 * WINDOW)
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT
    assert len(simulation.account.calls) >= 0.9 * (10.0 + 2 * WINDOW) / WINDOW * LIMIT


async def test_a_clock_that_jumps_ahead_while_a_replica_dies_causes_no_block() -> None:
    simulation = Simulation(3, alike())
    await simulation.run(10.0)
    simulation.replicas[2].alive = False
    simulation.directory.ahead = 3600.0
    await simulation.run(10.0 + 2 * WINDOW)
    assert simulation.account.blocks == 0


@pytest.mark.thorough
async def test_what_an_idle_replica_held_that_was_killed_is_spent_by_the_others() -> None:
    simulation = Simulation(3, alike()[:48])
    await simulation.run(0)
    for replica in simulation.replicas:
        await replica.renew()
    simulation.replicas[2].alive = False
    await simulation.run(WINDOW)
    assert len(simulation.account.calls) >= 0.9 * LIMIT


@pytest.mark.thorough
async def test_a_block_of_others_making_is_waited_out_by_all() -> None:
    simulation = Simulation(3, alike())
    await simulation.run(100.0)
    simulation.account.blocked_until = 100.0 + WINDOW
    before = len(simulation.account.calls)
    await simulation.run(100.0 + WINDOW - 1)
    assert len(simulation.account.calls) == before
    looks = 1 + WINDOW / 30
    assert simulation.account.while_blocked <= looks * len(simulation.replicas), "each looks again every 30 seconds"
    await simulation.run(100.0 + 2 * WINDOW)
    assert len(simulation.account.calls) > before


async def test_after_a_single_refusal_calls_are_made_again_within_a_minute() -> None:
    simulation = Simulation(3, alike())
    await simulation.run(100.0)
    for replica in simulation.replicas:
        replica.budget.block(WINDOW)
    before = len(simulation.account.calls)
    await simulation.run(129.0)
    assert len(simulation.account.calls) == before
    await simulation.run(160.0)
    assert {replica.budget.blocked_for() for replica in simulation.replicas} == {0}
    assert len(simulation.account.calls) > before + len(simulation.replicas)


@pytest.mark.thorough
async def test_where_answers_are_lost_no_window_is_overdrawn() -> None:
    simulation = Simulation(3, alike())
    for step in range(1, 30):
        simulation.directory.loses = {f"r{step % 3}"} if step % 2 else set()
        await simulation.run(step * WINDOW / 10)
    assert simulation.account.within() <= LIMIT
    assert simulation.account.blocks == 0
