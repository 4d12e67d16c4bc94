"""A command that walks over many rows beside a service: requests come first, and Cloudflare never blocks."""

import asyncio

import pytest
from structlog.testing import capture_logs

from app.adapters.cloudflare.call_budget import FOR_COMMANDS, UNLEASED
from app.adapters.cloudflare.command_budget import CommandBudget
from app.domain.errors import DatabaseUnavailable
from tests.simulation.call_budget import LIMIT, WINDOW, Agent, Replica, Simulation

AS_FAST_AS_THEY_CAN = 0.04
FOUR_FIFTHS = 8.3
"""The pause of twelve agents that spend four fifths of the limit, and so are never refused."""


NEARLY_ALL = 7.0
IDLE = 100_000.0


def beside(pause: float, replicas: int = 1) -> Simulation:
    """Agents that ask a service with such a pause."""
    return Simulation(replicas, [Agent(f"t{number}", pause, place=number) for number in range(12)])


class Command:
    """A command in the same time as a simulated service; its pauses are the simulation's."""

    def __init__(self, simulation: Simulation, name: str = "command") -> None:
        self._simulation = simulation
        budget = CommandBudget(LIMIT, clock=simulation.account.now, unleased=UNLEASED, sleep=self.pause)
        self._replica = Replica(name, simulation.account, simulation.directory, budget=budget)
        self.made = 0

    @property
    def renewals(self) -> int:
        return self._replica.renewals

    async def pause(self, seconds: float) -> None:
        await self._simulation.run(self._simulation.now + seconds)

    async def run(self, calls: int, pause: float) -> None:
        """Make calls with a share, which is given back in the end."""
        await self._replica.renew()
        try:
            for _ in range(calls):
                await self._replica.call()
                self.made += 1
                await self.pause(pause)
        finally:
            await self._replica.shares.give_back()


class OneOfSeveral(Command):
    """A command that runs while others do: its pauses end when the simulation comes to their ends."""

    async def pause(self, seconds: float) -> None:
        ended = asyncio.Event()

        async def end() -> None:
            ended.set()
            for _ in range(5):  # it goes on until its next pause
                await asyncio.sleep(0)

        self._simulation.at(seconds, end)
        await ended.wait()


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


@pytest.mark.thorough
async def test_a_command_takes_no_call_that_requests_need_and_is_made_nevertheless() -> None:
    alone, simulation = beside(FOUR_FIFTHS), beside(FOUR_FIFTHS)
    await simulation.run(2 * WINDOW)
    command = Command(simulation)
    await command.run(150, pause=0.6)
    await alone.run(simulation.now)
    assert (command.made, served(simulation)) == (150, served(alone))
    assert simulation.account.within() <= LIMIT


@pytest.mark.thorough
async def test_where_requests_need_every_call_a_command_goes_on_with_those_that_are_kept_for_commands() -> None:
    alone, simulation = beside(AS_FAST_AS_THEY_CAN), beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(2 * WINDOW)
    command = Command(simulation)
    await command.run(200, pause=0.6)
    await alone.run(simulation.now)
    assert command.made == 200
    assert served(simulation) >= 0.99 * served(alone)
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT + FOR_COMMANDS


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize(
    "pause",
    [
        IDLE,
        *(pytest.param(pause, marks=pytest.mark.thorough) for pause in (FOUR_FIFTHS, NEARLY_ALL)),
        AS_FAST_AS_THEY_CAN,
    ],
)
async def test_a_command_begins_at_once_whatever_the_servers_have_leased(replicas: int, pause: float) -> None:
    simulation = beside(pause, replicas)
    await simulation.run(2 * WINDOW)
    command, began = Command(simulation), simulation.now
    await command.run(60, pause=0.0)
    assert (command.made, simulation.now) == (60, began), "it has not waited"
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT + FOR_COMMANDS


@pytest.mark.parametrize("replicas", [1, 3])
async def test_beside_idle_servers_a_command_of_many_calls_waits_once_until_they_give_way(replicas: int) -> None:
    simulation = beside(IDLE, replicas)
    await simulation.run(2 * WINDOW)
    began = simulation.now
    await Command(simulation).run(200, pause=0.0)
    assert simulation.now - began <= 0.05 * WINDOW


@pytest.mark.thorough
async def test_commands_at_the_same_time_divide_the_calls_that_are_kept_for_them() -> None:
    simulation = beside(AS_FAST_AS_THEY_CAN, replicas=3)
    await simulation.run(2 * WINDOW)
    commands = [OneOfSeveral(simulation, f"command {number}") for number in range(4)]
    async with asyncio.TaskGroup() as tasks:
        for command in commands:
            tasks.create_task(command.run(60, pause=0.5))
        await asyncio.sleep(0)
        await simulation.run(8 * WINDOW)
    assert [command.made for command in commands] == [60] * 4
    assert simulation.account.blocks == 0
    assert simulation.account.within() <= LIMIT + FOR_COMMANDS


async def test_a_command_that_waits_spends_few_calls_on_asking() -> None:
    simulation = beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(2 * WINDOW)
    command = Command(simulation)
    await command.run(FOR_COMMANDS, pause=0.0)
    before = command.renewals
    await command.run(1, pause=WINDOW)
    assert command.renewals - before <= 8


def leased_out(failures: int) -> CommandBudget:
    """A budget that has to renew its share, which fails so often; then more than it needs is leased."""
    now = 0.0
    left = failures

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def report() -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise DatabaseUnavailable("D1 reported a transient failure.")
        budget.lease(100, 45, unreported=8)

    budget = CommandBudget(LIMIT, clock=lambda: now, sleep=sleep)
    budget.lease(100, 45, unreported=0)
    budget.report_by(report)
    return budget


async def test_a_renewal_that_fails_is_waited_out() -> None:
    budget = leased_out(failures=3)
    with capture_logs() as logs:
        await budget.admit()
    budget.take()
    assert [(entry["event"], entry["reason"]) for entry in logs] == [
        ("command_waits_for_cloudflare_calls", "D1 reported a transient failure.")
    ]


async def test_a_command_whose_renewals_fail_for_two_windows_ends_with_the_reason() -> None:
    with pytest.raises(DatabaseUnavailable, match="transient"):
        await leased_out(failures=1_000).admit()


async def test_a_command_waits_for_the_end_of_a_block_and_says_why() -> None:
    budget = leased_out(failures=0)
    budget.block(200)
    with capture_logs() as logs:
        await budget.admit()
    assert logs[-1]["code"] == "cloudflare_blocks"
    budget.take()


@pytest.mark.thorough
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


@pytest.mark.thorough
async def test_a_command_that_leases_nothing_stays_within_what_others_leave() -> None:
    simulation = beside(AS_FAST_AS_THEY_CAN)
    await simulation.run(2 * WINDOW)

    async def sleep(seconds: float) -> None:
        await simulation.run(simulation.now + seconds)

    budget = CommandBudget(FOR_COMMANDS, clock=simulation.account.now, sleep=sleep)
    for _ in range(300):
        await budget.admit()
        budget.take()
        simulation.account.call()
    assert simulation.account.blocks == 0


async def test_no_call_is_counted_once_the_limit_does_not_hold() -> None:
    budget = CommandBudget(FOR_COMMANDS)
    budget.stop_counting()
    for _ in range(300):
        await budget.admit()
        budget.take()


async def test_a_command_spends_its_last_call_on_a_language_model_too() -> None:
    budget = CommandBudget(1)
    await budget.admit()
    budget.take(background=True)
    assert budget.left() == 0
