"""What one agent's credential does to the workflows of a whole tenant, and what an undo takes back of it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from app.domain.moments import wall_clock
from app.services.access.credentials import Credentials
from bench.client import HOST
from bench.data import AUTH_SECRETS, SECRETS
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_TENANT, _TYPE, _TASK = "acme", "support", "answer"
_OUTCOMES, _SELECTIONS = 60, 40
_LEARNED = {"good": (18, 2), "bad": (1, 3)}
"""Successes and failures that the operator's credential reports before the attack."""


async def measure(checkout: Checkout) -> list[Measurement]:
    """Report outcomes with the credential of one agent, and select with one for all agents."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
        async with (
            checkout.serve(Path(folder), settings) as server,
            httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}", timeout=30) as client,
        ):
            unlearned = await _attack(_Tenant(client, "unlearned"), {})
            tenant = _Tenant(client, "learned")
            learned = await _attack(tenant, _LEARNED)
            undone = await tenant.undo_attack()
            replaced = await tenant.replace_text()
    unit = f"of {_SELECTIONS} selections"
    return [
        Measurement("selections of an attacker's workflow, where nobody has learned", unit, unlearned, "about 20"),
        Measurement(
            "selections of an attacker's workflow, where the operator has learned", unit, learned, "at most 15"
        ),
        Measurement("selections of an attacker's workflow, once its credential is undone", unit, undone, "at most 3"),
        Measurement("a credential that is no administrator's replaces a workflow's text", "status", replaced, "403"),
    ]


async def _attack(tenant: "_Tenant", learned: Mapping[str, tuple[int, int]]) -> int:
    """Return how often the attacker's workflow is selected behind its outcomes."""
    for name in ("good", "bad"):
        await tenant.put(name)
    for name, (successes, failures) in learned.items():
        for score in [1] * successes + [0] * failures:
            await tenant.report(tenant.operator, name, score)
    for _ in range(_OUTCOMES):
        await tenant.report(tenant.attacker, "bad", 1)
        await tenant.report(tenant.attacker, "good", 0)
    return await tenant.selections_of_bad()


class _Tenant:
    """A tenant with an administrator, a credential for all agents, and the stolen credential of one agent."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        """Mint its credentials."""
        self._client, self._name = client, f"{_TENANT}-{name}"
        self._admin = self._credential(admin=True)
        self.operator = self._credential()
        self.attacker = self._credential(agent_id="attacker")

    async def put(self, name: str) -> None:
        body = {"agent_type": _TYPE, "task_type": _TASK, "spec": {"name": name}}
        (await self._client.put(f"/workflows/{name}", json=body, headers=self._admin)).raise_for_status()

    async def report(self, headers: Mapping[str, str], name: str, score: int) -> None:
        run = await self._post("/runs", {"agent_id": "attacker", "agent_type": _TYPE, "input": {}}, headers)
        await self._post(f"/workflows/{name}/outcome", {"run_id": run["run_id"], "score": score}, headers)

    async def selections_of_bad(self) -> int:
        bodies = ({"agent_type": _TYPE, "task_type": _TASK, "seed": seed} for seed in range(_SELECTIONS))
        chosen = [await self._post("/workflows/select", body, self.operator) for body in bodies]
        return sum(selection["workflow_id"] == "bad" for selection in chosen)

    async def undo_attack(self) -> int:
        token = self.attacker["Authorization"].removeprefix("Bearer ")
        path = f"/credentials/{Credentials(SECRETS).verify(token, now=wall_clock()).credential_id}/memories"
        (await self._client.delete(path, headers=self._admin)).raise_for_status()
        return await self.selections_of_bad()

    async def replace_text(self) -> str:
        body = {"agent_type": _TYPE, "task_type": _TASK, "spec": {"steps": ["another"]}}
        return str((await self._client.put("/workflows/good", json=body, headers=self.operator)).status_code)

    async def _post(self, path: str, body: object, headers: Mapping[str, str]) -> Any:  # noqa: ANN401 - as JSON has it
        answer = await self._client.post(path, json=body, headers=headers)
        answer.raise_for_status()
        return answer.json()

    def _credential(self, *, agent_id: str | None = None, admin: bool = False) -> dict[str, str]:
        token = Credentials(SECRETS).issue(self._name, now=wall_clock(), agent_id=agent_id, admin=admin)
        return {"Authorization": f"Bearer {token}"}
