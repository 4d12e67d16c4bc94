"""How many recalls a tenant and an agent may make in a minute, counted in this process: a recall writes nothing."""

from app.domain.errors import QuotaExceeded
from app.domain.memory import Scope
from app.domain.quotas import Use

_MINUTE_MS = 60_000


class RecallRates:
    """Counts the recalls of the current minute that were let in. All tenants share one."""

    def __init__(self, tenant: int | None = None, agent: int | None = None) -> None:
        """Take the limits of every tenant and of every agent; None is no limit."""
        self._tenant = tenant
        self._agent = agent
        self._minute = 0
        self._of_tenant: dict[str, int] = {}
        self._of_agent: dict[Scope, int] = {}

    def admit(self, scope: Scope, now: int) -> None:
        """Count a recall, or an explanation of one, at ``now``, in milliseconds since the epoch.

        Raises:
            QuotaExceeded: the tenant or the agent has made as many in this minute as it may.
        """
        if self._tenant is None and self._agent is None:
            return
        minute, passed = divmod(now, _MINUTE_MS)
        if minute != self._minute:
            self._minute = minute
            self._of_tenant.clear()
            self._of_agent.clear()
        of_agent, of_tenant = self._of_agent.get(scope, 0), self._of_tenant.get(scope.tenant_id, 0)
        if self._agent is not None and of_agent >= self._agent:
            raise _exceeded(Use("recalls_per_minute", "agent", of_agent, self._agent), passed)
        if self._tenant is not None and of_tenant >= self._tenant:
            raise _exceeded(Use("recalls_per_minute", "tenant", of_tenant, self._tenant), passed)
        self._of_agent[scope] = of_agent + 1
        self._of_tenant[scope.tenant_id] = of_tenant + 1


def _exceeded(use: Use, passed: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"This is over the {use.scope}'s limit of {use.limit} recalls per minute. Nothing was recalled.",
        reached=use.header,
        retry_after=-(-(_MINUTE_MS - passed) // 1000),
    )
