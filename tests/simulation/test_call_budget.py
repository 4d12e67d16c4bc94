"""Replicas that share Cloudflare's limit never run into it, use nearly all of it, and serve tenants alike."""

from collections.abc import Callable

import pytest

from app.adapters.cloudflare.call_budget import RESERVE
from app.runtime.call_shares import RENEWAL
from tests.simulation.call_budget import LIMIT, WINDOW, Agent, Simulation, jain

pytestmark = pytest.mark.thorough

Agents = Callable[[], list[Agent]]


def alike() -> list[Agent]:
    """64 agents of 8 tenants, as fast as they can, each at one of three replicas."""
    return [Agent(f"t{n % 8}", 0.0, place=n // 8) for n in range(64)]


def one_loud() -> list[Agent]:
    """The same, where one tenant asks fifty times as much as any other."""
    loud = [Agent("t0", 0.0, place=n) for n in range(8)]
    return loud + [Agent(f"t{n % 7 + 1}", 4.0, place=n // 7) for n in range(56)]


@pytest.mark.parametrize("agents", [alike, one_loud])
async def test_two_windows_are_used_up_without_a_block_and_tenants_have_alike(agents: Agents) -> None:
    simulation = Simulation(3, agents())
    await simulation.run(2 * WINDOW)
    assert (simulation.account.blocks, simulation.account.while_blocked) == (0, 0)
    assert simulation.account.within() <= LIMIT
    assert len(simulation.account.calls) >= 0.95 * 2 * LIMIT
    assert jain(list(simulation.by_tenant().values())) >= 0.95


@pytest.mark.parametrize("agents", [alike, one_loud])
async def test_who_waits_as_long_as_told_is_served(agents: Agents) -> None:
    simulation = Simulation(3, agents())
    await simulation.run(2 * WINDOW)
    waited, in_vain = (sum(getattr(agent, name) for agent in simulation.agents) for name in ("waited", "in_vain"))
    assert in_vain <= 0.05 * waited


async def test_behind_a_balancer_that_changes_replicas_the_windows_are_used_and_most_waits_are_true() -> None:
    simulation = Simulation(3, [Agent(f"t{n % 8}", 0.0, place=-1) for n in range(64)])
    await simulation.run(2 * WINDOW)
    assert (simulation.account.blocks, simulation.account.within() <= LIMIT) == (0, True)
    assert len(simulation.account.calls) >= 0.9 * 2 * LIMIT
    assert jain(list(simulation.by_tenant().values())) >= 0.95
    assert sum(agent.in_vain for agent in simulation.agents) <= 0.4 * sum(agent.waited for agent in simulation.agents)


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


async def test_what_an_idle_replica_held_that_was_killed_is_spent_by_the_others() -> None:
    simulation = Simulation(3, alike()[:48])
    await simulation.run(0)
    for replica in simulation.replicas:
        await replica.renew()
    simulation.replicas[2].alive = False
    await simulation.run(WINDOW)
    assert len(simulation.account.calls) >= 0.9 * LIMIT


async def test_a_block_of_others_making_is_waited_out_by_all() -> None:
    simulation = Simulation(3, alike())
    await simulation.run(100.0)
    simulation.account.blocked_until = 100.0 + WINDOW
    before = len(simulation.account.calls)
    await simulation.run(100.0 + WINDOW - 1)
    assert len(simulation.account.calls) == before
    assert simulation.account.while_blocked <= 2 * len(simulation.replicas)
    await simulation.run(100.0 + 2 * WINDOW)
    assert len(simulation.account.calls) > before


async def test_where_answers_are_lost_no_window_is_overdrawn() -> None:
    simulation = Simulation(3, alike())
    for step in range(1, 30):
        simulation.directory.loses = {f"r{step % 3}"} if step % 2 else set()
        await simulation.run(step * WINDOW / 10)
    assert simulation.account.within() <= LIMIT
    assert simulation.account.blocks == 0
