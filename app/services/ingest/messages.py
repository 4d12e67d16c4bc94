"""The first stage: takes messages into the database, so that no message is lost from then on."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from app.domain import limits
from app.domain.errors import Erasing, LongTermDisabled, QuotaExceeded
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, Tenant
from app.domain.messages import Message
from app.domain.moments import new_id
from app.domain.quotas import UNLIMITED
from app.ports.database import Row
from app.services.access.credentials import refused
from app.services.ingest.identify import Conversation
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import no_such_run, write
from app.services.turns.turns import paced
from app.storage import request_state
from app.storage.ingestions import Ingestion, Ingestions, IngestState, ingestion, state
from app.storage.messages import Messages, to_row, written
from app.storage.quotas import Quotas, check_room
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import agent_of_run

RUN_BYTES = 1_500_000
"""Bytes of the messages that are taken in one run of the database: D1 takes 2 MB."""
_RETRY_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Taken:
    """The messages that were taken of a conversation; ``ingestion`` is None where all were memories already."""

    ingestion: Ingestion | None = None
    new: frozenset[str] = field(default_factory=frozenset)
    """The ids of the messages that this ingestion is to write."""
    elsewhere: Sequence[Message] = ()
    """The messages that another ingestion had brought, and that are no memories yet."""
    claimed: bool = False

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of all messages that were no memories."""
        return self.new.union(message.id for message in self.elsewhere)


class Taking:
    """Takes the messages of one conversation for one agent."""

    def __init__(self, backends: TenantBackends, scope: Scope, conversation: Conversation) -> None:
        """Bind the conversation, and the scope for which it is taken."""
        self._backends = backends
        self._scope = scope
        self._conversation = conversation
        self.id = new_id(backends.clock())

    async def take(self, holder: str) -> Taken:
        """Take the messages that are not there yet, and the lease for this holder.

        Raises:
            Erasing, LongTermDisabled, NotFound, Unauthenticated: as a store is refused; nothing was taken.
            QuotaExceeded: there is no room for a memory, or the tenant has too many ingestions; nothing was taken.
            Unavailable: the database does not answer; some messages may be taken, and ingesting again is safe.
        """
        known = await self.known()
        new = [message for message in self._conversation.messages if message.id not in known]
        if not new:
            return Taken()
        own = Ingestions(self._scope, self._conversation.session_id, self.id)
        messages = Messages(self._scope, self._conversation.session_id, self.id)
        learns = self._backends.models.model is not None
        author, run_id = self._backends.author, self._backends.run_id
        run = own.accept(author, len(self._conversation.ids), learns=learns, run_id=run_id)
        # Where the first run has found room, the later runs of the same messages ask for none.
        waiting, leaving = False, self._backends.limits.leaving_bytes
        async for rows in chunks(new):
            if waiting:
                await self._run([*run, own.read()], leaving)
                run, leaving = [], UNLIMITED
            run.append(messages.stage(rows))
            waiting = True
        ids = [message.id for message in new]
        last = [own.all_staged(ids), own.claim(holder), messages.staged(), own.read()]
        *_, claimed, staged, (row,) = await self._run([*run, *last], leaving)
        mine = frozenset(str(each["id"]) for each in staged)
        elsewhere = [message for message in new if message.id not in mine]
        return Taken(ingestion(row), mine, elsewhere, claimed=bool(claimed))

    async def known(self) -> set[str]:
        """Return the ids of the messages that are memories; raises as ``take``, where the caller may bring none now."""
        ids = [message.id for message in self._conversation.messages]
        quotas = Quotas(self._backends.tenant_id, self._backends.limits.quotas).read(self._scope.agent_id)
        run_id = self._backends.run_id
        of_run = [] if run_id is None else [agent_of_run(self._scope, run_id)]
        state_rows, there, quota, (seen,), *named = await self._backends.data.database.run(
            [
                state(self._scope, self._backends.author),
                written(self._scope, ids),
                quotas,
                request_state.read(Tenant(self._backends.tenant_id)),
                *of_run,
            ]
        )
        self._backends.data.observe(seen)
        found = allowed(state_rows[0])
        if not all(named):
            raise no_such_run()
        known = {str(row["id"]) for row in there}
        new = [message for message in self._conversation.messages if message.id not in known]
        if new:
            needed = (1, min(len(message.content.encode()) for message in new), 0)
            check_room(quota, needed, leaving=self._backends.limits.leaving_bytes)
            if found.full:
                raise too_many()
        return known

    async def _run(self, run: Sequence[ScopedStatement], leaving: int) -> list[list[Row]]:
        """Make a run whose last statement reads the ingestion's row; raise where the ingestion could not begin."""
        asked = [*run, state(self._scope, self._backends.author)]
        *results, row, state_rows = await write(self._backends, self._scope, asked, kind="staging", leaving=leaving)
        if not row:
            allowed(state_rows[0])
            raise too_many()
        return [*results, row]


def allowed(row: Row) -> IngestState:
    """Return the state that an ingestion depends on; raises as ``Taking.take`` where that state refuses it."""
    found = read_row(IngestState, row)
    if found.revoked:
        raise refused("it was revoked")
    if found.erasing:
        raise Erasing("The agent, or its tenant, is being erased. Ingest again once the erasure has its receipt.")
    if found.disabled:
        raise LongTermDisabled
    return found


def too_many() -> QuotaExceeded:
    """Return the refusal of an ingestion where the tenant has as many unfinished ingestions as it may have."""
    most = limits.MAX_UNFINISHED_INGESTIONS
    return QuotaExceeded(
        f"The tenant has {most} ingestions that are not finished, as many as it may. Wait until one of them is done "
        "(GET /profiles/{profile}/operations/{id}), then ingest again. Nothing was taken.",
        reached=f"ingestions;scope=tenant;used={most};limit={most}",
        retry_after=_RETRY_SECONDS,
    )


async def chunks(messages: Sequence[Message]) -> AsyncIterator[list[dict[str, Json]]]:
    """Yield messages as rows, in chunks of a size that D1 takes in one run."""
    rows: list[dict[str, Json]] = []
    size = 0
    async for place, message in paced(enumerate(messages), lambda each: len(each[1].content)):
        row = to_row(message, place)
        length = len(to_json(row).encode())
        if rows and size + length > RUN_BYTES:
            yield rows
            rows, size = [], 0
        rows.append(row)
        size += length
    yield rows
