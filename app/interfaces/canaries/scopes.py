"""The scopes as which the prober asks, and which tokens each of them may be shown."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from app.domain.canaries import CANARY_AGENT, PROBE_AGENT, PROBE_TENANT
from app.services.access.credentials import Credentials

_SECONDS = 3600
"""For how long a credential of the prober holds, which no round outlasts."""


@dataclass(frozen=True, slots=True)
class ProbeScope:
    """A tenant, and one agent of it or an administrator over all of them."""

    tenant_id: str
    agent_id: str | None = None

    def may_see(self, tenant_id: str) -> bool:
        """Tell whether the canary of a tenant may be in an answer to this scope."""
        return tenant_id == self.tenant_id and self.agent_id != PROBE_AGENT

    @property
    def shown(self) -> str:
        """The scope as a report names it."""
        return f"{self.tenant_id}, {'administrator' if self.agent_id is None else self.agent_id}"


def scopes_of(tenant_id: str) -> Iterator[tuple[ProbeScope, str | None]]:
    """Yield the scopes as which is asked in a tenant, each with the agent that is asked for; None: no agent is named.

    An administrator's listings over all agents can be as long as a customer's data are large: only the service's own
    tenant is asked so. What its agents share has its canary, so that each of them may be shown it.
    """
    yield ProbeScope(tenant_id, CANARY_AGENT), CANARY_AGENT
    if tenant_id == PROBE_TENANT:
        yield ProbeScope(tenant_id), None
        yield ProbeScope(tenant_id), CANARY_AGENT
    else:
        yield ProbeScope(tenant_id, PROBE_AGENT), PROBE_AGENT
        yield ProbeScope(tenant_id, PROBE_AGENT), CANARY_AGENT


class ProbeClient:
    """Makes requests as any scope, by credentials that are minted for the round alone."""

    def __init__(self, client: httpx.AsyncClient, credentials: Credentials, now: int) -> None:
        """Take the client of the service's entry points, and what mints."""
        self._client = client
        self._credentials = credentials
        self._now = now

    async def request(
        self,
        scope: ProbeScope,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        json: object = None,
        content: bytes | None = None,
        admin: bool = True,
    ) -> httpx.Response:
        """Make a request as a scope.

        Raises:
            httpx.HTTPError: there is no answer.
        """
        token = self._credentials.issue(
            scope.tenant_id, now=self._now, agent_id=scope.agent_id, admin=admin, seconds=_SECONDS
        )
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream, text/html, */*"}
        return await self._client.request(method, path, params=params, json=json, content=content, headers=headers)
