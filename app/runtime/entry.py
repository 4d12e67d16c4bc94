"""Admits a call, over every interface, and gives it its principal and its tenant's services."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from app.domain.acts import DEPLOYMENT, Act, ActName
from app.domain.author import WriteChannel
from app.domain.errors import Forbidden, MemoryGatewayError, Unauthenticated
from app.domain.request_note import RequestNote
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.runtime.state import OperatingState, state_of
from app.runtime.tenant_services import TenantServices
from app.services.access.acting import Acting, begin, ended
from app.services.access.credentials import Principal
from app.services.access.scopes import AccessScope


@dataclass(frozen=True, slots=True)
class CallEntry:
    """An admitted call: its principal, and the services of its tenant at the shard where the tenant lives.

    What the call needs is said first, by ``within``: an entry gives no services before. Then ``agent`` is for data of
    one agent, ``tenant`` for reading data that may be of all agents, ``shared`` for reading data that a tenant's agents
    share, and ``every_agent`` for writing it. Where the service is not ready, each raises the reason.
    """

    principal: Principal
    _shards: Shards
    _runtime: Runtime
    channel: WriteChannel = "http"
    note: RequestNote = field(default_factory=RequestNote)
    scopes: Sequence[AccessScope] | None = None
    """The scopes that the call needs and its credential has; None: it was not said yet which it needs."""
    counts: dict[str, object] = field(default_factory=dict)
    """How many things the call's administrative act has concerned, by their names; who does the act adds to it."""

    def within(self, *scopes: AccessScope, channel: WriteChannel | None = None) -> "CallEntry":
        """Return this call as one that needs these scopes, or with none only a credential that holds.

        ``channel`` is another one that the call writes by.

        Raises:
            Forbidden: the credential lacks one, which the error names.
        """
        self.principal.check_scopes(scopes)
        channel, note, counts = channel or self.channel, self.note, self.counts
        return CallEntry(self.principal, self._shards, self._runtime, channel, note, scopes, counts)

    def for_agent(self, agent_id: str | None) -> "CallEntry":
        """Return this call as one of a credential for this agent alone; with None the call as it is.

        Raises:
            Forbidden: the credential is for another agent.
        """
        if agent_id is None:
            return self
        self.principal.check_agent(agent_id)
        return replace(self, principal=replace(self.principal, agent_id=agent_id))

    def agent(self, agent_id: str) -> TenantServices:
        """Return the tenant's services for a call about one agent.

        Raises:
            Forbidden: the credential is for another agent.
        """
        self.principal.check_agent(agent_id)
        return self._services()

    def tenant(self, agent_id: str | None = None) -> tuple[TenantServices, str | None]:
        """Return the tenant's services, and the only agent whose data may be touched; None stands for all agents.

        Args:
            agent_id: The only agent that is asked for.

        Raises:
            Forbidden: the credential is neither an administrator's nor for this agent alone.
        """
        only_agent = self.principal.readable(agent_id)
        return self._services(), only_agent

    def shared(self, agent_id: str | None = None) -> tuple[TenantServices, str | None]:
        """Return the tenant's services, and the only agent whose part of the shared data may be read; None: all parts.

        Args:
            agent_id: The only agent that is asked for.

        Raises:
            Forbidden: the credential is for another agent.
        """
        own = self.principal.agent_id
        if own is not None:
            self.principal.check_agent(own if agent_id is None else agent_id)
        return self._services(), own or agent_id

    def every_agent(self) -> TenantServices:
        """Return the tenant's services for a write of data that all of its agents share.

        Raises:
            Forbidden: the credential is for one agent alone.
        """
        self.principal.check_every_agent()
        return self._services()

    def of_sign_in(self) -> TenantServices:
        """Return the tenant's services for signing in and out of the console, which reads no data."""
        return self._services()

    async def check_holds(self, id_: str) -> None:
        """Check that an id which stands for the principal, such as a session's, was not ended as credentials are.

        Raises:
            Unauthenticated: it has ended.
            Unavailable: the database does not answer.
        """
        if not self.principal.may_be_revoked:
            named = replace(self.principal, credential_id=id_)
            await self._runtime.backends.revocations.check(named, self._runtime.read_revocations)

    async def state(self) -> OperatingState:
        """Return the state of the service over all tenants; raises as ``state_of`` does."""
        return await state_of(self._shards)

    def keys(self, purpose: str) -> list[bytes]:
        """Return the keys that are for one purpose alone; the first key signs, all keys verify."""
        return self._runtime.credentials.keys(purpose)

    def now(self) -> int:
        """Return now, in milliseconds since the epoch."""
        return self._runtime.backends.clock()

    async def begin(self, name: ActName, /, **subject: object) -> Acting:
        """Write that an administrative act of this call begins, and return it; ``Acting.end`` writes its outcome.

        ``subject`` are the ids that it names. Without the row the act must not be done.

        Raises:
            MemoryGatewayError: the row cannot be written.
        """
        principal = self.principal
        by = Act("", name, channel=self.channel, credential_id=principal.credential_id, request_id=_request_id())
        backends = self._runtime.backends.of_tenant(principal.tenant_id)
        run, named = backends.data.database.run, backends.screening.named(subject)
        late, key = self._shards.late_acts, self._shards.act_keys()[0]
        begun = await begin(name, principal.tenant_id, run, key=key, late=late.ended, by=by, subject=named)
        begun.counts, self.note.acted = self.counts, True
        return begun

    @asynccontextmanager
    async def acting(self, name: ActName, /, **subject: object) -> AsyncIterator[Acting]:
        """Do an administrative act of this call: its row is written before, and its outcome after; see ``begin``."""
        async with ended(await self.begin(name, **subject)) as acting:
            yield acting

    def refused(self, error: Exception, name: ActName = "access") -> None:
        """Count that this call was refused, where it was, unless an act of it has begun: its row tells so."""
        if isinstance(error, Forbidden | Unauthenticated) and not self.note.acted:
            _count_refusal(self._shards, self.principal, error, self.channel, name)

    async def where_it_lives(self) -> "CallEntry":
        """Return this call at the runtime where the tenant lives now.

        Raises:
            Unauthenticated: the credential was revoked where the tenant has moved to.
            ShardUnavailable, Unavailable: as ``Shards.of`` does.
        """
        runtime = await self._shards.of(self.principal.tenant_id)
        if runtime is not self._runtime and runtime.not_ready is None and self.principal.credential_id is not None:
            await runtime.backends.revocations.check(self.principal, runtime.read_revocations)
        return replace(self, _runtime=runtime)

    def _services(self) -> TenantServices:
        if self.scopes is None:
            raise MemoryGatewayError("A call was not said to read, to write or to administer.")
        return self._runtime.services(self.principal.tenant_id, self.principal.author(self.channel), self.note)


async def principal_of(shards: Shards, headers: Callable[[str], Sequence[str]]) -> Principal:
    """Return the principal of a call; ``headers`` returns the values of a header by its name in lower case.

    Raises:
        Unauthenticated: there is no credential that holds.
        Forbidden: the credential holds, but not for memories, or an issuer's token maps to no tenant.
        IssuerUnavailable: the issuer of a token does not answer, and its key is not known.
    """
    main = shards.main
    now, issuers = main.backends.clock(), main.backends.issuers
    authorization = headers("authorization")
    try:
        if issuers is None:
            return main.credentials.verify_header(authorization, now)
        return await issuers.principal(main.credentials, headers, now)
    except (Unauthenticated, Forbidden) as error:
        seen = main.credentials.seen(authorization)
        if seen is None and issuers is not None:
            seen = issuers.seen(authorization)
        _count_refusal(shards, seen, error, "http")
        raise


async def admit(shards: Shards, principal: Principal, note: RequestNote, channel: WriteChannel = "http") -> CallEntry:
    """Let in a call of a verified principal, once it is its tenant's turn to begin one.

    If the shard is not ready, the check for revocations is skipped; asking for services then raises the reason.

    Raises:
        Unauthenticated: the credential was revoked.
        QuotaExceeded: the credential has made as many requests in this minute as it may.
        Overloaded: the call has waited for its turn for too long, or would have to.
        RateLimited: the tenant has had its part of the calls that are left, or Cloudflare blocks.
        ShardUnavailable: the tenant's shard is missing, or cannot be used.
        Unavailable: the tenant's shard, or the revocations, are not known, since a database does not answer.
    """
    sharded = shards.places.sharded
    backends = shards.main.backends
    tenant_id, credential_id = principal.tenant_id, principal.credential_id
    structlog.contextvars.bind_contextvars(tenant=tenant_id, credential=credential_id)
    note.tenant_id = tenant_id
    now = backends.clock()
    if credential_id is not None and not principal.is_prober:
        backends.admission.credentials.admit(tenant_id, credential_id, principal.requests_per_minute, now)
    runtime = await shards.of(tenant_id) if sharded else shards.main
    await backends.admission.requests.wait(tenant_id)
    if runtime.not_ready is not None:
        return CallEntry(replace(principal, may_be_revoked=True), shards, runtime, channel, note)
    if backends.calls is not None:
        backends.calls.admit(tenant_id)
    try:
        await runtime.backends.revocations.check(principal, runtime.read_revocations)
    except Unauthenticated as error:
        _count_refusal(shards, principal, error, channel)
        raise
    if (
        shards.places.sharded and not sharded
    ):  # the check has found that there is another shard by now: enter again, to find the tenant's shard
        return await admit(shards, principal, note, channel)
    runtime.backends.credential_uses.note(principal, now)
    return CallEntry(principal, shards, runtime, channel, note)


def _count_refusal(
    shards: Shards,
    principal: Principal | None,
    error: Forbidden | Unauthenticated,
    channel: WriteChannel,
    name: ActName = "access",
) -> None:
    """Count an attempt that was refused; without a principal it is of a tenant that is not known.

    What the prober is refused is as it should be, and is not counted.
    """
    if principal is not None and principal.is_prober:
        return
    tenant_id, credential_id = (
        (DEPLOYMENT, None) if principal is None else (principal.tenant_id, principal.credential_id)
    )
    shards.late_acts.refused(tenant_id, credential_id, name, error.code, channel)


def _request_id() -> str | None:
    """Return the id of the request that is being handled."""
    request_id: str | None = structlog.contextvars.get_contextvars().get("request_id")
    return request_id
