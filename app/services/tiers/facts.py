"""The semantic tier: facts, which are memories of a subject, a predicate and an object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest, NotFound
from app.domain.explicit import about
from app.domain.facts import About, Fact, FactSource, FactStatement, agreed_fact, fact_in, source_of
from app.domain.memory import NewMemory, owner_of
from app.domain.query import Entry, Query
from app.retrieval.query.persons import of_the_user
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.write import Warn
from app.services.tenant.agent_database import AgentDatabase
from app.services.tenant.backends import TenantBackends
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
    """Whether it is what holds now: neither a later fact nor a surer one says otherwise."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """An entry of a recall, with the fact that it states; None where its words are all there is."""

    entry: Entry
    fact: Fact | None


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """What a recall found, best first, and in ``degraded`` why it may not be all there is."""

    entries: Sequence[Recalled]
    degraded: Sequence[str]


class SemanticMemory:
    """Learns, recalls and lists the facts of one tenant's agents (ADR 0035).

    A fact is a memory of a sentence. Where it is told as single, subject and predicate make its key, of which the last
    holds; else the object is a part of the key too. Order is by when it was said, not by when it arrived.

    The rule of confidence: a fact of 0.5 or more is sure, and is in the chain of its key, however sure it is. A fact
    below is doubtful, and says "Perhaps". It supersedes nothing sure, before or after it, and is superseded by nothing
    sure; among the doubtful ones of a key the last holds. It holds only where nothing sure of its key does.

    How sure a fact is, its sources decide together: several of them, of different runs, sessions or authors, make it
    surer than each of them is (``app.domain.facts.agreed``). The same source told twice counts once.

    Facts of one sentence, of one moment where it is given, are one memory. It keeps what was told of it first, unless
    its teller may replace what others have stored. Facts that agents of one type share are the memories of the agent
    whose id is that type.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with; the tenant is bound in it."""
        self._backends = backends
        self._gateway = LongTermMemoryGateway(backends)
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
        """Store a fact; the same fact again, as sure or as doubtful as before, is the same memory where it holds.

        ``only_agent``: the only agent of whose runs it may have been learned; None: of any of the tenant's.

        Raises:
            NotFound: there is no run that it was learned from; nothing was written.
            MemoryGatewayError: as ``LongTermMemoryGateway.store`` does.
        """
        database = AgentDatabase(self._backends, agent_id)
        statements = Facts(database.scope)
        if fact.learned_from_run_id is not None:
            owner = owner_of(self._backends.tenant_id, only_agent)
            (found,) = await database.run([agent_of_run(owner, fact.learned_from_run_id)])
            if not found:
                raise NotFound("There is no run of the id learned_from_run_id.")
        memory = NewMemory(fact.sentence, fact.metadata, occurred_at=occurred_at)
        memory_id = await self._gateway.store(agent_id, memory, warn=warn)
        author = self._backends.author
        source = FactSource(source_of(fact, None, author.credential_id or author.channel), fact.confidence)
        noted = [statements.note(memory_id, source, author.credential_id)]
        if fact.learned_from_run_id is not None:
            noted.append(note_learned(database.scope, fact.learned_from_run_id, memory_id))
        *_, rows = await database.run([*noted, statements.of_memories([memory_id])])
        stated = read_rows(FactStatement, rows)
        first = next((fact_in(statement.metadata) for statement in stated), None) or fact
        return StoredFact(first, memory_id, any(statement.holds for statement in stated))

    async def recall(
        self, agent_id: str, query: Query, *, subject: str | None = None, predicate: str | None = None
    ) -> RecalledFacts:
        """Return the facts that answer a query best: those that were told, and texts of the type fact.

        With a subject or a predicate: those that were told of it, and what an older version has read of it in texts.

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
        """Return the facts that entries state, by their ids, as sure as their sources agree."""
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
        """Return the next facts, newest first: what holds, or with ``history`` what held before too.

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
        """Return the newest facts that hold, at most ``limit`` (1 to 100), in one run that only reads.

        Raises as ``facts`` does.
        """
        return (await self.facts(agent_id, limit=limit)).items


def whose(agent_id: str | None, agent_type: str | None) -> str:
    """Return whose memory facts are: the agent's, or what all agents of a type share.

    Raises:
        InvalidRequest: neither is named.
    """
    owner = agent_id if agent_id is not None else agent_type
    if owner is None:
        errors = [FieldError(name, "is required where the other is absent") for name in ("agent_id", "agent_type")]
        raise InvalidRequest("Name an agent_id or an agent_type.", errors=errors)
    return owner


def _about(subject: str | None, predicate: str | None) -> About | None:
    limits.check(("subject", limits.FACT_SUBJECT, subject), ("predicate", limits.FACT_PREDICATE, predicate))
    return None if subject is None and predicate is None else about(subject, predicate)
