"""The semantic tier: facts, which are memories of a subject, a predicate and an object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest, NotFound
from app.domain.explicit import about
from app.domain.facts import About, Fact, FactSource, FactStatement, agreed_fact, fact_in, source_of
from app.domain.memory import NewMemory, Scope, owner_of
from app.domain.query import Entry, Query
from app.retrieval.query.persons import of_the_user
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.write import Warn
from app.services.tenant.agent_database import AgentDatabase
from app.services.tenant.backends import TenantBackends
from app.services.tenant.screening import Screening
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_rows
from app.storage.tiers.facts import Agreement, Facts
from app.storage.tiers.run_log import note_learned
from app.storage.tiers.runs import agent_of_run


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact that was stored."""

    fact: Fact
    memory_id: str
    holds: bool
    """Whether the fact holds now: neither a later nor a surer fact of its key replaces it."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """An entry of a recall, with the fact that the entry states; None where the entry has its text alone."""

    entry: Entry
    fact: Fact | None


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """The entries of a recall, best first; ``degraded`` has the reasons why entries may be missing."""

    entries: Sequence[Recalled]
    degraded: Sequence[str]


class SemanticMemory:
    """Learns, recalls and lists the facts of one tenant's agents (ADR 0035).

    A fact is a memory of a sentence. Where a fact is told as ``single``, its subject and predicate make its key, and
    the last fact of the key holds; else the object is a part of the key too. Facts are in the order of the times when
    they were said, not of the times when they arrived.

    The rule of confidence: a fact of 0.5 or more is sure, and is in the chain of its key, whatever its confidence. A
    fact below 0.5 is doubtful, and its sentence begins with "Perhaps". A doubtful fact supersedes no sure fact, before
    or after it, and no sure fact supersedes a doubtful fact; of the doubtful facts of a key the last holds. A doubtful
    fact holds only where no sure fact of its key holds.

    The sources of a fact decide together how sure it is: several sources, of different runs, sessions or authors, make
    a fact surer than each source is (``app.domain.facts.agreed``). A source that tells a fact twice counts once.

    Facts of one sentence, and of one moment where it is given, are one memory. The memory keeps the values that were
    stored first, unless the author of a later store may replace what other authors stored. Facts that agents of one
    type share are the memories of the agent whose id is that type.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._gateway = LongTermMemoryGateway(replace(backends, screening=Screening()))  # facts are screened here
        self._recalling = LongTermMemoryGateway(backends)

    async def learn(
        self,
        agent_id: str,
        fact: Fact,
        *,
        occurred_at: int | None = None,
        only_agent: str | None = None,
        warn: Warn | None = None,
    ) -> StoredFact:
        """Store a fact. A fact that holds is the same memory when it is told again as sure or as doubtful as before.

        ``only_agent``: the only agent from whose runs the fact may have been learned; None: any agent of the tenant.

        Raises:
            NotFound: there is no run of the id ``learned_from_run_id``; nothing was written.
            MemoryGatewayError: as ``LongTermMemoryGateway.store`` does.
        """
        fact = await self._backends.screened(fact)
        database = AgentDatabase(self._backends, agent_id)
        statements = Facts(database.scope)
        run_agent = agent_id
        if fact.learned_from_run_id is not None:
            owner = owner_of(self._backends.tenant_id, only_agent)
            (found,) = await database.run([agent_of_run(owner, fact.learned_from_run_id)])
            if not found:
                raise NotFound("There is no run of the id learned_from_run_id.")
            run_agent = str(found[0]["agent_id"])
        memory = NewMemory(fact.sentence, fact.metadata, occurred_at=occurred_at)
        memory_id = await self._gateway.store(agent_id, memory, warn=warn)
        author = self._backends.author
        source = FactSource(source_of(fact, None, author.credential_id or author.channel), fact.confidence)
        noted = [statements.note(memory_id, source, author.credential_id)]
        if fact.learned_from_run_id is not None:
            run_scope = Scope(self._backends.tenant_id, run_agent)
            noted.append(note_learned(run_scope, fact.learned_from_run_id, memory_id, agent_id))
        *_, rows = await database.run([*noted, statements.of_memories([memory_id])])
        stated = read_rows(FactStatement, rows)
        first = next((fact_in(statement.metadata) for statement in stated), None) or fact
        return StoredFact(first, memory_id, any(statement.holds for statement in stated))

    async def recall(
        self, agent_id: str, query: Query, *, subject: str | None = None, predicate: str | None = None
    ) -> RecalledFacts:
        """Return the facts that answer a query best: facts that were told, and memories of the type fact.

        With a subject or a predicate: facts that were told of it, and facts that an older version read of it in texts.

        Raises as ``LongTermMemoryGateway.recall`` does.
        """
        asked = _about(subject, predicate)
        where = replace(query.where, type="fact", about=asked)
        found = await self._recalling.recall(agent_id, replace(query, where=where, embedded=of_the_user(query.text)))
        facts = await self._facts_of(agent_id, found.entries, asked)
        return RecalledFacts([Recalled(entry, facts[entry.id]) for entry in found.entries], found.degraded)

    async def _facts_of(
        self, agent_id: str, entries: Sequence[Entry], asked: About | None
    ) -> Mapping[str, Fact | None]:
        """Return the facts of entries, by the entries' ids, with the confidence that their sources agree on."""
        facts = {entry.id: fact_in(entry.metadata) for entry in entries}
        if not facts:
            return facts
        unknown = [id_ for id_, fact in facts.items() if fact is None]
        known = [id_ for id_ in facts if id_ not in unknown]
        database = AgentDatabase(self._backends, agent_id)
        statements = Facts(database.scope)
        rows, sources = await database.run([statements.of_memories(unknown, asked), statements.agreement(known)])
        for statement in read_rows(FactStatement, rows):
            if statement.holds:
                facts[statement.memory_id] = facts[statement.memory_id] or statement.stated
        for agreement in read_rows(Agreement, sources):
            fact = facts[agreement.id]
            facts[agreement.id] = None if fact is None else agreed_fact(fact, agreement.sources)
        return facts

    async def facts(
        self,
        agent_id: str,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        learned_from_run_id: str | None = None,
        history: bool = False,
        limit: int = 20,
        after: ListPosition | None = None,
    ) -> ListPage[FactStatement]:
        """Return the next facts, newest first: facts that hold, and with ``history`` facts that held before.

        Raises:
            InvalidRequest: a field is over its limits.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.LIST_LIMIT, limit), ("learned_from_run_id", limits.RUN_ID, learned_from_run_id))
        database = AgentDatabase(self._backends, agent_id)
        page = Facts(database.scope).page(
            _about(subject, predicate), run_id=learned_from_run_id, history=history, limit=limit + 1, after=after
        )
        (rows,) = await database.run([page])
        return list_page(FactStatement, rows, limit)

    async def holding(self, agent_id: str, limit: int) -> Sequence[FactStatement]:
        """Return the newest facts that hold, at most ``limit`` (1 to 100), in one run of the database that only reads.

        Raises as ``facts`` does.
        """
        return (await self.facts(agent_id, limit=limit)).items


def whose(agent_id: str | None, agent_type: str | None) -> str:
    """Return the id of the agent that has the facts: the agent's own, or the type whose agents share the facts.

    Raises:
        InvalidRequest: neither an agent nor a type is named.
    """
    owner = agent_id if agent_id is not None else agent_type
    if owner is None:
        errors = [FieldError(name, "is required where the other is absent") for name in ("agent_id", "agent_type")]
        raise InvalidRequest("Name an agent_id or an agent_type.", errors=errors)
    return owner


def _about(subject: str | None, predicate: str | None) -> About | None:
    limits.check(("subject", limits.FACT_SUBJECT, subject), ("predicate", limits.FACT_PREDICATE, predicate))
    return None if subject is None and predicate is None else about(subject, predicate)
