"""Replicas that share Cloudflare's limit, on a clock that a test turns: agents as fast as they can, and one account."""

import heapq
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.adapters.cloudflare.call_budget import RESERVE, UNLEASED, CallBudget, for_commands
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.domain.errors import CloudflareBlocks, RateLimited, Unavailable, UpstreamTimeout
from app.ports.database import NOW, Row, Statement
from app.runtime.call_shares import RENEWAL, CallShares
from app.storage.system.call_shares import CallLimits

WINDOW = 300.0
LIMIT = 1_100
CLOUDFLARES = 1_200
LATE = 0.3
"""By how many seconds, at most, an agent comes back later than it was told to."""


@dataclass
class Account:
    """Cloudflare's rule for one token: 1,200 calls in 300 seconds, past it nothing for 300 seconds."""

    now: Callable[[], float]
    calls: list[float] = field(default_factory=list)
    blocked_until: float = -1.0
    blocks: int = 0
    while_blocked: int = 0

    def call(self) -> None:
        now = self.now()
        if now < self.blocked_until:
            self.while_blocked += 1
            raise CloudflareBlocks("blocked", retry_after=round(self.blocked_until - now))
        if sum(at > now - WINDOW for at in self.calls[-CLOUDFLARES:]) >= CLOUDFLARES:
            self.blocks += 1
            self.blocked_until = now + WINDOW
            raise CloudflareBlocks("blocked", retry_after=int(WINDOW))
        self.calls.append(now)

    def within(self) -> int:
        """Return the most calls that any window has held."""
        most, first = 0, 0
        for place, at in enumerate(self.calls):
            while self.calls[first] <= at - WINDOW:
                first += 1
            most = max(most, place - first + 1)
        return most


class Directory:
    """The database that the replicas share, by the clock of the simulation; a call of it is a call of the account."""

    backend, history_days = "simulated", 0

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(Path("app/storage/schema.sql").read_text(encoding="utf-8"))
        self.loses: set[str] = set()
        """Replicas whose answers are lost."""
        self.ahead = 0.0
        """By how many seconds its clock is ahead of the simulation's."""

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        now = str(self._at())
        rows: list[list[Row]] = []
        self._connection.execute("BEGIN")
        for statement in statements:
            found = self._connection.execute(statement.sql.replace(NOW, now), statement.parameters).fetchall()
            rows.append([dict(row) for row in found])
        self._connection.execute("COMMIT")
        if any(f'"{name}"' in parameter for name in self.loses for each in statements for parameter in each.parameters):
            raise UpstreamTimeout("The answer was lost.")
        return rows

    async def ping(self) -> None:
        """Do nothing."""

    async def purge_log(self) -> bool:
        """Return True."""
        return True

    def spent(self, replica: str, window: float) -> int:
        """Return how many calls of this window a replica has reported."""
        now = self._at()
        sql = "SELECT sum(value ->> 1) AS n FROM call_share, json_each(spent) WHERE replica = ? AND value ->> 0 > ?"
        (row,) = self._connection.execute(sql, (replica, now - int(window * 1000))).fetchall()
        return int(row["n"] or 0)

    def _at(self) -> int:
        return 1_700_000_000_000 + int((self._now() + self.ahead) * 1000)

    def shares(self) -> dict[str, int]:
        return {row["replica"]: row["calls"] for row in self._connection.execute("SELECT * FROM call_share")}


class Replica:
    """One process: its budget, its share, and who of its tenants may call."""

    backend, history_days = "simulated", 0

    def __init__(
        self,
        name: str,
        account: Account,
        directory: Directory,
        limit: int = LIMIT,
        *,
        budget: CallBudget | None = None,
    ) -> None:
        self.name = name
        self.account = account
        self.directory = directory
        self.budget = budget or CallBudget(limit, clock=account.now, unleased=UNLEASED)
        self.tenants = TenantCalls(self.budget, clock=account.now)
        self.shares = CallShares(
            self,
            self.budget,
            replica=name,
            limits=CallLimits(limit - RESERVE, for_commands(limit)),
            clock=account.now,
        )
        self.budget.report_by(self.renew)
        self.alive = True
        self.due = 0.0
        """When it renews its share, unless it does so before."""
        self.renewals = 0

    @property
    def calls(self) -> int:
        """How many calls it may make in a window."""
        return self.budget.limit or 0

    async def call(self, tenants: Sequence[str] = ()) -> None:
        """Make one call of the account for these tenants."""
        await self.budget.admit()
        self.budget.take()
        self._count()
        self.tenants.charge(tenants)

    async def renew(self) -> None:
        """Renew the lease."""
        self.due = self.account.now() + WINDOW * RENEWAL
        await self.shares.renew()

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Ask the directory, which is a call too."""
        self.budget.record()
        self._count()
        self.renewals += 1
        rows = await self.directory.run(statements)
        self.budget.answered()
        return rows

    async def ping(self) -> None:
        """Do nothing."""

    async def purge_log(self) -> bool:
        """Return True."""
        return True

    def _count(self) -> None:
        try:
            self.account.call()
        except CloudflareBlocks as error:
            self.budget.block(error.retry_after or WINDOW)
            raise


@dataclass
class Agent:
    """Asks as soon as it is answered, or waits as long as it is told to and asks again."""

    tenant: str
    pause: float
    place: int = 0
    """Which replica it asks; below 0: any, each time."""
    done: int = 0
    waited: int = 0
    in_vain: int = 0
    waiting: bool = False


class Simulation:
    """Events in order of time. An operation is two calls, one after the other."""

    def __init__(self, replicas: int, agents: Sequence[Agent], *, seed: int = 1, limit: int = LIMIT) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self.account = Account(lambda: self.now)
        self.directory = Directory(lambda: self.now)
        self.replicas = [Replica(f"r{n}", self.account, self.directory, limit) for n in range(replicas)]
        self.agents = agents
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._number = 0
        self.refusals: Counter[str] = Counter()
        self.vain: list[float] = []

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        self._number += 1
        heapq.heappush(self._events, (self.now + seconds, self._number, event))

    def begin(self, agents: Sequence[Agent]) -> None:
        """Let agents ask from now on."""
        for agent in agents:
            self.at(self.random.random(), lambda agent=agent: self._ask(agent))  # type: ignore[misc]

    async def run(self, until: float) -> None:
        for replica in self.replicas:
            if self.now == 0.0:
                await self._renew(replica)
        if self.now == 0.0:
            self.begin(self.agents)
        while self._events and self._events[0][0] <= until:
            at, _, event = heapq.heappop(self._events)
            self.now = at
            answer = event()
            if answer is not None:
                await answer  # type: ignore[misc]
        self.now = until

    async def _renew(self, replica: Replica) -> None:
        if not replica.alive:
            return
        if self.now == 0.0 or self.now >= replica.due - 0.001:
            try:
                await replica.renew()
            except (RateLimited, UpstreamTimeout):
                self.refusals["renewal"] += 1
        self.at(replica.due - self.now, lambda: self._renew(replica))

    async def _ask(self, agent: Agent) -> None:
        alive = [replica for replica in self.replicas if replica.alive]
        place = agent.place if agent.place >= 0 else self.random.randrange(len(alive))
        replica = alive[place % len(alive)]
        came_back, agent.waiting = agent.waiting, False
        try:
            replica.tenants.admit(agent.tenant)
            await replica.call([agent.tenant])
        except Unavailable as refused:
            self.refusals[agent.tenant] += 1
            agent.waited += 1
            agent.in_vain += came_back
            if came_back:
                self.vain.append(self.now)
            agent.waiting = True
            self.at((refused.retry_after or 1) + self.random.uniform(0.001, LATE), lambda: self._ask(agent))
            return
        self.at(0.04, lambda: self._second(agent, replica))

    async def _second(self, agent: Agent, replica: Replica) -> None:
        try:
            await replica.call([agent.tenant])
        except Unavailable as refused:
            self.refusals["second"] += 1
            self.at(refused.retry_after or 1, lambda: self._ask(agent))
            return
        agent.done += 1
        self.at(0.04 + agent.pause, lambda: self._ask(agent))

    def by_tenant(self) -> Counter[str]:
        done: Counter[str] = Counter()
        for agent in self.agents:
            done[agent.tenant] += agent.done
        return done


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 where all have the same."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values)) if any(values) else 1.0
