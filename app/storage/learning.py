"""Statements over a language model's work on an ingestion's messages: its passes, and the memories that it proposes.

A run may stop between any two of its statements (docs/reliability.md): the proposals of a pass are written before the
pass is done, and a memory before its proposal names it, so that the process that goes on finds either nothing or all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from app.domain.claim import MemoryType
from app.domain.json_types import Json
from app.domain.learned import Pass, PassKind, Proposal, ProposalState
from app.domain.memory import Scope
from app.ports.database import NOW, Row
from app.storage.messages import STAGED
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import remembered

OWN_CHARACTERS = 22
"""The first characters of a learned memory's id, which tell of which proposal it was made."""
MAX_TOPICS = 2_000
"""Topics of a profile that are looked through for those that are nearest."""

_AGENT = "{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'"
_OWN = _AGENT + " AND {table}.ingestion_id = ?1 ->> 'id'"
_PASSES, _PROPOSALS = _OWN.format(table="pass"), _OWN.format(table="proposal")
_INGESTION = f"{_AGENT.format(table='ingestion')} AND ingestion.id = ?1 ->> 'id'"
_MEMORY = _AGENT.format(table="memory")

_STAGED_SIZES = f"""
SELECT message.id, length(message.content) AS characters FROM message WHERE {STAGED}
ORDER BY message.said_at, message.place
"""
_BEFORE = f"""
SELECT memory.message_id AS id, length(memory.content) AS characters
FROM long_term_memory AS memory INDEXED BY long_term_memory_session
WHERE {_MEMORY} AND memory.session_id = ?1 ->> 'session_id' AND memory.message_id IS NOT NULL
  AND {remembered("memory")}
  AND memory.happened_at < (SELECT min(message.said_at) FROM message WHERE {STAGED})
ORDER BY memory.happened_at DESC, memory.rowid DESC LIMIT ?1 ->> 'most'
"""
_UNPLANNED = f"EXISTS (SELECT 1 FROM ingestion WHERE {_INGESTION} AND ingestion.planned_at IS NULL)"
_FORGET_PLAN = f"DELETE FROM pass WHERE {_PASSES} AND {_UNPLANNED}"
_PLAN = f"""
INSERT INTO pass (tenant_id, agent_id, ingestion_id, number, kind, message_ids, context)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', made.value ->> 'number', made.value ->> 'kind',
  made.value ->> 'message_ids', made.value ->> 'context'
FROM json_each(?1, '$.passes') AS made WHERE {_UNPLANNED}
ON CONFLICT DO NOTHING
"""
_PLANNED = f"UPDATE ingestion SET planned_at = {NOW} WHERE {_INGESTION} AND ingestion.planned_at IS NULL"

_ALL_PASSES = f"""
SELECT number, kind, message_ids, context, state, failure FROM pass WHERE {_PASSES} ORDER BY number
"""
_LINES = f"""
SELECT memory.message_id AS id, memory.content, memory.metadata ->> '$.speaker' AS speaker,
  memory.happened_at AS said_at
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE {_MEMORY} AND memory.message_id = wanted.value AND {remembered("memory")}
ORDER BY wanted.key, memory.id
"""
# Two passes may propose the same words: which proposal is kept does not depend on which pass was read first.
_RANK = "({t}.state = 'dropped', {t}.pass, {t}.message_ids, coalesce({t}.happened_at, 0))"
_PROPOSE = f"""
INSERT INTO proposal (tenant_id, agent_id, ingestion_id, id, pass, content, message_ids, happened_at, state, reason)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', made.value ->> 'id', made.value ->> 'pass',
  made.value ->> 'content', made.value ->> 'message_ids', made.value ->> 'happened_at', made.value ->> 'state',
  made.value ->> 'reason'
FROM json_each(?1, '$.proposals') AS made WHERE TRUE
ON CONFLICT (tenant_id, agent_id, ingestion_id, id) DO UPDATE SET
  pass = excluded.pass, message_ids = excluded.message_ids, happened_at = excluded.happened_at,
  state = excluded.state, reason = excluded.reason
WHERE proposal.state IN ('proposed', 'dropped') AND proposal.corrected_from IS NULL
  AND {_RANK.format(t="excluded")} < {_RANK.format(t="proposal")}
"""
_PASS_ENDS = f"""
UPDATE pass SET state = ?1 ->> 'state', failure = ?1 ->> 'failure'
WHERE {_PASSES} AND pass.state = 'waiting' AND pass.number IN (SELECT value FROM json_each(?1, '$.numbers'))
"""

_COLUMNS = """
id, pass AS "group", content, message_ids, happened_at, type, topic, search_queries, state, corrected_from, reason,
  memory_id
"""
_GROUPS = f"""
SELECT DISTINCT pass AS "group" FROM proposal WHERE {_PROPOSALS} AND proposal.state = 'proposed' ORDER BY pass
"""
_OF_GROUP = f"""
SELECT {_COLUMNS} FROM proposal WHERE {_PROPOSALS} AND proposal.state = 'proposed' AND proposal.pass = ?1 ->> 'group'
ORDER BY proposal.id
"""
_VERIFIED = f"""
SELECT {_COLUMNS} FROM proposal
WHERE {_PROPOSALS} AND proposal.state = 'verified' AND (proposal.type IS NOT NULL) = ?1 ->> 'classified'
ORDER BY proposal.pass, proposal.id LIMIT ?1 ->> 'most'
"""
_SETTLE = f"""
UPDATE proposal SET state = found.state, content = found.content, corrected_from = found.corrected_from,
  reason = found.reason, message_ids = found.message_ids, happened_at = found.happened_at, type = found.type,
  topic = found.topic, search_queries = found.search_queries
FROM (
  SELECT made.value ->> 'id' AS id, made.value ->> 'state' AS state, made.value ->> 'content' AS content,
    made.value ->> 'corrected_from' AS corrected_from, made.value ->> 'reason' AS reason,
    made.value ->> 'message_ids' AS message_ids, made.value ->> 'happened_at' AS happened_at,
    made.value ->> 'type' AS type, made.value ->> 'topic' AS topic, made.value ->> 'search_queries' AS search_queries
  FROM json_each(?1, '$.proposals') AS made
) AS found
WHERE {_PROPOSALS} AND proposal.id = found.id AND proposal.state IN ('proposed', 'verified')
"""
_FAIL = f"""
UPDATE proposal SET state = 'failed', reason = ?1 ->> 'reason'
WHERE {_PROPOSALS} AND proposal.state = ?1 ->> 'state'
"""
# The memory that has the content is either the proposal's own, made now or by a run that stopped, or another memory.
_LEARNED = f"""
UPDATE proposal SET memory_id = found.memory_id, state = iif(
  substr(found.memory_id, 1, {OWN_CHARACTERS}) = substr(found.own_id, 1, {OWN_CHARACTERS}), 'learned', 'known'
)
FROM (
  SELECT made.value ->> 'id' AS id, made.value ->> 'memory_id' AS own_id, memory.id AS memory_id
  FROM json_each(?1, '$.made') AS made CROSS JOIN long_term_memory AS memory
  WHERE {_MEMORY} AND memory.content_hash = made.value ->> 'content_hash'
) AS found
WHERE {_PROPOSALS} AND proposal.id = found.id AND proposal.state = 'verified'
"""
# One memory of each topic holds (schema.sql). The second query reads the topics of proposals that are no memories yet.
_HITS = """
(
  SELECT count(*) FROM json_each(?1, '$.words') AS word
  WHERE instr(lower(near.topic || ' ' || near.content), word.value)
)
"""
_TOPICS = f"""
SELECT topic, memory_id FROM (
  SELECT substr(held.key, 7) AS topic, memory.content, held.memory_id
  FROM claim AS held INDEXED BY claim_that_holds CROSS JOIN long_term_memory AS memory
  WHERE {_AGENT.format(table="held")} AND held.key >= 'topic:' AND held.key < 'topic;'
    AND held.opens AND held.superseded_by IS NULL
    AND {_MEMORY} AND memory.id = held.memory_id
  LIMIT ?1 ->> 'read'
) AS near ORDER BY {_HITS} DESC, memory_id DESC LIMIT ?1 ->> 'most'
"""
_GIVEN_TOPICS = f"""
SELECT topic, NULL AS memory_id FROM (
  SELECT proposal.topic, proposal.content, proposal.pass, proposal.id FROM proposal
  WHERE {_PROPOSALS} AND proposal.state = 'verified' AND proposal.topic IS NOT NULL
  LIMIT ?1 ->> 'read'
) AS near GROUP BY topic ORDER BY max({_HITS}) DESC, topic LIMIT ?1 ->> 'most'
"""

_REMEMBERED = f"""
SELECT wanted.value AS id, memory.happened_at AS said_at, memory.metadata ->> 'speaker' AS speaker
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE {_MEMORY} AND memory.message_id = wanted.value AND {remembered("memory")}
"""


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """A pass as its row has it."""

    number: int
    kind: PassKind
    message_ids: Sequence[str]
    context: int
    state: str
    failure: str | None = None

    @property
    def planned(self) -> Pass:
        """Return the pass as it was planned."""
        return Pass(self.number, self.kind, self.message_ids, self.context)


@dataclass(frozen=True, slots=True)
class KeptProposal:
    """A proposal as its row has it."""

    id: str
    group: int
    """The number of the full pass that reads its first message: proposals of the same messages are one group."""
    content: str
    message_ids: Sequence[str]
    happened_at: int | None
    state: ProposalState
    reason: str | None = None
    corrected_from: str | None = None
    type: MemoryType | None = None
    topic: str | None = None
    search_queries: Sequence[str] | None = None
    memory_id: str | None = None

    @property
    def proposal(self) -> Proposal:
        """Return the proposal as the model is asked about it."""
        return Proposal(
            self.content, self.message_ids, self.happened_at, self.type, self.topic, self.search_queries or ()
        )


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A topic of the profile, and the memory that holds of it."""

    topic: str
    memory_id: str | None
    """The id of that memory; None: there is no memory yet."""


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A message that is a memory."""

    id: str
    content: str
    said_at: int
    speaker: str | None = None
    """The speaker whom its metadata name."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Statements over the passes and proposals of one ingestion. The ingestion is bound here, once."""

    scope: Scope
    session_id: str
    ingestion_id: str

    def to_plan(self, *, before: int) -> list[ScopedStatement]:
        """Read ``id`` and ``characters`` of its messages in order, and of ``before`` memories that were said earlier.

        The second statement returns these, the one said last first.
        """
        return [self._read(_STAGED_SIZES), self._read(_BEFORE, most=before)]

    def plan(self, passes: Sequence[Pass]) -> list[ScopedStatement]:
        """Write the ingestion's passes, unless it has a plan."""
        rows: list[Json] = [
            {
                "number": pass_.number,
                "kind": pass_.kind,
                "message_ids": list(pass_.message_ids),
                "context": pass_.context,
            }
            for pass_ in passes
        ]
        return [self._write(_FORGET_PLAN), self._write(_PLAN, passes=rows), self._write(_PLANNED)]

    def passes(self) -> ScopedStatement:
        """Read all passes, for ``planned_passes``."""
        return self._read(_ALL_PASSES)

    def lines(self, message_ids: Sequence[str]) -> ScopedStatement:
        """Read messages that are memories and were not forgotten, for ``said_lines``."""
        return self._read(_LINES, ids=list(message_ids))

    def remembered(self, message_ids: Sequence[str]) -> ScopedStatement:
        """Read ``id``, ``said_at`` and ``speaker`` of those messages that are memories and were not forgotten."""
        return self._read(_REMEMBERED, ids=list(message_ids))

    def extracted(self, number: int, proposals: Sequence[KeptProposal]) -> list[ScopedStatement]:
        """Write the proposals of a pass, and that the pass is done."""
        rows = [_settled(proposal) for proposal in proposals]
        keep = [self._write(_PROPOSE, proposals=rows)] if rows else []
        return [*keep, self._write(_PASS_ENDS, state="done", failure=None, numbers=[number])]

    def fail_passes(self, numbers: Sequence[int], code: str) -> ScopedStatement:
        """Mark passes as failed."""
        return self._write(_PASS_ENDS, state="failed", failure=code, numbers=list(numbers))

    def groups(self) -> ScopedStatement:
        """Read each ``group`` of proposals that were not verified."""
        return self._read(_GROUPS)

    def proposed(self, group: int) -> ScopedStatement:
        """Read a group's proposals that were not verified, for ``kept_proposals``."""
        return self._read(_OF_GROUP, group=group)

    def verified(self, *, classified: bool, most: int) -> ScopedStatement:
        """Read the next proposals that were verified, for ``kept_proposals``: those with a type, or those without."""
        return self._read(_VERIFIED, classified=int(classified), most=most)

    def settle(self, proposals: Sequence[KeptProposal]) -> ScopedStatement:
        """Write the new fields of proposals that are no memories yet."""
        return self._write(_SETTLE, proposals=[_settled(proposal) for proposal in proposals])

    def fail(self, state: ProposalState, code: str) -> ScopedStatement:
        """Mark all proposals of a state as failed."""
        return self._write(_FAIL, state=state, reason=code)

    def learned(self, made: Sequence[tuple[str, str, str]]) -> ScopedStatement:
        """Write which memories proposals have become: ``made`` has each proposal's id, memory id and content hash."""
        rows: list[Json] = [{"id": id_, "memory_id": own, "content_hash": hash_} for id_, own, hash_ in made]
        return self._write(_LEARNED, made=rows)

    def topics(self, words: Sequence[str], *, most: int) -> list[ScopedStatement]:
        """Read the topics that have most of these words, themselves or in their memories, for ``known_topics``.

        The first statement reads topics of the profile, the second those that this ingestion has given.
        """
        values: dict[str, Json] = {"words": list(words), "most": most, "read": MAX_TOPICS}
        return [self._read(_TOPICS, **values), self._read(_GIVEN_TOPICS, **values)]

    def _read(self, sql: str, **values: Json) -> ScopedStatement:
        return ScopedStatement.read(self.scope, sql, id=self.ingestion_id, session_id=self.session_id, **values)

    def _write(self, sql: str, **values: Json) -> ScopedStatement:
        own: dict[str, Json] = {"id": self.ingestion_id, "session_id": self.session_id}
        return ScopedStatement.write(self.scope, sql, repeatable=True, **own, **values)


def planned_passes(rows: Sequence[Row]) -> list[PlannedPass]:
    """Read the rows of ``Learning.passes``."""
    return read_rows(PlannedPass, rows)


def kept_proposals(rows: Sequence[Row]) -> list[KeptProposal]:
    """Read rows of proposals."""
    return read_rows(KeptProposal, rows)


def known_topics(rows: Sequence[Row]) -> list[KnownTopic]:
    """Read the rows of ``Learning.topics``."""
    return read_rows(KnownTopic, rows)


def said_lines(rows: Sequence[Row]) -> list[SaidLine]:
    """Read the rows of ``Learning.lines``, each message once."""
    lines: dict[str, SaidLine] = {}
    for row in rows:
        lines.setdefault(str(row["id"]), read_row(SaidLine, row))
    return list(lines.values())


def _settled(proposal: KeptProposal) -> dict[str, Json]:
    queries = proposal.search_queries
    return {
        "id": proposal.id,
        "pass": proposal.group,
        "content": proposal.content,
        "message_ids": list(proposal.message_ids),
        "happened_at": proposal.happened_at,
        "state": proposal.state,
        "reason": proposal.reason,
        "corrected_from": proposal.corrected_from,
        "type": cast(Json, proposal.type),
        "topic": proposal.topic,
        "search_queries": None if queries is None else list(queries),
    }
