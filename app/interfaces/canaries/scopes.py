"""The scopes as which the prober asks, and which tokens each of them may be shown."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from app.domain.canaries import CANARY_AGENT, PROBE_AGENT, PROBE_TENANT
from app.interfaces.console.page import ROOT as CONSOLE
from app.interfaces.console.sign_in import PATH as SIGN_IN_PATH
from app.services.access.credentials import Credentials

SIGN_IN = f"{CONSOLE}{SIGN_IN_PATH}"
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
    """Makes requests as any scope, by one credential of each that is minted for the round alone.

    Pages of the console are asked with the session that the credential begins there.
    """

    def __init__(self, client: httpx.AsyncClient, credentials: Credentials, now: int) -> None:
        """Take the client of the service's entry points, and what mints."""
        self._client = client
        self._credentials = credentials
        self._now = now
        self._tokens: dict[tuple[ProbeScope, bool], str] = {}
        self._sessions: dict[ProbeScope, str] = {}

    async def request(
        self,
        scope: ProbeScope,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        json: object = None,
        admin: bool = True,
    ) -> httpx.Response:
        """Make a request as a scope, with all that a credential may do or, unless it is ``admin``, as one that is not.

        Raises:
            httpx.HTTPError: there is no answer.
        """
        headers = {"Accept": "application/json, text/event-stream, text/html, */*"}
        if path.startswith(CONSOLE):
            headers["Cookie"] = await self._session(scope, admin=admin)
        else:
            headers["Authorization"] = f"Bearer {self._token(scope, admin=admin)}"
        asking = self._client.request(method, path, params=params, json=json, headers=headers)
        # In a task of its own: what a request in this process adds to the lines of its log ends with the request.
        return await asyncio.create_task(asking)

    def _token(self, scope: ProbeScope, *, admin: bool) -> str:
        if (scope, admin) not in self._tokens:
            self._tokens[scope, admin] = self._credentials.issue(
                scope.tenant_id, now=self._now, agent_id=scope.agent_id, admin=admin, seconds=_SECONDS
            )
        return self._tokens[scope, admin]

    async def _session(self, scope: ProbeScope, *, admin: bool) -> str:
        """Return the cookie of a scope's session at the console, which is signed in to where there is none yet."""
        if scope not in self._sessions:
            form = {"credential": self._token(scope, admin=admin)}
            origin = str(self._client.base_url).rstrip("/")
            signed_in = await self._client.post(SIGN_IN, data=form, headers={"Origin": origin})
            self._sessions[scope] = signed_in.headers.get("set-cookie", "").partition(";")[0]
        return self._sessions[scope]
