"""Ingests conversations for one tenant: in bulk, by the program that runs an agent, never by a tool of the agent."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import get_args

from app.domain import limits
from app.domain.errors import NotFound, OperationRunning, Unavailable
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.messages import Item, ItemStatus, NewMessage
from app.domain.request_note import MemoryOperation
from app.ports.database import Row
from app.services.ingest.dry_run import Shown, dry_run
from app.services.ingest.identify import Conversation, identify, screened
from app.services.ingest.messages import Taken, Taking, allowed, too_many
from app.services.ingest.operation import Attempt, Operation
from app.services.ingest.work import IngestionWork
from app.services.tenant.backends import TenantBackends
from app.storage.ingestions import Ingestion, ingestion, newest, read, state
from app.storage.learning_report import LearningReport, author_of, learning_report, report, retry
from app.storage.messages import written

_INTERRUPTED = "unavailable"
"""The code of a message that is no memory though its ingestion has ended: the message or its memory was removed."""
_RUNNING = "The operation is still running. Ask how far it is, and try again once it ends."


class Ingester:
    """Ingests conversations for the agents of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends

    async def ingest(self, agent_id: str, messages: Sequence[NewMessage], session_id: str | None = None) -> Ingestion:
        """Take messages and make memories of those that are none; the same messages again change nothing.

        ``items`` say what became of each message: every recall finds the messages that are stored or known. While a
        message is waiting, the ingestion is running: it goes on after this call, in this process or another
        (``ingestion``), and so does what a language model learns of the messages. Messages that another ingestion had
        brought, and whose process has stopped, are taken over.

        Raises:
            InvalidRequest: a field is outside its bounds, or has content that is not kept; nothing was taken.
            Erasing, LongTermDisabled, Unauthenticated: as a store is refused; nothing was written.
            NotFound: the agent has no such run as the request is made under; nothing was written.
            QuotaExceeded: there is no room for a memory, or the tenant has too many ingestions; nothing was written.
            Unavailable: the database does not answer; ingesting again is safe.
        """
        started = perf_counter()
        operation = MemoryOperation("upsert_memory", self._backends.tenant_id, agent_id, count=len(messages))
        with self._backends.audit.operation(operation):
            ingestion = await self._ingest(agent_id, messages, session_id)
        became = Counter(item.status for item in ingestion.items)
        counts: dict[str, Json] = {status: became[status] for status in get_args(ItemStatus)}
        told: dict[str, Json] = {"operation_id": ingestion.id, "ms": round((perf_counter() - started) * 1000, 3)}
        self._backends.audit.note(agent_id, self._backends.run_id, {"event": "ingested", **told, **counts})
        return ingestion

    async def _ingest(self, agent_id: str, messages: Sequence[NewMessage], session_id: str | None) -> Ingestion:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._backends.limits.ingest_seconds
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        scope, now = Scope(self._backends.tenant_id, agent_id), self._backends.clock()
        messages, session_id = await screened(self._backends, messages, session_id, now)
        conversation = await identify(messages, session_id, now)
        taking = Taking(self._backends, scope, conversation)
        learns = self._backends.models.model is not None
        work = IngestionWork(self._backends, scope, conversation.session_id, taking.id, learns=learns)
        taken = await taking.take(work.holder)
        if taken.ingestion is None:
            return _nothing_new(agent_id, conversation, now)
        work.elsewhere = taken.elsewhere
        operation = Operation(work, claimed=taken.claimed)
        running = self._backends.background.start(operation.run(), name="ingestion")
        enough = (operation.put_off, work.written) if learns else (operation.put_off,)
        await _first_of(running, enough, max(0.0, ends - loop.time()))
        if running.done() and not running.result().moved:
            return await self._ended(scope, conversation, taken, work, running.result())
        begun, missing = taken.ingestion, taken.ids
        with suppress(Unavailable):
            own, there = read(scope.tenant_id, agent_id, taking.id), written(scope, sorted(taken.ids))
            rows, memories = await self._backends.data.database.run([own, there])
            begun, missing = ingestion(rows[0]) if rows else begun, _missing(taken, memories)
        if work.written.is_set():
            missing = frozenset()
        return replace(begun, items=_items(conversation, _Outcome(taken, work, missing), None))

    async def dry_run(self, agent_id: str, messages: Sequence[NewMessage], session_id: str | None = None) -> Shown:
        """Return what ingesting the messages would do, and write nothing; raises as ``dry_run`` says."""
        return await dry_run(self._backends, agent_id, messages, session_id)

    async def ingestion(self, agent_id: str | None, ingestion_id: str) -> Ingestion:
        """Return how far an ingestion is; with an agent, only an ingestion of that agent.

        Raises:
            NotFound: there is no such ingestion.
            InvalidRequest: an id does not have the form of an id.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("operation_id", limits.OPERATION_ID, ingestion_id))
        (rows,) = await self._backends.data.database.run([read(self._backends.tenant_id, agent_id, ingestion_id)])
        if not rows:
            raise NotFound("There is no such operation.")
        return ingestion(rows[0])

    async def newest(self, agent_id: str, limit: int) -> list[Ingestion]:
        """Return an agent's newest ingestions, newest first, at most ``limit`` (1 to 100).

        Raises:
            InvalidRequest: the id does not have the form of an id, or the limit is out of bounds.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("limit", limits.LIST_LIMIT, limit))
        (rows,) = await self._backends.data.database.run([newest(Scope(self._backends.tenant_id, agent_id), limit)])
        return [ingestion(row) for row in rows]

    async def learning(self, found: Ingestion) -> LearningReport | None:
        """Return what a language model has made of the messages of an ingestion; None where it reads no messages.

        Raises:
            Unavailable: the database does not answer.
        """
        if found.id is None or found.planned_at is None:
            return None
        scope = Scope(self._backends.tenant_id, found.agent_id)
        return learning_report(await self._backends.data.database.run(report(scope, found.id)))

    async def retry(self, agent_id: str, ingestion_id: str) -> Ingestion:
        """Begin the failed learning of an ingestion again, and return the ingestion, which goes on after this call.

        The memories are of the author who sent the messages. Where nothing has failed, or the undo of its run has ended
        the ingestion, nothing is done. Messages that could not be stored have to be sent again.

        Raises:
            NotFound: there is no such ingestion.
            OperationRunning: the ingestion is not finished.
            Erasing, LongTermDisabled, Unauthenticated: as a store is refused; nothing was begun.
            QuotaExceeded: the tenant has too many ingestions that are not finished; nothing was begun.
            InvalidRequest: an id does not have the form of an id.
            Unavailable: the database does not answer; trying again is safe.
        """
        found = await self.ingestion(agent_id, ingestion_id)
        if found.finished_at is None:
            raise OperationRunning(_RUNNING)
        scope = Scope(self._backends.tenant_id, agent_id)
        work = IngestionWork(self._backends, scope, found.session_id, ingestion_id, learns=True, planned=True)
        ((row,),) = await self._backends.data.database.run([state(scope, self._backends.author)])
        allowed(row)
        begun, *_, waits_for_room, rows = await self._backends.data.database.run(
            [*retry(scope, ingestion_id, work.holder), work.own.read()]
        )
        if begun:
            work.backends = replace(self._backends, author=author_of(begun[0]))
            self._backends.background.start(Operation(work, claimed=True).run(), name="ingestion")
        elif not rows:
            raise NotFound("There is no such operation.")
        elif waits_for_room:
            raise too_many()
        again = ingestion(rows[0])
        if again.finished_at is None and not begun:
            raise OperationRunning(_RUNNING)
        return again

    async def resume(self, agent_id: str, session_id: str, ingestion_id: str) -> bool:
        """Go on with an ingestion that no process works on, and tell whether it is finished."""
        work = IngestionWork(self._backends, Scope(self._backends.tenant_id, agent_id), session_id, ingestion_id)
        return (await Operation(work).attempt(adopts=True)).finished

    async def _ended(
        self, scope: Scope, conversation: Conversation, taken: Taken, work: IngestionWork, attempt: Attempt
    ) -> Ingestion:
        """Return an ingestion that has ended, with the outcome of each message."""
        ended = attempt.ingestion
        if attempt.error is not None and (ended is None or not (ended.written or ended.known)):
            raise attempt.error
        assert ended is not None  # noqa: S101 - without an ingestion there is an error
        missing = frozenset[str]()
        if ended.failure is not None or taken.elsewhere:
            (memories,) = await self._backends.data.database.run([written(scope, sorted(taken.ids))])
            missing = _missing(taken, memories)
        items = _items(conversation, _Outcome(taken, work, missing), ended.failure or _INTERRUPTED)
        return replace(ended, items=items)


async def _first_of(running: asyncio.Task[Attempt], events: Sequence[asyncio.Event], seconds: float) -> None:
    """Wait until the task ends, or an event is set, or the seconds have passed."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait({running, *waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _nothing_new(agent_id: str, conversation: Conversation, now: int) -> Ingestion:
    """Return an ingestion of messages that are all memories already."""
    known = len(conversation.ids)
    items = [Item(id_, "known") for id_ in conversation.ids]
    return Ingestion(None, agent_id, conversation.session_id, now, known, known, 0, now, None, items)


def _missing(taken: Taken, memories: Sequence[Row]) -> frozenset[str]:
    """Return the ids of the messages that were no memories when they were sent, and are none now."""
    return taken.ids - {str(row["id"]) for row in memories}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The messages that an ingestion took, and the ids of those that are no memories."""

    taken: Taken
    work: IngestionWork
    missing: frozenset[str]


def _items(conversation: Conversation, outcome: _Outcome, failure: str | None) -> list[Item]:
    """Return the outcome of each message: one that is no memory has failed, or is waiting where ``failure`` is None."""
    own = outcome.taken.new | outcome.work.taken_over
    items: list[Item] = []
    seen: set[str] = set()
    for id_ in conversation.ids:
        if id_ in outcome.missing:
            items.append(Item(id_, "waiting" if failure is None else "failed", failure))
        else:
            items.append(Item(id_, "stored" if id_ in own and id_ not in seen else "known"))
        seen.add(id_)
    return items
