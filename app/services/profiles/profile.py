"""A profile: one agent's memory as the constrained API shows it (docs/constrained-api.md)."""

import asyncio
from datetime import UTC, datetime

import structlog

from app.domain import limits
from app.domain.canaries import RESERVED_AGENTS
from app.domain.claim import MemoryType
from app.domain.errors import Unavailable
from app.domain.limits import TASK_DAYS
from app.domain.memory import Memory, NewMemory, Scope
from app.domain.moments import DAY_MS
from app.domain.profile_answers import (
    MemoryDetail,
    ProfileRecall,
    ProfileSummary,
    ResponseLength,
    SourceMessage,
    ThinkingLevel,
    Version,
    first_line,
)
from app.domain.reading import are_tasks
from app.language.dates.days import dated_once
from app.language.dates.time_expressions import last_day
from app.ports.database import Row
from app.retrieval.query.periods import LATEST
from app.services.answering.answerer import Answering, ProfileQuestion
from app.services.answering.model_answering import ModelAnswering
from app.services.answering.summary import summary
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.sessions import SessionDeletion, Sessions
from app.services.profiles.forgetting import Forgetting
from app.services.tenant.agent_database import AgentDatabase
from app.services.tenant.backends import TenantBackends
from app.storage.agents import Agents, agent_settings
from app.storage.chains import versions
from app.storage.declared import ListPage
from app.storage.learned_of import sources
from app.storage.listing import ListPosition, MemoryListing
from app.storage.rows import read_memory, read_rows

_SECOND_MS = 1_000
_EPOCH = 719_163
"""The ordinal of the first day of the epoch."""
_SUMMARISED = 200


class ProfileService:
    """Stores, recalls, lists and forgets memories of the profiles, which are agents, of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._backends = backends
        self._listing = MemoryListing(backends.tenant_id)

    async def remember(
        self,
        agent_id: str,
        content: str,
        *,
        session_id: str | None = None,
        occurred_at: int | None = None,
        expires_at: int | None = None,
    ) -> Memory:
        """Store a memory and return it; the same content again is the same memory, and is remembered if forgotten.

        Without ``expires_at`` a task expires: a content that names a day, is due once, and is a task as a reader sees
        it. It expires after the last day that it may mean, and not before ``TASK_DAYS``, but with the agent's retention
        where that is shorter. Other contents, those of which the last day is not known, and those that could not be
        read in time, get no expiry of this kind. Raises as ``LongTermMemoryGateway.store`` does.
        """
        new = NewMemory(content, {}, session_id, occurred_at, expires_at)
        if expires_at is None and await self._passes(content):
            new = NewMemory(content, {}, session_id, occurred_at, await self._expiry_of_task(agent_id, new))
        id_ = await LongTermMemoryGateway(self._backends).store(agent_id, new)
        database = AgentDatabase(self._backends, agent_id)
        (found,) = await database.run([database.one(id_)])
        return database.memory(found)

    async def recall(
        self,
        agent_id: str,
        query: str,
        *,
        reference_time: int | None = None,
        as_of: int | None = None,
        length: ResponseLength = "medium",
        thinking: ThinkingLevel = "low",
        explain: bool = False,
    ) -> ProfileRecall:
        """Answer a query from the memories that answer it best, as many as ``length`` asks for.

        A language model, where one is set, writes the answer as far as the memories support it, from a number of
        memories that ``thinking`` sets; without a model ``thinking`` has no effect. Raises as
        ``LongTermMemoryGateway.recall`` does.
        """
        limits.check(("query", limits.PROFILE_QUERY, query), ("agent_id", limits.AGENT_ID, agent_id))
        moments = (reference_time, as_of, self._backends.clock())
        now = next(moment for moment in moments if moment is not None)
        model = None if agent_id in RESERVED_AGENTS else self._backends.models.model  # a probe costs nobody anything
        answering = (
            Answering(self._backends, agent_id) if model is None else ModelAnswering(self._backends, agent_id, model)
        )
        question = ProfileQuestion(query, now, reference_time, as_of, length, thinking, explain)
        answer = await answering.answer(question)
        self._backends.audit.degraded(answer.degraded)
        return answer

    async def list(
        self,
        agent_id: str,
        *,
        limit: int,
        after: ListPosition | None,
        session_id: str | None = None,
        type: MemoryType | None = None,  # noqa: A002 - the name that the field has everywhere
    ) -> ListPage[Memory]:
        """Return the next memories that hold, newest first: of one session and of one type, or of all.

        Memories that are superseded, forgotten or expired are left out. A page may have fewer than ``limit`` memories
        though more follow: its ``after`` then says so.

        Raises:
            InvalidRequest: a field is over its limits.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.PROFILE_PAGE, limit), ("session_id", limits.SESSION_ID, session_id))
        database = AgentDatabase(self._backends, agent_id)
        wanted = self._listing.profile(database.scope, limit=limit, after=after, session_id=session_id, type_=type)
        (rows,) = await database.run([wanted])
        memories = [read_memory(database.scope.tenant_id, row) for row in rows]
        more = bool(rows) and bool(rows[-1]["following"])
        return ListPage(memories, ListPosition(memories[-1].created_at, memories[-1].id) if more else None)

    async def get(self, agent_id: str, memory_id: str) -> MemoryDetail:
        """Return one memory, even if it is superseded or was forgotten, with its versions and its sources.

        Raises:
            NotFound: the agent has no such memory.
            InvalidRequest: an id is malformed.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        limits.check(("memory_id", limits.MEMORY_ID, memory_id))
        database = AgentDatabase(self._backends, agent_id)
        scope = database.scope
        reads = [database.one(memory_id), versions(scope, memory_id), sources(scope, memory_id)]
        found, chain, said = await database.run(reads)
        memory = database.memory(found)
        return MemoryDetail(memory, [_version(row) for row in chain], read_rows(SourceMessage, said))

    async def forget(self, agent_id: str, memory_id: str) -> Memory:
        """Mark a memory as forgotten, so that no recall finds it, and return it; a forgotten memory stays forgotten.

        A memory that the forgotten one had replaced does not hold again. ``unforget`` takes the mark away.

        Raises:
            Superseded: another memory holds in place of this one; nothing was changed.
            NotFound: the agent has no such memory.
            Forbidden: the credential is bound to speakers, and another speaker speaks in the memory.
            InvalidRequest: an id is malformed.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer; forgetting the memory again is safe.
        """
        return await self._forgetting(agent_id, memory_id).forget(memory_id)

    async def unforget(self, agent_id: str, memory_id: str) -> Memory:
        """Take the mark of a forgotten memory away, and return the memory; a memory without the mark stays as it is.

        Raises as ``forget`` does, but for ``Superseded``.
        """
        return await self._forgetting(agent_id, memory_id).unforget(memory_id)

    async def summary(self, agent_id: str, session_id: str | None = None) -> ProfileSummary:
        """Return Markdown that sums up the newest memories that hold, of one session or of all; "" where none hold.

        A summary counts as a recall. A language model, where one is set, writes it as far as the memories support it.

        Raises:
            QuotaExceeded: the agent or the tenant has made as many recalls in this minute as it may.
            InvalidRequest, LongTermDisabled, Unavailable: as ``list`` does.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        self._backends.admission.recall(agent_id, self._backends.clock())
        page = await self.list(agent_id, limit=_SUMMARISED, after=None, session_id=session_id)
        now, model = self._backends.clock(), self._backends.models.model
        if model is not None:
            summed = await ModelAnswering(self._backends, agent_id, model).summary(page.items, now)
            self._backends.audit.degraded(summed.degraded)
            return summed
        # A summary may take longer than a step of the event loop may.
        return ProfileSummary(await asyncio.to_thread(summary, page.items))

    async def delete_session(self, agent_id: str, session_id: str) -> SessionDeletion:
        """Delete the memories of a session and its messages; a missing session is no error. For administrators.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer; some memories may be deleted, and deleting again is safe.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("session_id", limits.SESSION_ID, session_id))
        return await Sessions(self._backends).delete(Scope(self._backends.tenant_id, agent_id), session_id)

    def _forgetting(self, agent_id: str, memory_id: str) -> Forgetting:
        limits.check(("memory_id", limits.MEMORY_ID, memory_id))
        database = AgentDatabase(self._backends, agent_id)
        return Forgetting(database, self._backends.author, self._backends.clock())

    async def _passes(self, content: str) -> bool:
        """Tell whether a content is a task that is due once, on a day that it names; False where it cannot be read."""
        reader, parts = self._backends.models.reader, dated_once(content)
        if reader is None or not parts:
            return False
        try:
            return are_tasks(await reader.kinds(parts), reader.thresholds)
        except Unavailable as error:
            structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
            return False

    async def _expiry_of_task(self, agent_id: str, task: NewMemory) -> int | None:
        """Return when a task that is stored now expires, in ms since the epoch; None where its last day is not known.

        A task expires within the agent's retention at most.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        (rows,) = await self._backends.data.database.run([Agents(self._backends.tenant_id).settings(agent_id)])
        days = agent_settings(rows).retention_days
        now = self._backends.clock()
        named = last_day(task.content, _utc(now if task.occurred_at is None else task.occurred_at))
        if named is None:
            return None
        due = min((named.toordinal() - _EPOCH + 1) * DAY_MS, LATEST)
        expires_at = max((now // _SECOND_MS + 1) * _SECOND_MS + TASK_DAYS * DAY_MS, due)
        return expires_at if days is None else min(expires_at, now + days * DAY_MS)


def _utc(moment: int) -> datetime:
    return datetime.fromtimestamp(moment / 1000, UTC)


def _version(row: Row) -> Version:
    superseded_at = row["superseded_at"]
    return Version(
        str(row["key"]),
        str(row["memory_id"]),
        first_line(str(row["content"])),
        int(row["happened_at"] or 0),
        int(row["created_at"] or 0),
        None if row["occurred_at"] is None else int(row["occurred_at"]),
        None if superseded_at is None else int(superseded_at),
    )
