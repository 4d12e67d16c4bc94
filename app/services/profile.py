"""A profile: one agent's memory as the constrained API shows it (docs/constrained-api.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from app.domain import limits
from app.domain.errors import LongTermDisabled, NotFound, Superseded
from app.domain.memory import Memory, MemoryType, NewMemory, Scope
from app.domain.query import Entry, Query
from app.domain.summaries import summary
from app.ports.database import Row
from app.services.backends import TenantBackends
from app.services.browse import Page
from app.services.gateway import LongTermMemoryGateway
from app.statements.rules import statements
from app.storage import forgetting, request_state
from app.storage.agents import Agents, agent_settings
from app.storage.chains import versions
from app.storage.listing import MemoryListing, Place
from app.storage.rows import read_memory
from app.storage.scoped import ScopedStatement

ResponseLength: TypeAlias = Literal["short", "medium", "long"]
ThinkingLevel: TypeAlias = Literal["low", "medium", "high"]
Role: TypeAlias = Literal["system", "user", "assistant"]

TASK_DAYS = 7
"""How long a task is kept, where nothing is said and its agent's memories are not kept for a shorter time."""

_DAY_MS = 86_400_000
_READ_FOR_TYPE = 4000
_TOP_K: Final[Mapping[ResponseLength, int]] = {"short": 5, "medium": 10, "long": 20}


@dataclass(frozen=True, slots=True)
class ProfileCandidate:
    """A memory that an answer may rest on."""

    id: str
    summary: str
    session_id: str | None
    score: float
    """How likely it answers the query, 0 to 1."""
    happened_at: int


@dataclass(frozen=True, slots=True)
class ProfileRecall:
    """An answer, and the memories that it may rest on, best first."""

    answer: str
    """"" where nothing answers the query."""
    candidates: Sequence[ProfileCandidate]
    degraded: Sequence[str] = ()
    """Why it may not be all there is, as a recall says."""

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return len(self.candidates)


@dataclass(frozen=True, slots=True)
class Version:
    """One of the memories that stated the value of a key, in the order in which they were said."""

    key: str
    memory_id: str
    summary: str
    happened_at: int
    superseded_at: int | None
    """When what replaced it was said; None: it holds."""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """The message that a memory is."""

    id: str
    role: Role
    session_id: str | None
    said_at: int


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """A memory, the versions of what it states, key by key and oldest first, and the messages that it comes from."""

    memory: Memory
    versions: Sequence[Version]
    sources: Sequence[SourceMessage]


class ProfileService:
    """Remembers, recalls, lists and forgets for the profiles of one tenant, bound here. A profile is an agent."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with; the tenant is bound in it."""
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

        A task expires after ``TASK_DAYS``, unless told. Raises as ``LongTermMemoryGateway.store`` does.
        """
        new = NewMemory(content, {}, session_id, occurred_at, expires_at)
        if expires_at is None and _is_task(content):
            new = NewMemory(content, {}, session_id, occurred_at, await self._expiry_of_task(agent_id))
        id_ = await LongTermMemoryGateway(self._backends).store(agent_id, new)
        return await self._memory(agent_id, id_)

    async def recall(
        self,
        agent_id: str,
        query: str,
        *,
        reference_time: int | None = None,
        as_of: int | None = None,
        length: ResponseLength = "medium",
        thinking: ThinkingLevel = "low",  # noqa: ARG002 - for callers of Cloudflare's API
        limit: int | None = None,
    ) -> ProfileRecall:
        """Answer a query from the memories that answer it best, at most ``limit``, or as many as the length asks for.

        How much thinking is asked for has no effect without a language model. Raises as
        ``LongTermMemoryGateway.recall`` does.
        """
        limits.check(("query", limits.PROFILE_QUERY, query))
        asked = Query(
            query,
            _TOP_K[length] if limit is None else limit,
            reference_time=reference_time,
            as_of=as_of,
            collapse=True,
            for_model=True,
        )
        recall = await LongTermMemoryGateway(self._backends).recall(agent_id, asked)
        answer = recall.entries[0].content if recall.entries else ""
        return ProfileRecall(answer, [_candidate(entry) for entry in recall.entries], recall.degraded)

    async def list(
        self,
        agent_id: str,
        *,
        limit: int,
        after: Place | None,
        session_id: str | None = None,
        type: MemoryType | None = None,  # noqa: A002 - what it is called everywhere
    ) -> Page:
        """Return the next memories that hold, newest first: of one session and of one type, or of all.

        What is superseded, was forgotten or has expired is left out. There may be fewer than ``limit`` though more
        follow: then ``after`` of the page says so.

        Raises:
            InvalidRequest: a field is over its limits.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("limit", limits.PROFILE_PAGE, limit),
            ("session_id", limits.SESSION_ID, session_id),
        )
        scope = self._scope(agent_id)
        wanted = self._listing.profile(scope, limit=limit, after=after, session_id=session_id, type_=type)
        (rows,) = await self._run(scope, [wanted])
        memories = [read_memory(scope.tenant_id, row) for row in rows]
        more = bool(rows) and bool(rows[-1]["following"])
        return Page(memories, Place(memories[-1].created_at, memories[-1].id) if more else None)

    async def get(self, agent_id: str, memory_id: str) -> MemoryDetail:
        """Return one memory, even if it is superseded or was forgotten, with its versions and its source.

        Raises:
            NotFound: the agent has no such memory.
            InvalidRequest: an id has not the form of one.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        scope = self._checked(agent_id, memory_id)
        found, chain = await self._run(scope, [self._listing.one(agent_id, memory_id), versions(scope, memory_id)])
        memory = self._read(found)
        return MemoryDetail(memory, [_version(row) for row in chain], _sources(memory))

    async def forget(self, agent_id: str, memory_id: str) -> Memory:
        """Mark a memory as forgotten, so that no recall finds it, and return it; one that is forgotten stays so.

        What it had replaced does not come back. ``unforget`` undoes it.

        Raises:
            Superseded: another memory says what holds now in place of this one; nothing was changed.
            NotFound: the agent has no such memory.
            InvalidRequest: an id has not the form of one.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer; forgetting it again is safe.
        """
        scope = self._checked(agent_id, memory_id)
        run = forgetting.forget(scope, memory_id, self._backends.author, now=self._backends.clock())
        *_, holders, found = await self._run(scope, [*run, self._listing.one(agent_id, memory_id)])
        memory = self._read(found)
        if memory.forgotten_at is None and holders and holders[0]["holder"] is not None:
            raise Superseded(str(holders[0]["holder"]))
        return memory

    async def unforget(self, agent_id: str, memory_id: str) -> Memory:
        """Take back that a memory was forgotten, and return it; one that was not stays as it is.

        Raises as ``forget`` does, but for ``Superseded``.
        """
        scope = self._checked(agent_id, memory_id)
        run = forgetting.unforget(scope, memory_id, self._backends.author, now=self._backends.clock())
        *_, found = await self._run(scope, [*run, self._listing.one(agent_id, memory_id)])
        return self._read(found)

    async def _expiry_of_task(self, agent_id: str) -> int:
        """Return when a task expires that is stored now: after the agent's retention where that is shorter."""
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        (rows,) = await self._backends.database.run([Agents(self._backends.tenant_id).settings(agent_id)])
        days = agent_settings(rows).retention_days
        return self._backends.clock() + min(TASK_DAYS, days or TASK_DAYS) * _DAY_MS

    async def _memory(self, agent_id: str, memory_id: str) -> Memory:
        (rows,) = await self._backends.database.run([self._listing.one(agent_id, memory_id)])
        return self._read(rows)

    def _read(self, rows: Sequence[Row]) -> Memory:
        if not rows:
            raise NotFound("The profile has no such memory.")
        return read_memory(self._backends.tenant_id, rows[0])

    def _scope(self, agent_id: str) -> Scope:
        return Scope(self._backends.tenant_id, agent_id)

    def _checked(self, agent_id: str, memory_id: str) -> Scope:
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        return self._scope(agent_id)

    async def _run(self, scope: Scope, statements_: Sequence[ScopedStatement]) -> Sequence[Sequence[Row]]:
        """Run statements for an agent whose long-term memory is not switched off."""
        (state,), *results = await self._backends.database.run([request_state.read_for_recall(scope), *statements_])
        self._backends.observe(state)
        if state["disabled"]:
            raise LongTermDisabled
        return results


def _is_task(content: str) -> bool:
    """Tell whether a content states tasks and nothing else."""
    read = statements(content[: _READ_FOR_TYPE + 1])
    return len(content) <= _READ_FOR_TYPE and bool(read) and all(one.type == "task" for one in read)


def _candidate(entry: Entry) -> ProfileCandidate:
    return ProfileCandidate(entry.id, summary(entry.content), entry.session_id, entry.score, entry.happened_at)


def _version(row: Row) -> Version:
    superseded_at = row["superseded_at"]
    return Version(
        str(row["key"]),
        str(row["memory_id"]),
        summary(str(row["content"])),
        int(row["happened_at"] or 0),
        None if superseded_at is None else int(superseded_at),
    )


def _sources(memory: Memory) -> Sequence[SourceMessage]:
    """Return the message that a memory is, if it is one; a user's has no speaker in its metadata."""
    if memory.message_id is None:
        return []
    speaker = memory.metadata.get("speaker")
    role: Role = "assistant" if speaker == "assistant" else "system" if speaker == "system" else "user"
    said_at = memory.created_at if memory.occurred_at is None else memory.occurred_at
    return [SourceMessage(memory.message_id, role, memory.session_id, said_at)]
