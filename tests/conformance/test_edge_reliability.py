"""Two servers behind an edge die at random under eight agents, and no answer is ever wrong.

What the one acknowledged the other recalls at once: D1 is Cloudflare's own, and the index fails at random.
"""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.conformance.edge import ACCOUNT_ID, ENTRIES, SECRET, Edge, Slot
from tests.process.account import Account
from tests.process.agents import Pair
from tests.process.conftest import Spawn, data_dir, spawn
from tests.process.history import History
from tests.process.memories import Memory
from tests.process.server import until
from tests.process.test_reliability import FAULTS, INDEXER_SECONDS, ends_well, stack, worked

__all__ = ["data_dir", "spawn", "stack"]

A_MINUTE_PASSES = (
    "UPDATE outbox SET due_at = due_at - 60000",
    "UPDATE lease SET expires_at = expires_at - 60000",
)


@dataclass(frozen=True, slots=True)
class EdgeAccount(Account):
    """A slot of the edge: its database, as the edge answers it, and its index, as the account behind it does."""

    slot: Slot
    behind: str

    @property
    def settings(self) -> dict[str, str]:
        return {
            "CLOUDFLARE_ACCOUNT_ID": ACCOUNT_ID,
            "CLOUDFLARE_API_TOKEN": SECRET,
            "CLOUDFLARE_API_BASE_URL": self.base_url,
            "CLOUDFLARE_D1_DATABASE_ID": self.database_id,
        }

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        base_url, token = self.base_url, SECRET
        if path.startswith("/vectorize/"):
            *before, _, rest = path.split("/", 5)
            base_url, token = self.behind, self.options.api_token
            path = "/".join([*before, f"service_{self.slot.number}", rest])
        url = f"{base_url}/accounts/{self.options.account_id}{path}"
        answer = httpx.request(
            method, url, json=body, headers={"Authorization": f"Bearer {token}"}, trust_env=False, verify=False
        )
        answer.raise_for_status()
        return answer.json()["result"]


def account_of(edge: Edge, entry: str) -> EdgeAccount:
    slot, double = edge.slot(), edge.double
    base_url = edge.base_url(entry, slot)
    return EdgeAccount(double.url, base_url, double.double.options, slot.database_id, slot, double.cloudflare_url)


@pytest.mark.parametrize("entry", ENTRIES)
async def test_no_answer_is_ever_wrong_while_servers_die_and_the_index_fails(
    spawn: Spawn, stack: AsyncExitStack, edge: Edge, entry: str
) -> None:
    account, history = account_of(edge, entry), History()
    pair = Pair(spawn, stack, INDEXER_SECONDS=INDEXER_SECONDS, **account.settings)
    await pair.start()
    try:
        for fault in FAULTS:
            account.inject(**fault)
        agents = await worked(pair, history)
    finally:
        account.heal()

    async def whole() -> bool:
        """What a killed server has sent without a note of it is sent again after a minute."""
        for sql in A_MINUTE_PASSES:
            account.rows(sql)
        return await account.halves() == {}

    await until(whole, seconds=30)
    held = account.rows("SELECT id, agent_id, content FROM long_term_memory")
    await ends_well(history, agents, {row["id"]: Memory(row["agent_id"], row["content"]) for row in held})
    assert not pair.complaints(), "\n".join(pair.complaints())
