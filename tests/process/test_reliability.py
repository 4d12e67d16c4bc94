"""Two servers die at random under eight agents, and no answer is ever wrong.

``SOAK_OPERATIONS`` says how many answers make a run, ``SOAK_SEED`` which choices are made.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.process.account import Account, rehearsed
from tests.process.agents import Agents, Pair
from tests.process.conftest import Spawn
from tests.process.history import History
from tests.process.memories import Memory, halves, rows_of
from tests.process.server import until

OPERATIONS = int(os.environ.get("SOAK_OPERATIONS", "70"))
SEED = int(os.environ.get("SOAK_SEED", "20"))
KILLS = 4 if "SOAK_OPERATIONS" in os.environ else 2
HEALED_SECONDS = 30.0
INDEXER_SECONDS = "0.15"
FAULTS = [  # of the upserts one in five fails
    {"operation": "vectorize.upsert", "share": 0.11, "status": 500},
    {"operation": "vectorize.upsert", "share": 0.06, "kind": "after_effect_cut"},
    {"operation": "vectorize.upsert", "share": 0.04, "kind": "cut"},
    {"operation": "vectorize.upsert", "share": 0.04, "kind": "delay", "delay_seconds": 0.3},
    {"operation": "vectorize.delete_by_ids", "share": 0.1, "status": 500},
    {"operation": "vectorize.delete_by_ids", "share": 0.1, "kind": "after_effect_cut"},
    {"operation": "vectorize.query", "share": 0.02, "status": 500},
    {"operation": "vectorize.info", "share": 0.05, "status": 500},
    {"operation": "d1.query", "share": 0.01, "status": 500},
    {"operation": "d1.query", "share": 0.01, "kind": "after_effect_cut"},
]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def account() -> Iterator[Account]:
    with rehearsed(SEED) as account:
        yield account


async def worked(pair: Pair, history: History) -> Agents:
    """Let the agents work while the servers die; then both are up."""
    agents = Agents(pair, history, SEED)
    async with asyncio.TaskGroup() as group:
        group.create_task(pair.trouble(random.Random(SEED)))
        await agents.run(operations=OPERATIONS, kills=KILLS)
        pair.over = True
    said = (
        f"seed {SEED}: {pair.kills} kills, answered {dict(agents.answered)}, unanswered {dict(agents.unanswered)}, "
        f"degraded {dict(agents.degraded)}, slowest {agents.slowest_seconds:.2f} s"
    )
    print(said)  # noqa: T201 - shown where the test fails
    assert not history.violations, "\n".join([said, *history.violations])
    return agents


@pytest.mark.cloudflare
async def test_no_answer_on_cloudflare_is_ever_wrong_while_servers_die_and_calls_fail(
    spawn: Spawn, account: Account, stack: AsyncExitStack
) -> None:
    history = History()
    pair = Pair(spawn, stack, INDEXER_SECONDS=INDEXER_SECONDS, **account.settings)
    await pair.start()
    for fault in FAULTS:
        account.inject(**fault)
    agents = await worked(pair, history)

    account.heal()
    assert await drained(account) == [], f"seed {SEED}: the outbox is not empty after {HEALED_SECONDS} s"
    assert await account.halves() == {}, f"seed {SEED}"
    account.settle()
    assert await account.halves() == {}, f"seed {SEED}: what was still under way undid it"
    held = account.rows_of("long_term_memory", "id", "agent_id", "content")
    await ends_well(history, agents, {row["id"]: Memory(row["agent_id"], row["content"]) for row in held})
    assert not pair.complaints(), "\n".join([f"seed {SEED}", *pair.complaints()])


@pytest.mark.thorough
async def test_no_answer_of_the_embedded_service_is_ever_wrong_while_servers_die(
    spawn: Spawn, data_dir: Path, stack: AsyncExitStack
) -> None:
    history = History()
    pair = Pair(spawn, stack, INDEXER_SECONDS=INDEXER_SECONDS)
    await pair.start()
    agents = await worked(pair, history)

    assert halves(data_dir) == {}, f"seed {SEED}"  # deletes stay queued for a minute of real time
    held = rows_of(data_dir, "long_term_memory", "id", "agent_id", "content")
    await ends_well(history, agents, {str(id_): Memory(agent, content) for id_, agent, content in held})
    assert not pair.complaints(), "\n".join([f"seed {SEED}", *pair.complaints()])


async def ends_well(history: History, agents: Agents, held: dict[str, Memory]) -> None:
    """Check that the database holds what it should, and that each of the memories it holds is recalled."""
    history.held(held)
    await agents.find(held.values())
    assert not history.violations, "\n".join([f"seed {SEED}, in the end:", *history.violations])
    assert held


async def drained(account: Account) -> list[dict[str, object]]:
    """Wait until the outbox is empty; return what it still holds when the time is over."""

    async def is_empty() -> bool:
        return not account.rows_of("outbox", "id")

    try:
        await until(is_empty, seconds=HEALED_SECONDS)
    except AssertionError:
        return account.rows_of("outbox")[:5]
    return []
