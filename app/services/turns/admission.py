"""Admits work in this process: turns of requests, shares of tenants, and rates of recalls."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from typing import TypeVar

from app.domain.canaries import RESERVED_AGENTS
from app.domain.errors import QuotaExceeded
from app.domain.memory import Scope
from app.domain.quotas import Use
from app.services.turns.minute_tally import MinuteTally
from app.services.turns.shares import (
    BLOB_BYTES,
    INDEX_QUERIES,
    INGEST_BYTES,
    LONG_CALL_CHARACTERS,
    LONG_TEXT_CHARACTERS,
    READINGS,
    READS,
    RERANKINGS,
    TEXT_CHARACTERS,
    Shares,
)
from app.services.turns.threads import ThreadTurns
from app.services.turns.turns import PATIENCE_SECONDS, WAIT_SECONDS, LongWork, RequestTurns

T = TypeVar("T")

_MINUTE_MS = 60_000
REFUSED_MS = 60_000
"""Milliseconds after a refused store in which an agent's stores are checked before they are embedded."""
_MOST_REFUSED = 10_000
CREDENTIAL_CHANGES = 60
"""How many credentials a tenant may mint and revoke in a minute, of each replica."""


class Admission:
    """The turns, the shares and the rates of this process. All tenants and the runtimes of all shards share one."""

    def __init__(
        self,
        *,
        wait_seconds: float = WAIT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        tenant_recalls: int | None = None,
        agent_recalls: int | None = None,
        credential_requests: int | None = None,
        counts: MinuteTally | None = None,
    ) -> None:
        """Take the seconds that a request waits for its turn, and long work for requests.

        ``tenant_recalls`` and ``agent_recalls`` limit the recalls of each tenant and agent in a minute; None is no
        limit. ``credential_requests`` limits the requests of each credential that has no limit of its own. ``counts``
        are those of all workers, where there are several.
        """
        self.reads = Shares(READS)
        """The shares of runs of the database that only read."""
        self.index_queries = Shares(INDEX_QUERIES)
        """The shares of queries of an index over the network."""
        self.texts, self.long_texts = Shares(TEXT_CHARACTERS), Shares(LONG_TEXT_CHARACTERS)
        """The shares of characters that are embedded, by all calls and by long calls."""
        self.readings, self.rerankings = Shares(READINGS), Shares(RERANKINGS)
        self.blob_bodies, self.ingest_bodies = Shares(BLOB_BYTES), Shares(INGEST_BYTES)
        self.requests = RequestTurns(wait_seconds=wait_seconds, shares=(self.reads, self.texts))
        self.long_work = LongWork(patience_seconds)
        self.threads = ThreadTurns()
        counts = counts or MinuteTally()
        self.recalls = RecallRates(tenant_recalls, agent_recalls, counts)
        self.credentials = CredentialRates(credential_requests, counts)
        self.refusals = Refusals()


class TenantAdmission:
    """The turns, shares and rates of the process for one tenant, bound here."""

    __slots__ = ("_process", "_tenant_id")

    def __init__(self, tenant_id: str, process: Admission) -> None:
        """Bind the tenant."""
        self._tenant_id = tenant_id
        self._process = process

    def request(self) -> AbstractContextManager[None]:
        """Return a context that counts a request as under way: long work waits for the request."""
        return self._process.long_work.request()

    async def part(self) -> None:
        """Wait until the tenant's long work may go on for some milliseconds."""
        await self._process.long_work.part(self._tenant_id)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return the result of some work that is done in a thread, once it is the tenant's turn."""
        return await self._process.threads.run(self._tenant_id, work)

    def read(self) -> AbstractAsyncContextManager[None]:
        """Return a context that holds the place of a run of the database that only reads."""
        return self._process.reads.take(self._tenant_id, 1)

    def index_query(self) -> AbstractAsyncContextManager[None]:
        """Return a context that holds the place of a query of an index over the network."""
        return self._process.index_queries.take(self._tenant_id, 1)

    @asynccontextmanager
    async def embedding(self, characters: int) -> AsyncIterator[None]:
        """Wait for room to embed this number of characters, and hold the room while the block runs."""
        long = characters > LONG_CALL_CHARACTERS
        waiting = self._process.long_texts.take(self._tenant_id, characters) if long else nullcontext()
        async with waiting, self._process.texts.take(self._tenant_id, characters):
            yield

    def blob(self, size: int) -> AbstractAsyncContextManager[None]:
        """Return a context that holds room for ``size`` bytes of a blob."""
        return self._process.blob_bodies.take(self._tenant_id, size)

    def conversation(self, size: int) -> AbstractAsyncContextManager[None]:
        """Return a context that holds room for ``size`` bytes of an ingestion's body."""
        return self._process.ingest_bodies.take(self._tenant_id, size)

    def recall(self, agent_id: str, now: int) -> None:
        """Count a recall, or an explanation of one; raises ``QuotaExceeded`` as ``RecallRates.admit`` does."""
        self._process.recalls.admit(Scope(self._tenant_id, agent_id), now)

    @property
    def credential_requests(self) -> int | None:
        """How many requests a credential without a limit of its own may make in a minute; None: any number."""
        return self._process.credentials.usual

    def credential_change(self, now: int) -> None:
        """Count that a credential is minted or revoked; raises ``QuotaExceeded`` as ``CredentialRates.change`` does."""
        self._process.credentials.change(self._tenant_id, now)

    def store_refused(self, agent_id: str, now: int) -> None:
        """Note that a store was refused at ``now``, in milliseconds since the epoch."""
        self._process.refusals.note(Scope(self._tenant_id, agent_id), now)

    def refused_lately(self, agent_id: str, now: int) -> bool:
        """Tell whether a store of the agent was refused in the minute before ``now``."""
        return self._process.refusals.lately(Scope(self._tenant_id, agent_id), now)


class RecallRates:
    """Counts the admitted recalls of the current minute in memory, since a recall writes no row to count."""

    def __init__(self, tenant: int | None = None, agent: int | None = None, counts: MinuteTally | None = None) -> None:
        """Take the limits of every tenant and of every agent; None is no limit."""
        self._tenant = tenant
        self._agent = agent
        self._counts = counts or MinuteTally()

    def admit(self, scope: Scope, now: int) -> None:
        """Count a recall, or an explanation of one, at ``now``, in milliseconds since the epoch.

        Raises:
            QuotaExceeded: the tenant or the agent has made as many recalls in this minute as it may.
        """
        if (self._tenant is None and self._agent is None) or scope.agent_id in RESERVED_AGENTS:
            return
        minute, passed = divmod(now, _MINUTE_MS)
        of_agent, of_tenant = ("recalls", scope.tenant_id, scope.agent_id), ("recalls", scope.tenant_id)
        if self._agent is not None and (used := self._counts.used(of_agent, minute)) >= self._agent:
            raise _exceeded(Use("recalls_per_minute", "agent", used, self._agent), passed)
        if self._tenant is not None and (used := self._counts.used(of_tenant, minute)) >= self._tenant:
            raise _exceeded(Use("recalls_per_minute", "tenant", used, self._tenant), passed)
        if self._agent is not None:
            self._counts.add(of_agent, minute)
        if self._tenant is not None:
            self._counts.add(of_tenant, minute)


class CredentialRates:
    """Counts, in the current minute and in memory, requests by their credential, and changes of credentials."""

    def __init__(self, requests: int | None = None, counts: MinuteTally | None = None) -> None:
        """Take the limit of requests of each credential that has no limit of its own; None is no limit."""
        self.usual = requests
        self._counts = counts or MinuteTally()

    def admit(self, tenant_id: str, credential_id: str, own: int | None, now: int) -> None:
        """Count a request of a credential at ``now``, in milliseconds since the epoch; ``own`` is its own limit.

        Raises:
            QuotaExceeded: the credential has made as many requests in this minute as it may.
        """
        most = self.usual if own is None else own
        if most is None:
            return
        used, passed = self._count((tenant_id, credential_id), most, now)
        if used >= most:
            raise QuotaExceeded(
                f"The credential has made the {most} requests that it may make in a minute. Nothing was done.",
                reached=Use("requests_per_minute", "credential", used, most).header,
                retry_after=_seconds_left(passed),
            )

    def change(self, tenant_id: str, now: int) -> None:
        """Count that a credential of a tenant is minted or revoked at ``now``, in milliseconds since the epoch.

        Raises:
            QuotaExceeded: the tenant has minted and revoked as many in this minute as it may.
        """
        used, passed = self._count((tenant_id, None), CREDENTIAL_CHANGES, now)
        if used >= CREDENTIAL_CHANGES:
            raise QuotaExceeded(
                f"The tenant has minted and revoked {CREDENTIAL_CHANGES} credentials in this minute, as many as it may."
                " None was minted or revoked.",
                reached=Use("credential_changes_per_minute", "tenant", used, CREDENTIAL_CHANGES).header,
                retry_after=_seconds_left(passed),
            )

    def _count(self, of: tuple[str, str | None], most: int, now: int) -> tuple[int, int]:
        """Count one more where ``most`` allows it; return the count before, and how long the minute has lasted."""
        minute, passed = divmod(now, _MINUTE_MS)
        used = self._counts.used(("credential", *of), minute)
        if used < most:
            self._counts.add(("credential", *of), minute)
        return used, passed


def _seconds_left(passed: int) -> int:
    return -(-(_MINUTE_MS - passed) // 1000)


def _exceeded(use: Use, passed: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"This is over the {use.scope}'s limit of {use.limit} recalls per minute. Nothing was recalled.",
        reached=use.header,
        retry_after=_seconds_left(passed),
    )


class Refusals:
    """The scopes with a refused store in the last minute. All tenants share one, which saves work of this process."""

    def __init__(self) -> None:
        """Begin without refusals."""
        self._until: dict[Scope, int] = {}

    def note(self, scope: Scope, now: int) -> None:
        """Note a refusal at ``now``, in milliseconds since the epoch."""
        self._until.pop(scope, None)
        if len(self._until) >= _MOST_REFUSED:
            del self._until[next(iter(self._until))]
        self._until[scope] = now + REFUSED_MS

    def lately(self, scope: Scope, now: int) -> bool:
        """Tell whether a store of the scope was refused in the minute before ``now``."""
        return self._until.get(scope, 0) > now
