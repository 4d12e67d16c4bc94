"""A command that walks over many rows beside a service: requests come first, and Cloudflare never blocks."""

import pytest

from app.adapters.cloudflare.call_budget import UNSHARED
from app.adapters.cloudflare.command_budget import CommandBudget
from app.domain.errors import RateLimited
from tests.simulation.call_budget import LIMIT, WINDOW, Agent, Replica, Simulation

AS_FAST_AS_THEY_CAN = 0.04
FOUR_FIFTHS = 8.3
"""The pause of twelve agents that spend four fifths of the limit, and so are never refused."""


def beside(pause: float) -> Simulation:
    """Agents that ask a service with such a pause."""
    return Simulation(1, [Agent(f"t{number}", pause) for number in range(12)])


class Command:
    """A command in the same time as a simulated service; its pauses are the simulation's."""

    def __init__(self, simulation: Simulation, budget: CommandBudget | None = None) -> None:
        self._simulation = simulation
        budget = budget or CommandBudget(LIMIT, clock=simulation.account.now, unleased=UNSHARED, sleep=self.pause)
        self._replica = Replica("command", simulation.account, simulation.directory, budget=budget)
        self.made = 0

    async def pause(self, seconds: float) -> None:
        await self._simulation.run(self._simulation.now + seconds)

    async def _keep(self) -> None:
        if self._replica.alive:
            await self._replica.renew()
            self._simulation.at(self._replica.due - self._simulation.now, self._keep)

    async def run(self, calls: int, pause: float) -> None:
        """Make calls with a share, which is given back in the end."""
        await self._keep()
        try:
            for _ in range(calls):
                await self._replica.call()
                self.made += 1
                await self.pause(pause)
        finally:
            self._replica.alive = False
            await self._replica.shares.give_back()


async def test_beside_a_service_with_calls_to_spare_a_command_has_its_calls() -> None:
    simulation = beside(pause=30.0)
    await simulation.run(WINDOW)
    command = Command(simulation)
    await command.run(600, pause=1.0)
    assert command.made == 600
    assert simulation.now <= WINDOW + 3 * WINDOW
    assert simulation.refusals.total() == 0


def served(simulation: Simulation) -> int:
    return sum(agent.done for agent in simulation.agents)


async def test_a_command_takes_no_call_that_requests_need_and_is_made_nevertheless() -> None:
    alone, simulation = beside(FOUR_FIFTHS), beside(FOUR_FIFTHS)
    await simulation.run(2 * WINDOW)
    command = Command(simulation)
    await command.run(150, pause=0.6)
    await alone.run(simulation.now)
    assert (command.made, served(simulation)) == (150, served(alone))
    assert simulation.account.within() <= LIMIT


async def test_where_requests_need_every_call_a_command_stops_and_says_so() -> None:
    alone, simulation = beside(AS_FAST_AS_THEY_CAN), beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(2 * WINDOW)
    command = Command(simulation)
    with pytest.raises(RateLimited, match="Run it again later"):
        await command.run(2_000, pause=0.6)
    await alone.run(simulation.now)
    assert served(simulation) >= 0.95 * served(alone)
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT


async def test_a_process_that_is_idle_takes_no_call_from_one_that_lacks_none() -> None:
    alone, simulation = beside(FOUR_FIFTHS), beside(FOUR_FIFTHS)
    await simulation.run(2 * WINDOW)
    await Command(simulation).run(1, pause=4 * WINDOW)
    await alone.run(simulation.now)
    assert served(simulation) == served(alone)


async def test_a_command_goes_on_once_a_burst_of_requests_is_over() -> None:
    simulation = beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(0.5 * WINDOW)
    for agent in simulation.agents:
        agent.pause = 60.0
    command = Command(simulation)
    await command.run(300, pause=0.0)
    assert command.made == 300
    assert simulation.account.within() <= LIMIT
    after = Command(simulation)
    await after.run(1, pause=0.0)
    assert after.made == 1


async def test_a_command_that_leases_nothing_stays_within_what_others_leave() -> None:
    simulation = beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(2 * WINDOW)

    async def sleep(seconds: float) -> None:
        await simulation.run(simulation.now + seconds)

    budget = CommandBudget(UNSHARED, clock=simulation.account.now, sleep=sleep)
    for _ in range(300):
        await budget.wait_for_report()
        budget.take()
        simulation.account.call()
    assert simulation.account.blocks == 0


async def test_no_call_is_counted_once_the_limit_does_not_hold() -> None:
    budget = CommandBudget(UNSHARED)
    budget.stop_counting()
    for _ in range(300):
        await budget.wait_for_report()
        budget.take()
