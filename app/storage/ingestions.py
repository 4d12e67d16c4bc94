"""Statements of ingestions: the operations that make memories of messages (``app.storage.messages``).

A run may stop between any two of its statements (docs/reliability.md): the number of memories that were written is
counted from the messages that are left, so that it is the same however often a run is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain import limits
from app.domain.author import Author
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, owner_of
from app.domain.messages import Item
from app.ports.database import NOW, Row
from app.storage.lease_rule import LEASE_MS, holds
from app.storage.messages import STAGED
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

ENDED_BY_UNDO = "conflict"
"""The failure of an ingestion that the undo of its run has ended."""
_MIN_PAUSE_MS, MAX_PAUSE_MS = 5_000, 3_600_000
"""The bounds of an ingestion's wait after an outage: within them it waits as long as it has existed."""

_SCOPE = "{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'"
_OWN = f"{_SCOPE.format(table='ingestion')} AND ingestion.id = ?1 ->> 'id'"
_LEFT = f"(SELECT count(*) FROM message WHERE {STAGED})"
# An ingestion whose messages have all become memories keeps no other one waiting, though a model still reads them.
_BRINGS_MESSAGES = """
(other.staged_at IS NULL OR EXISTS (
  SELECT 1 FROM message AS brought INDEXED BY message_of_session
  WHERE brought.tenant_id = other.tenant_id AND brought.agent_id = other.agent_id
    AND brought.session_id = other.session_id AND brought.ingestion_id = other.id
))
"""
_UNFINISHED = f"""
(SELECT count(*) FROM ingestion AS other WHERE other.tenant_id = ?1 ->> 'tenant_id' AND other.finished_at IS NULL
  AND {_BRINGS_MESSAGES})
"""
_LEARNING = """
(SELECT count(*) FROM ingestion AS other WHERE other.tenant_id = ?1 ->> 'tenant_id' AND other.finished_at IS NULL)
"""
IS_ROOM = f"""
({_UNFINISHED} < {limits.MAX_UNFINISHED_INGESTIONS} AND {_LEARNING} < {limits.MAX_LEARNING_INGESTIONS})
"""
"""The condition, in SQL, that a tenant may begin an ingestion."""
_ERASING = """
EXISTS (
  SELECT 1 FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
    AND (erasure.agent_id IS NULL OR erasure.agent_id = ?1 ->> 'agent_id') AND erasure.receipt IS NULL
)
"""

_STATE = f"""
SELECT EXISTS (
    SELECT 1 FROM revocation WHERE revocation.tenant_id = ?1 ->> 'tenant_id' AND (
      revocation.credential_id = ?1 ->> 'by'
      OR revocation.credential_id = '' AND revocation.issued_before > ?1 ->> 'issued_at'
    )
  ) AS revoked,
  {_ERASING} AS erasing,
  EXISTS (SELECT 1 FROM agent WHERE {_SCOPE.format(table="agent")} AND NOT agent.long_term_enabled) AS disabled,
  NOT {IS_ROOM} AS full
"""
_ACCEPT = f"""
INSERT INTO ingestion (id, tenant_id, agent_id, session_id, accepted_at, messages, written_by, written_through,
  issued_at, speakers, learns, run_id)
SELECT ?1 ->> 'id', ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'session_id', {NOW}, ?1 ->> 'messages',
  ?1 ->> '$.author.by', ?1 ->> '$.author.through', ?1 ->> '$.author.issued_at', ?1 ->> '$.author.speakers',
  ?1 ->> 'learns', ?1 ->> 'run_id'
WHERE {IS_ROOM} AND NOT {_ERASING}
ON CONFLICT DO NOTHING
"""
_DROP_OLDEST = f"""
DELETE FROM ingestion WHERE {_SCOPE.format(table="ingestion")} AND ingestion.finished_at IS NOT NULL
  AND ingestion.id <= (
    SELECT old.id FROM ingestion AS old WHERE {_SCOPE.format(table="old")}
    ORDER BY old.id DESC LIMIT 1 OFFSET {limits.MAX_INGESTIONS}
  )
"""
# The number of the messages sent that are no memories yet and that another ingestion has brought.
_ELSEWHERE = """
(SELECT count(*) FROM json_each(?1, '$.ids') AS wanted CROSS JOIN message AS theirs
  WHERE theirs.tenant_id = ?1 ->> 'tenant_id' AND theirs.agent_id = ?1 ->> 'agent_id' AND theirs.id = wanted.value
    AND theirs.ingestion_id <> ?1 ->> 'id')
"""
_ALL_STAGED = f"""
UPDATE ingestion SET staged_at = {NOW}, known = messages - {_LEFT} - {_ELSEWHERE}
WHERE {_OWN} AND ingestion.staged_at IS NULL
"""
# Where the taking of messages has stopped, the ingestion has only the messages that have come.
_ADOPT = f"""
UPDATE ingestion SET staged_at = {NOW}, messages = {_LEFT} WHERE {_OWN} AND ingestion.staged_at IS NULL
"""
_CLAIM = f"""
UPDATE ingestion SET lease_holder = ?1 ->> 'holder', lease_expires_at = {NOW} + {LEASE_MS}
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.staged_at IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM ingestion AS other
    WHERE {_SCOPE.format(table="other")} AND other.session_id = ?1 ->> 'session_id' AND other.finished_at IS NULL
      AND other.lease_holder <> ?1 ->> 'holder' AND {holds("other.lease_expires_at")}
      AND (other.id = ?1 ->> 'id' OR {_BRINGS_MESSAGES})
  )
RETURNING id
"""
_FREE_IN = f"""
SELECT max(other.lease_expires_at) - {NOW} AS milliseconds FROM ingestion AS other
WHERE {_SCOPE.format(table="other")} AND other.session_id = ?1 ->> 'session_id' AND other.finished_at IS NULL
  AND other.lease_holder <> ?1 ->> 'holder' AND {holds("other.lease_expires_at")}
"""
# The ingestion with the lease of a session may write messages of it that other ingestions have brought. These do not
# write the messages any more; where a model is to read them for these, it still does.
_THEIRS = """
message.tenant_id = ?1 ->> 'tenant_id' AND message.agent_id = ?1 ->> 'agent_id'
  AND message.id IN (SELECT value FROM json_each(?1, '$.ids')) AND message.ingestion_id <> ?1 ->> 'id'
"""
_RELEASE_THEIRS = f"""
UPDATE ingestion SET lease_holder = NULL, lease_expires_at = {NOW}
WHERE {_SCOPE.format(table="ingestion")} AND ingestion.finished_at IS NULL AND ingestion.lease_holder IS NOT NULL
  AND ingestion.id IN (SELECT message.ingestion_id FROM message WHERE {_THEIRS})
"""
_TAKE_OVER = f"""
UPDATE message SET ingestion_id = ?1 ->> 'id'
WHERE {_THEIRS} AND (?1 ->> 'planned' OR NOT EXISTS (
  SELECT 1 FROM ingestion AS theirs
  WHERE {_SCOPE.format(table="theirs")} AND theirs.id = message.ingestion_id AND theirs.planned_at IS NOT NULL
))
"""
_COUNT_KNOWN = f"UPDATE ingestion SET known = messages - {_LEFT} WHERE {_OWN} AND ingestion.finished_at IS NULL"
_RENEW = f"""
UPDATE ingestion SET lease_expires_at = {NOW} + {LEASE_MS}
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.lease_holder = ?1 ->> 'holder' RETURNING id
"""
# A trigger of the schema checks the lease: should the run stop behind this statement, nothing has happened.
_HELD = """
INSERT INTO ingestion_step (tenant_id, agent_id, id, holder)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', ?1 ->> 'holder')
"""
_PUT_OFF = f"""
UPDATE ingestion SET lease_holder = NULL,
  lease_expires_at = {NOW} + max(?1 ->> 'least_ms', min({NOW} - accepted_at, ?1 ->> 'most_ms'))
WHERE {_OWN} AND ingestion.lease_holder = ?1 ->> 'holder'
RETURNING lease_expires_at - {NOW} AS pause_ms, {NOW} - accepted_at AS age_ms
"""
_COLUMNS = """
ingestion.id, ingestion.agent_id, ingestion.session_id, ingestion.accepted_at, ingestion.messages, ingestion.known,
  ingestion.written, ingestion.finished_at, ingestion.failure, ingestion.learns, ingestion.planned_at
"""
_READ = f"""
SELECT {_COLUMNS} FROM ingestion WHERE ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.id = ?1 ->> 'id'
  AND (?1 ->> 'agent_id' IS NULL OR ingestion.agent_id = ?1 ->> 'agent_id')
"""
_NEWEST = f"""
SELECT {_COLUMNS} FROM ingestion INDEXED BY ingestion_of_tenant WHERE {_SCOPE.format(table="ingestion")}
ORDER BY ingestion.id DESC LIMIT ?1 ->> 'limit'
"""
_COUNT = f"""
UPDATE ingestion SET written = messages - known - {_LEFT}
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.failure IS NULL
"""
_FINISH = f"""
UPDATE ingestion SET finished_at = {NOW}, written = messages - known, lease_holder = NULL
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.failure IS NULL
  AND NOT EXISTS (SELECT 1 FROM message WHERE {STAGED})
"""
# The failure is written first: should the run stop there, the process that goes on finds it and drops the messages.
_FAIL = f"""
UPDATE ingestion SET failure = ?1 ->> 'failure', written = messages - known - {_LEFT}, learns = 0
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.failure IS NULL
"""
_DROP = f"""
DELETE FROM message WHERE {STAGED}
  AND EXISTS (SELECT 1 FROM ingestion WHERE {_OWN} AND ingestion.failure IS NOT NULL)
"""
_FAIL_PASSES = """
UPDATE pass SET state = 'failed', failure = (
  SELECT ingestion.failure FROM ingestion
  WHERE ingestion.tenant_id = pass.tenant_id AND ingestion.agent_id = pass.agent_id
    AND ingestion.id = pass.ingestion_id
)
WHERE pass.tenant_id = ?1 ->> 'tenant_id' AND pass.agent_id = ?1 ->> 'agent_id' AND pass.ingestion_id = ?1 ->> 'id'
  AND pass.state = 'waiting' AND EXISTS (
    SELECT 1 FROM ingestion WHERE ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.agent_id = ?1 ->> 'agent_id'
      AND ingestion.id = ?1 ->> 'id' AND ingestion.failure IS NOT NULL AND NOT ingestion.learns
  )
"""
_FINISH_FAILED = f"""
UPDATE ingestion SET finished_at = {NOW}, lease_holder = NULL
WHERE {_OWN} AND ingestion.finished_at IS NULL AND ingestion.failure IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM message WHERE {STAGED})
"""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """An ingestion and its progress. ``id`` is None where there was nothing to do."""

    id: str | None
    agent_id: str
    session_id: str
    accepted_at: int
    messages: int
    known: int
    """Messages that were there already."""
    written: int
    """Memories made so far."""
    finished_at: int | None
    failure: str | None
    """Why it stopped for good, as a problem's code."""
    items: Sequence[Item] = ()
    """The outcome of each message that the request has sent."""
    learns: bool = False
    """Whether a language model is to read the messages, or reads what is left of them."""
    planned_at: int | None = None
    """When the passes of the model were planned; None: the model reads nothing, or not yet."""

    @property
    def waits(self) -> bool:
        """Whether a message that the request has sent is no memory yet, and becomes one later."""
        return any(item.status == "waiting" for item in self.items)

    @property
    def status(self) -> Literal["running", "done", "failed"]:
        """Whether the ingestion is finished, and how it ended."""
        if self.finished_at is None:
            return "running"
        return "done" if self.failure is None else "failed"


@dataclass(frozen=True, slots=True)
class IngestState:
    """The reasons for which an ingestion is refused before it begins."""

    revoked: bool
    erasing: bool
    disabled: bool
    full: bool
    """Whether the tenant has as many ingestions under way as it may."""


@dataclass(frozen=True, slots=True)
class Ingestions:
    """Statements over one ingestion of one agent. The ingestion is bound here, once."""

    scope: Scope
    session_id: str
    id: str

    def accept(
        self, author: Author, messages: int, *, learns: bool, run_id: str | None = None
    ) -> list[ScopedStatement]:
        """Begin an ingestion of ``messages`` messages, unless the tenant has as many ingestions as it may.

        ``learns``: a language model is to read them. ``run_id``: the run under which they come.
        """
        begun = self._write(_ACCEPT, messages=messages, author=_signed(author), learns=int(learns), run_id=run_id)
        return [begun, self._write(_DROP_OLDEST)]

    def all_staged(self, ids: Sequence[str]) -> ScopedStatement:
        """Note that all messages are taken; other ingestions may have brought some of those with these ids."""
        return self._write(_ALL_STAGED, ids=list(ids))

    def take_over(self, ids: Sequence[str], *, planned: bool) -> list[ScopedStatement]:
        """Give this ingestion, which has the lease, those of the messages that other ingestions have brought.

        ``planned``: also the messages that a model is to read for other ingestions already.
        """
        statements = (_RELEASE_THEIRS, _TAKE_OVER, _COUNT_KNOWN)
        return [self._write(sql, ids=list(ids), planned=int(planned)) for sql in statements]

    def free_in(self, holder: str) -> ScopedStatement:
        """Read in how many ``milliseconds`` another holder's lease on the session ends; NULL: there is none."""
        return ScopedStatement.read(self.scope, _FREE_IN, session_id=self.session_id, holder=holder)

    def adopt(self) -> ScopedStatement:
        """Go on with the messages that have come, where the taking of an ingestion's messages has stopped."""
        return self._write(_ADOPT)

    def claim(self, holder: str) -> ScopedStatement:
        """Take the lease unless another holder works on the session; returns a row if the lease was taken."""
        return self._write(_CLAIM, holder=holder)

    def renew(self, holder: str) -> ScopedStatement:
        """Hold the lease for longer; returns a row if this holder still had it."""
        return self._write(_RENEW, holder=holder)

    def held(self, holder: str) -> ScopedStatement:
        """Refuse the run (``not_held``) where the ingestion is not this holder's, or is finished, or was erased."""
        return self._write(_HELD, holder=holder)

    def put_off(self, holder: str, seconds: float | None) -> ScopedStatement:
        """Release the lease, and go on later: after ``seconds``, or else after as long as the ingestion has existed.

        Returns ``pause_ms`` and ``age_ms``; no row where the lease was not held.
        """
        least, most = (_MIN_PAUSE_MS, MAX_PAUSE_MS) if seconds is None else (int(seconds * 1000), 0)
        return self._write(_PUT_OFF, holder=holder, least_ms=least, most_ms=most)

    def read(self) -> ScopedStatement:
        """Read the row of an ``Ingestion``."""
        return read(self.scope.tenant_id, self.scope.agent_id, self.id)

    def count(self) -> ScopedStatement:
        """Count the memories that were written."""
        return self._write(_COUNT)

    def finish(self) -> list[ScopedStatement]:
        """Finish, where no message is left; the last statement reads the ``Ingestion``.

        An ingestion that had failed and was begun again, for a model to learn of its memories, stays failed.
        """
        return [self._write(_FINISH), self._write(_FINISH_FAILED), self.read()]

    def fail(self, code: str) -> list[ScopedStatement]:
        """Drop the messages that are left and finish; the last statement reads the ``Ingestion``."""
        ends = (_DROP, _FAIL_PASSES, _FINISH_FAILED)
        return [self._write(_FAIL, failure=code), *map(self._write, ends), self.read()]

    def _write(self, sql: str, **values: Json) -> ScopedStatement:
        own: dict[str, Json] = {"id": self.id, "session_id": self.session_id}
        return ScopedStatement.write(self.scope, sql, repeatable=True, **own, **values)


def read(tenant_id: str, agent_id: str | None, id_: str) -> ScopedStatement:
    """Read the row of an ``Ingestion``; with an agent, only one of that agent."""
    scope = owner_of(tenant_id, agent_id)
    return ScopedStatement.read(scope, _READ, id=id_)


def newest(scope: Scope, limit: int) -> ScopedStatement:
    """Read the rows of an agent's newest ``Ingestion``s."""
    return ScopedStatement.read(scope, _NEWEST, limit=limit)


def state(scope: Scope, author: Author) -> ScopedStatement:
    """Read the row of an ``IngestState``."""
    return ScopedStatement.read(scope, _STATE, by=author.credential_id, issued_at=author.issued_at)


def ingestion(row: Row) -> Ingestion:
    """Read the row of an ingestion."""
    return read_row(Ingestion, row)


def _signed(author: Author) -> dict[str, Json]:
    return {
        "by": author.credential_id,
        "through": author.channel,
        "issued_at": author.issued_at,
        "speakers": None if author.speakers is None else to_json(sorted(author.speakers)),
    }
