"""Statements that report what a language model has made of messages, and begin failed passes and proposals again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.author import Author, WriteChannel
from app.domain.claim import MemoryType
from app.domain.learned import PassKind
from app.domain.memory import Scope
from app.ports.database import NOW, Row
from app.storage import lease_rule
from app.storage.ingestions import ENDED_BY_UNDO, IS_ROOM
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement

MOST_TOLD = 100
"""The rows of each kind that a report lists at most; its counts are of all rows."""
Told: TypeAlias = Literal["learned", "known", "corrected", "dropped", "failed"]
_LISTED: Mapping[Told, str] = {
    "learned": "proposal.state = 'learned'",
    "known": "proposal.state = 'known'",
    "corrected": "proposal.corrected_from IS NOT NULL",
    "dropped": "proposal.state = 'dropped'",
    "failed": "proposal.state = 'failed'",
}

_OWN = (
    "{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id' "
    "AND {table}.ingestion_id = ?1 ->> 'id'"
)
_PASSES, _PROPOSALS = _OWN.format(table="pass"), _OWN.format(table="proposal")
_INGESTION = """
ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.agent_id = ?1 ->> 'agent_id' AND ingestion.id = ?1 ->> 'id'
"""
_REPLACED = """
FROM claim AS old WHERE old.tenant_id = ?1 ->> 'tenant_id' AND old.agent_id = ?1 ->> 'agent_id'
  AND old.key = 'topic:' || proposal.topic AND old.superseded_by = proposal.memory_id
"""
_COUNTS = f"""
SELECT
  (SELECT json_group_object(state, number) FROM (
    SELECT pass.state, count(*) AS number FROM pass WHERE {_PASSES} GROUP BY pass.state
  )) AS passes,
  (SELECT json_group_object(state, number) FROM (
    SELECT proposal.state, count(*) AS number FROM proposal WHERE {_PROPOSALS} GROUP BY proposal.state
  )) AS proposals,
  (SELECT count(*) FROM proposal WHERE {_PROPOSALS} AND proposal.corrected_from IS NOT NULL) AS corrected,
  (SELECT coalesce(sum((SELECT count(*) {_REPLACED})), 0) FROM proposal
    WHERE {_PROPOSALS} AND proposal.state = 'learned' AND proposal.topic IS NOT NULL) AS superseded
"""
_FAILED_PASSES = f"""
SELECT pass.number, pass.kind, pass.message_ids, pass.context, pass.failure AS code FROM pass
WHERE {_PASSES} AND pass.state = 'failed' ORDER BY pass.number LIMIT {MOST_TOLD}
"""
_TOLD = f"""
SELECT proposal.content, proposal.message_ids, proposal.type, proposal.topic, proposal.corrected_from, proposal.reason,
  proposal.memory_id, (SELECT json_group_array(old.memory_id) {_REPLACED}) AS supersedes
FROM proposal WHERE {_PROPOSALS} AND {{condition}} ORDER BY proposal.pass, proposal.id LIMIT {MOST_TOLD}
"""

_FAILED = f"""
(EXISTS (SELECT 1 FROM pass WHERE {_PASSES} AND pass.state <> 'done')
  OR EXISTS (SELECT 1 FROM proposal WHERE {_PROPOSALS} AND proposal.state IN ('proposed', 'verified', 'failed')))
"""
# An ingestion that the undo of its run has ended stays ended.
_REOPENABLE = f"""
{_INGESTION} AND ingestion.finished_at IS NOT NULL AND ingestion.failure IS NOT '{ENDED_BY_UNDO}' AND {_FAILED}
"""
# The statement takes the lease too: no other process goes on with the ingestion meanwhile.
_REOPEN = f"""
UPDATE ingestion SET finished_at = NULL, learns = 1, lease_holder = ?1 ->> 'holder',
  lease_expires_at = {NOW} + {lease_rule.LEASE_MS}
WHERE {_REOPENABLE} AND {IS_ROOM}
RETURNING written_by, written_through, issued_at, speakers
"""
_WAITS_FOR_ROOM = f"SELECT 1 FROM ingestion WHERE {_REOPENABLE} AND NOT {IS_ROOM}"
_REOPENED = f"""
EXISTS (
  SELECT 1 FROM ingestion
  WHERE {_INGESTION} AND ingestion.finished_at IS NULL AND ingestion.lease_holder = ?1 ->> 'holder'
)
"""
_PASSES_AGAIN = f"""
UPDATE pass SET state = 'waiting', failure = NULL WHERE {_PASSES} AND pass.state = 'failed' AND {_REOPENED}
"""
# A proposal with a type waits to be written; the others are verified again, in the words in which they were proposed.
_PROPOSALS_AGAIN = f"""
UPDATE proposal SET state = iif(proposal.type IS NULL, 'proposed', 'verified'),
  content = iif(proposal.type IS NULL, coalesce(proposal.corrected_from, proposal.content), proposal.content),
  corrected_from = iif(proposal.type IS NULL, NULL, proposal.corrected_from), reason = NULL
WHERE {_PROPOSALS} AND proposal.state = 'failed' AND {_REOPENED}
"""


@dataclass(frozen=True, slots=True)
class _Signed:
    written_by: str | None
    written_through: WriteChannel
    issued_at: int | None
    speakers: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class LearningCounts:
    """The numbers of passes and of proposals, by state."""

    passes: Mapping[str, int]
    proposals: Mapping[str, int]
    corrected: int
    superseded: int
    """Memories that hold no longer, because of the learned ones."""


@dataclass(frozen=True, slots=True)
class FailedPass:
    """A pass that was not read."""

    number: int
    kind: PassKind
    message_ids: Sequence[str]
    context: int
    code: str | None


@dataclass(frozen=True, slots=True)
class ToldProposal:
    """A proposal and its outcome."""

    content: str
    message_ids: Sequence[str]
    type: MemoryType | None = None
    topic: str | None = None
    corrected_from: str | None = None
    reason: str | None = None
    memory_id: str | None = None
    supersedes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LearningReport:
    """A report of what a language model has made of messages; each list has at most ``MOST_TOLD`` rows."""

    counts: LearningCounts
    failed_passes: Sequence[FailedPass]
    told: Mapping[Told, Sequence[ToldProposal]]


def report(scope: Scope, ingestion_id: str) -> list[ScopedStatement]:
    """Read a ``LearningReport``, for ``learning_report``."""
    sqls = (_COUNTS, _FAILED_PASSES, *(_TOLD.format(condition=each) for each in _LISTED.values()))
    return [ScopedStatement.read(scope, sql, id=ingestion_id) for sql in sqls]


def learning_report(results: Sequence[Sequence[Row]]) -> LearningReport:
    """Read the results of ``report``."""
    (counts,), failed, *told = results
    return LearningReport(
        read_row(LearningCounts, counts),
        read_rows(FailedPass, failed),
        {kind: read_rows(ToldProposal, rows) for kind, rows in zip(_LISTED, told, strict=True)},
    )


def retry(scope: Scope, ingestion_id: str, holder: str) -> list[ScopedStatement]:
    """Begin failed passes and proposals of a finished ingestion again.

    The first statement returns a row for ``author_of`` if it does, and the last a row if there is no room for that.
    """
    writes = [
        ScopedStatement.write(scope, sql, repeatable=True, id=ingestion_id, holder=holder)
        for sql in (_REOPEN, _PASSES_AGAIN, _PROPOSALS_AGAIN)
    ]
    return [*writes, ScopedStatement.read(scope, _WAITS_FOR_ROOM, id=ingestion_id)]


def author_of(row: Row) -> Author:
    """Return the author who sent an ingestion that ``retry`` has begun again."""
    signed = read_row(_Signed, row)
    speakers = None if signed.speakers is None else frozenset(signed.speakers)
    return Author(signed.written_by, signed.written_through, signed.issued_at, speakers=speakers)
