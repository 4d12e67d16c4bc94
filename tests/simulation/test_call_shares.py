"""Whatever happens to replicas and to their answers, their shares never add up to more than the limit."""

import asyncio
import math
from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.adapters.cloudflare.call_budget import UNLEASED, CallBudget
from app.adapters.cloudflare.command_budget import CommandBudget
from app.domain.errors import DatabaseUnavailable, MemoryGatewayError, RateLimited
from app.runtime.call_shares import LEASE, RENEWAL, CallShares
from app.storage.system.call_shares import CallLimits
from tests.simulation.call_budget import WINDOW, Directory
from tests.support.generation import examples

LIMIT = 400
FOR_COMMANDS = 30
PLACES = st.integers(0, 3)
SECONDS = st.integers(0, 8 * 70).map(lambda eighths: eighths / 8)


class Process:
    """A replica: its clock may stand still for a while, as that of a machine that is suspended."""

    def __init__(self, number: int, world: "Sharing", *, command: bool = False) -> None:
        self.late = 0.0
        self.suspended = 0.0
        """Since it last reported."""
        self.name = f"r{number}"
        self.calls: list[float] = []
        self.command = command
        make = CommandBudget if command else CallBudget
        self.budget = make(LIMIT, clock=lambda: world.now - self.late, unleased=0)
        self.shares = CallShares(
            world.directory,
            self.budget,
            replica=self.name,
            limits=CallLimits(LIMIT, FOR_COMMANDS),
            clock=lambda: world.now - self.late,
        )


class Sharing(RuleBasedStateMachine):
    """Replicas that come, spend, report, are answered or not, and go or die."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.directory = Directory(lambda: self.now)
        self.set_back = False
        """Whether the database's clock ever was."""
        self.begun = 0
        self.alive: list[Process] = []
        self.gone: list[tuple[Process, int]] = []
        """With the share that each held last."""

    @property
    def all(self) -> list[Process]:
        return [*self.alive, *(process for process, _ in self.gone)]

    def process(self, place: int) -> Process:
        return self.alive[place % len(self.alive)]

    @rule(seconds=SECONDS)
    def time_goes_by(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.integers(1, 4000))
    def the_databases_clock_is_set_back(self, seconds: int) -> None:
        self.directory.ahead -= seconds
        self.set_back = True

    @precondition(lambda self: len(self.alive) < 4)
    @rule(command=st.booleans())
    def a_replica_or_a_command_begins(self, *, command: bool) -> None:
        self.begun += 1
        self.alive.append(Process(self.begun, self, command=command))

    @precondition(lambda self: self.alive)
    @rule(place=PLACES, calls=st.integers(1, LIMIT), lost=st.booleans())
    def a_replica_calls(self, place: int, calls: int, *, lost: bool) -> None:
        self.call(self.process(place), calls, lost=lost)

    @precondition(lambda self: self.alive)
    @rule(place=PLACES, lost=st.booleans())
    def a_replica_renews(self, place: int, *, lost: bool) -> None:
        self.renew(self.process(place), lost=lost)

    @precondition(lambda self: self.alive)
    @rule(times=st.integers(1, 8), lost=st.sets(PLACES))
    def all_renew_and_call_as_much_as_they_may(self, times: int, lost: set[int]) -> None:
        for _ in range(times):
            self.now += WINDOW * RENEWAL
            for place, process in enumerate(self.alive):
                self.renew(process, lost=place in lost)
            self.no_window_holds_more_than_the_limit()
        for process in self.alive:
            self.call(process, LIMIT)

    def call(self, process: Process, calls: int, *, lost: bool = False) -> None:
        """Let it make so many calls, and report as often as it has to, until an answer is lost."""
        made = 0
        while made < calls:
            try:
                process.budget.take()
            except RateLimited:
                return
            except DatabaseUnavailable:
                self.renew(process, lost=lost)
                if lost:
                    return
            else:
                process.calls.append(self.now)
                made += 1

    def renew(self, process: Process, *, lost: bool) -> None:
        self.directory.loses = {process.name} if lost else set()
        try:
            asyncio.run(process.shares.renew())
            process.suspended = 0.0
        except MemoryGatewayError:
            assert lost

    @precondition(lambda self: self.alive)
    @rule(place=PLACES)
    def a_replica_dies(self, place: int) -> None:
        self.leave(self.process(place))

    @precondition(
        lambda self: len(self.alive) > 1 and not self.set_back and not any(process.command for process in self.all)
    )
    @rule(place=PLACES)
    def what_a_dead_one_has_not_spent_is_the_others_within_a_lease(self, place: int) -> None:
        dying = self.process(place)
        self.call_unseen(dying)
        self.leave(dying)
        for _ in range(round(LEASE / RENEWAL) + 1):
            self.now += WINDOW * RENEWAL
            for process in self.alive:
                process.budget.refuse()
                self.renew(process, lost=False)
        known_until = self.now - WINDOW - WINDOW / 30 - WINDOW * LEASE  # by steps, and by clocks that stood still
        spent = sum(at > known_until for process, _ in self.gone for at in process.calls)
        unseen = sum(max(share // 20, 8) for _, share in self.gone)
        assert sum(process.budget.limit or 0 for process in self.alive) >= LIMIT - spent - unseen - len(self.alive)
        for process in self.alive:
            self.call(process, LIMIT)

    def call_unseen(self, process: Process) -> None:
        """Let it make all calls that it may before it reports again."""
        with suppress(RateLimited, DatabaseUnavailable):
            for _ in range(LIMIT):
                process.budget.take()
                process.calls.append(self.now)

    def leave(self, process: Process) -> None:
        self.alive.remove(process)
        self.gone.append((process, self.directory.shares().get(process.name, 0)))

    @precondition(lambda self: self.alive)
    @rule(place=PLACES)
    def a_replica_gives_its_share_back(self, place: int) -> None:
        process = self.process(place)
        self.directory.loses = set()
        asyncio.run(process.shares.give_back())
        self.leave(process)

    @precondition(lambda self: self.alive)
    @rule(place=PLACES, seconds=st.integers(1, 60))
    def a_replica_is_suspended(self, place: int, seconds: int) -> None:
        """Its clock stands still, for a lease at most until it reports again."""
        process = self.process(place)
        seconds = min(seconds, int(WINDOW * LEASE - process.suspended))
        self.now += seconds
        process.late += seconds
        process.suspended += seconds

    @invariant()
    def no_window_holds_more_than_the_limit(self) -> None:
        kept = FOR_COMMANDS if any(process.command for process in self.all) else 0
        assert sum(at > self.now - WINDOW for process in self.all for at in process.calls) <= LIMIT + kept


TestSharing = Sharing.TestCase
TestSharing.settings = settings(max_examples=examples(200), stateful_step_count=30, deadline=None)


def shares_after(renewals: int, processes: list[Process], sharing: Sharing) -> list[float]:
    """Let all renew so often, 20 seconds apart, and return what each may call."""
    for _ in range(renewals):
        sharing.now += WINDOW * RENEWAL
        for process in processes:
            asyncio.run(process.shares.renew())
    return [process.budget.left() for process in processes]


def test_replicas_that_ask_for_little_have_the_same_and_leave_most_to_whoever_needs_it() -> None:
    sharing = Sharing()
    processes = [Process(number, sharing) for number in range(3)]
    shares = shares_after(8, processes, sharing)
    assert max(shares) - min(shares) <= 2
    assert LIMIT * 2 / 5 <= sum(shares) <= LIMIT / 2


def test_a_replica_that_is_asked_much_beside_an_idle_one_has_most_calls_before_it_lacks_any() -> None:
    sharing = Sharing()
    idle, busy = processes = [Process(number, sharing) for number in range(2)]
    shares_after(8, processes, sharing)
    sharing.call(busy, LIMIT // 2)
    assert not busy.budget.lacks_calls
    assert busy.budget.limit is not None
    assert busy.budget.limit >= LIMIT * 7 / 10
    assert idle.budget.left() >= LIMIT / 5
    sharing.no_window_holds_more_than_the_limit()


def test_replicas_that_are_all_asked_much_have_the_same() -> None:
    sharing = Sharing()
    processes = [Process(number, sharing) for number in range(3)]
    for _ in range(20):
        shares_after(1, processes, sharing)
        for process in processes:
            sharing.call(process, 3)
    limits = [process.budget.limit or 0 for process in processes]
    assert max(limits) - min(limits) <= LIMIT / 20
    assert sum(limits) >= LIMIT - 3


def test_a_command_has_calls_at_once_where_servers_hold_all_and_takes_none_of_theirs() -> None:
    sharing = Sharing()
    servers = [Process(number, sharing) for number in range(2)]
    shares_after(8, servers, sharing)
    commands = [Process(number, sharing, command=True) for number in (2, 3)]
    for server in servers:
        server.budget.refuse()
    shares_after(2, servers, sharing)
    first, second, *others = shares_after(1, [*commands, *servers], sharing)
    assert first == FOR_COMMANDS
    assert sum(others) >= LIMIT - second - 2


def test_what_one_does_not_use_goes_to_one_that_lacks_it() -> None:
    sharing = Sharing()
    processes = [Process(number, sharing) for number in range(3)]
    shares_after(8, processes, sharing)
    processes[0].budget.refuse()
    first, *others = shares_after(2, processes, sharing)
    assert first > LIMIT / 3
    assert all(other < LIMIT / 3 for other in others)


def test_a_share_that_is_given_back_is_anothers_at_its_next_renewal() -> None:
    sharing = Sharing()
    processes = [Process(number, sharing) for number in range(2)]
    shares_after(8, processes, sharing)
    asyncio.run(processes.pop().shares.give_back())
    (share,) = shares_after(8, processes, sharing)
    assert share >= LIMIT - 2


def test_what_a_dead_one_may_have_spent_unseen_is_left_to_it() -> None:
    sharing = Sharing()
    sharing.alive = [Process(number, sharing) for number in range(2)]
    shares_after(8, sharing.alive, sharing)
    sharing.what_a_dead_one_has_not_spent_is_the_others_within_a_lease(1)
    (dead, _), (living,) = sharing.gone[0], sharing.alive
    assert (len(dead.calls), len(living.calls)) == (7, LIMIT - 8)
    sharing.no_window_holds_more_than_the_limit()


def test_before_its_first_lease_a_process_has_little() -> None:
    budget = CallBudget(1_000, unleased=UNLEASED)
    assert budget.left() == UNLEASED
    budget.lease(500, 60.0, unreported=1_000)
    assert budget.left() == 500


def test_where_no_calls_are_counted_nothing_is_leased() -> None:
    sharing = Sharing()
    process = Process(0, sharing)
    process.budget.stop_counting()
    asyncio.run(process.shares.renew())
    asyncio.run(process.shares.give_back())
    assert (process.budget.left(), sharing.directory.shares()) == (math.inf, {})
