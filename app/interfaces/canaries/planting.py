"""Plants the canary of a tenant through the service's own routes, and removes it so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.domain.canaries import CANARY_AGENT, PROBE_TENANT, Canary, new_token
from app.domain.errors import Conflict
from app.interfaces.canaries.probes import NAME
from app.interfaces.canaries.scopes import ProbeClient, ProbeScope

_KEPT_SECONDS = 24 * 3600
_GONE = 404


@dataclass(frozen=True, slots=True)
class _Write:
    method: str
    path: str
    json: Any = None


class CanaryPlanter:
    """Plants and removes canaries, each as the only scope that may see it."""

    def __init__(self, client: ProbeClient) -> None:
        """Take the client of the service's entry points."""
        self._client = client

    async def plant(self, tenant_id: str, held: Canary | None = None) -> Canary:
        """Plant a tenant's canary; of one that is ``held``, whatever has expired or was deleted is planted again.

        Raises:
            Conflict: the service refuses it; the message has its words.
            httpx.HTTPError: there is no answer.
        """
        token = new_token() if held is None else held.token
        scope = ProbeScope(tenant_id, CANARY_AGENT)
        body = {
            "agent_id": CANARY_AGENT,
            "content": _sentence(token),
            "session_id": NAME,
            "metadata": {"canary": token},
        }
        await self._write(scope, _Write("POST", "/store", body))
        listed = (await self._write(scope, _Write("GET", "/memories"))).json()["memories"]
        of_token = next(memory for memory in listed if memory["metadata"].get("canary") == token)
        canary = Canary(tenant_id, str(of_token["id"]), token)
        for write in _rows(canary):
            await self._write(scope, write)
        if tenant_id == PROBE_TENANT:
            for write in _shared(canary):
                await self._write(ProbeScope(tenant_id), write)
        return canary

    async def remove(self, tenant_id: str) -> None:
        """Erase all of a tenant's canary; raises as ``plant`` does."""
        if tenant_id == PROBE_TENANT:
            erase = _Write("DELETE", f"/tenant?confirm={PROBE_TENANT}")
            await self._write(ProbeScope(tenant_id), erase)
            return
        await self._write(ProbeScope(tenant_id, CANARY_AGENT), _Write("DELETE", f"/agents/{CANARY_AGENT}"))

    async def _write(self, scope: ProbeScope, write: _Write) -> httpx.Response:
        answer = await self._client.request(scope, write.method, write.path, json=write.json)
        if answer.is_error:
            raise Conflict(f"{write.method} {write.path} of {scope.shown}: {answer.status_code} {_detail(answer)}")
        return answer


def _sentence(token: str) -> str:
    return f"Canary of this tenant: whoever else is shown {token} sees what is not theirs."


def _rows(canary: Canary) -> Iterator[_Write]:
    """Yield the writes of the tiers that belong to one agent."""
    token = canary.token
    fact = {"agent_id": CANARY_AGENT, "subject": NAME, "predicate": "has the mark", "object": token}
    yield _Write("POST", "/facts", fact)
    # A run is itself again where it is begun again with the same id.
    run = {"agent_id": CANARY_AGENT, "agent_type": NAME, "run_id": canary.id, "input": token}
    yield _Write("POST", "/runs", run)
    episode = {"episode_id": canary.id, "type": "note", "content": token}
    yield _Write("POST", f"/runs/{canary.id}/episodes", {"episodes": [episode]})
    kept = {"value": token, "ttl_seconds": _KEPT_SECONDS}
    yield _Write("PUT", f"/working/{CANARY_AGENT}/{NAME}/{NAME}", kept)
    yield _Write("PUT", f"/runs/{canary.id}/state", {"value": {NAME: token}, "ttl_seconds": _KEPT_SECONDS})


def _shared(canary: Canary) -> Sequence[_Write]:
    """Return the writes of what all agents of a tenant share."""
    token = canary.token
    steps = {"steps": [token]}
    return [
        _Write("PUT", f"/context/{NAME}", {"content": token, "media_type": "text/plain"}),
        _Write("PUT", f"/workflows/{NAME}", {"agent_type": NAME, "task_type": NAME, "spec": steps}),
    ]


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("detail", ""))
    except ValueError:
        return ""
