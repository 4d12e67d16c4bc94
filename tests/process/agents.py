"""Agents that store, recall and delete at random, and the two servers they talk to, which die at random."""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

import httpx

from tests.process.conftest import Spawn
from tests.process.history import TOP_K, History, Operation
from tests.process.memories import Memory
from tests.process.server import Server

AGENTS = 8
_HANDS = 2
"""How many things an agent does at once."""
_PAUSE_SECONDS = 0.02
_READY_SECONDS = 1.5
"""A server that is not ready by then is asked all the same; what it refuses is no answer."""


class Servers(Protocol):
    """The servers that agents talk to, and how many of them have died."""

    kills: int

    def choose(self, dice: random.Random) -> tuple[str, httpx.AsyncClient]:
        """Return a server's name and a client of it."""
        ...


class Pair:
    """Two servers, at most one of which is down."""

    def __init__(self, spawn: Spawn, stack: AsyncExitStack, **settings: str) -> None:
        self.kills = 0
        self.over = False
        self._servers: list[Server] = []
        self._spawn = spawn
        self._stack = stack
        self._settings = settings
        self._up: list[tuple[Server, httpx.AsyncClient]] = []

    async def start(self) -> None:
        await asyncio.gather(self._start(), self._start())

    def choose(self, dice: random.Random) -> tuple[str, httpx.AsyncClient]:
        """Return a server's name and a client of it; it may die at any moment."""
        server, client = dice.choice(self._up)
        return server.log.stem, client

    async def trouble(self, dice: random.Random) -> None:
        """Kill one or the other and start another in its place at once, until it is over."""
        while not self.over:
            await asyncio.sleep(dice.uniform(0.05, 0.6))
            place = dice.randrange(len(self._up))
            server, _ = self._up[place]
            assert server.process.poll() is None, f"the server ended:\n{server.log.read_text()}"
            server.kill()
            await server.ended()
            del self._up[place]
            self.kills += 1
            await self._start()

    def complaints(self) -> list[str]:
        """Return what the logs tell of defects."""
        logs = {server.log.stem: server.log.read_text() for server in self._servers}
        return [f"{name}: {line}" for name, log in logs.items() for line in log.splitlines() if "Traceback" in line]

    async def _start(self) -> None:
        server = self._spawn(log=None, **self._settings)
        self._servers.append(server)
        await server.listening()
        client = await self._stack.enter_async_context(server.client())

        deadline = time.monotonic() + _READY_SECONDS
        while not (await client.get("/readyz")).is_success and time.monotonic() < deadline:
            await asyncio.sleep(_PAUSE_SECONDS)
        self._up.append((server, client))


class Agents:
    """Eight agents; what they were told is in the history."""

    def __init__(self, servers: Servers, history: History, seed: int) -> None:
        self.answered: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.degraded: Counter[str] = Counter()
        self.slowest_seconds = 0.0
        self._servers = servers
        self._history = history
        self._seed = seed
        self._least = (0, 0)
        self._known: defaultdict[str, list[Memory]] = defaultdict(list)
        self._seen: defaultdict[str, dict[str, Memory]] = defaultdict(dict)

    async def run(self, *, operations: int, kills: int) -> None:
        """Work until as much was answered and as many servers died, or until one of the answers cannot be."""
        self._least = operations, kills
        hands = [(f"agent-{agent}", hand) for agent in range(AGENTS) for hand in range(_HANDS)]
        await asyncio.gather(*(self._work(agent, hand) for agent, hand in hands))

    async def find(self, memories: Iterable[Memory]) -> None:
        """Recall each of the memories, which must be found, whatever was told of it."""
        left = list(memories)

        async def searching(hand: int) -> None:
            dice = random.Random(f"{self._seed}/find/{hand}")
            while left:
                memory = left.pop()
                while not await self._recall(dice, memory, must=True):
                    pass

        await asyncio.gather(*(searching(hand) for hand in range(AGENTS * _HANDS)))

    async def _work(self, agent: str, hand: int) -> None:
        dice = random.Random(f"{self._seed}/{agent}/{hand}")
        known, seen = self._known[agent], self._seen[agent]
        while self._goes_on():
            chance = dice.random()
            if chance < 0.4 or not known:
                known.append(Memory(agent, f"{agent} {len(known)} keeps {dice.getrandbits(64):016x}"))
                await self._store(dice, known[-1])
            elif chance < 0.45:
                await self._store(dice, dice.choice(known))
            elif chance < 0.8 or not seen:
                await self._recall(dice, dice.choice(known))
            else:
                await self._delete(dice, dice.choice(list(seen)), agent)

    def _goes_on(self) -> bool:
        operations, kills = self._least
        return not self._history.violations and (self.answered.total() < operations or self._servers.kills < kills)

    async def _store(self, dice: random.Random, memory: Memory) -> None:
        storing = self._history.begin("store", memory)
        body = {"agent_id": memory.agent_id, "content": memory.content}
        if await self._ask(dice, storing, "POST", "/store", json=body):
            self.answered["store"] += 1

    async def _delete(self, dice: random.Random, memory_id: str, agent: str) -> None:
        deleting = self._history.begin("delete", self._seen[agent].pop(memory_id), f" of {memory_id}")
        if await self._ask(dice, deleting, "DELETE", f"/memories/{memory_id}", params={"agent_id": agent}):
            self._history.deleted(memory_id)
            self.answered["delete"] += 1

    async def _recall(self, dice: random.Random, memory: Memory, *, must: bool = False) -> bool:
        """Ask for what is most like the memory; return whether there was an answer."""
        name, client = self._servers.choose(dice)
        body = {"agent_id": memory.agent_id, "query": memory.content, "top_k": TOP_K}
        began = time.monotonic()
        answer = await self._send(client, "POST", "/recall", json=body)
        if isinstance(answer, str):
            return False
        entries: Sequence[dict[str, Any]] = answer.json()["entries"]
        reasons = answer.json().get("degraded") or []
        self.degraded.update(reasons)
        by = f"{name}, degraded by {reasons}" if reasons else name
        self._history.recalled(memory, entries, began=began, by=by, must=must, whole="index_unavailable" not in reasons)
        self._seen[memory.agent_id].update({e["id"]: Memory(memory.agent_id, e["content"]) for e in entries})
        self.answered["recall"] += 1
        return True

    async def _ask(self, dice: random.Random, operation: Operation, method: str, path: str, **request: Any) -> bool:
        """Send a change; return whether it was acknowledged."""
        name, client = self._servers.choose(dice)
        answer = await self._send(client, method, path, **request)
        if isinstance(answer, str):
            operation.told(f"{answer} by {name}")
            return False
        operation.acknowledged(f"{answer.status_code} by {name}")
        return True

    async def _send(self, client: httpx.AsyncClient, method: str, path: str, **request: Any) -> httpx.Response | str:
        """Return the answer, or in a word why there is none that says what was done."""
        began = time.monotonic()
        try:
            answer = await client.request(method, path, **request)
        except httpx.TransportError as error:
            self.unanswered[type(error).__name__] += 1
            return type(error).__name__
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
        if answer.is_success:
            return answer
        said = f"{answer.status_code}/{answer.json().get('code')}"
        self.unanswered[said] += 1
        if answer.status_code <= httpx.codes.INTERNAL_SERVER_ERROR:
            self._history.violated(f"{method} {path} was answered {said}: {answer.text}")
        await asyncio.sleep(_PAUSE_SECONDS)
        return said
