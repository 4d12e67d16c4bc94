"""Statements of a move: which process moves a tenant, which rows change meanwhile, and which database serves it.

Each statement is about one tenant; no request imports them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.shards import Place
from app.ports.database import NOW, Row, Statement
from app.storage.lease_rule import holds, void
from app.storage.rows import read_row
from app.storage.system.carried import Values
from app.storage.system.leases import Lease

LEASE_SECONDS = 60
"""How long other processes leave a move alone whose own process has not renewed the lease."""
FENCE_SECONDS = 5
"""A tenant's requests write nothing for this long at most while a move ends: then the source serves again."""

_FOR_EVER = 2**53 - 1
_LEASED = holds("tenant_moves.leased_until", LEASE_SECONDS * 1000)
_LEASE = f"""
INSERT INTO tenant_moves (tenant_id, source, target, epoch, mover, leased_until)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'source', ?1 ->> 'target', ?1 ->> 'epoch', ?1 ->> 'mover',
  {NOW} + {LEASE_SECONDS * 1000}
WHERE EXISTS (SELECT 1 FROM tenant_moves WHERE tenant_id = ?1 ->> 'tenant_id')
  OR NOT EXISTS (SELECT 1 FROM tenant_places WHERE tenant_id = ?1 ->> 'tenant_id' AND epoch >= ?1 ->> 'epoch')
ON CONFLICT (tenant_id) DO UPDATE SET mover = excluded.mover, leased_until = excluded.leased_until
WHERE (NOT {_LEASED} OR tenant_moves.mover = excluded.mover)
  AND (tenant_moves.source, tenant_moves.target, tenant_moves.epoch)
    = (excluded.source, excluded.target, excluded.epoch)
RETURNING source, target, epoch, phase, progress
"""
_READ_MOVE = "SELECT source, target, epoch, phase, progress FROM tenant_moves WHERE tenant_id = ?1 ->> 'tenant_id'"
_READ_LEASE = f"""
SELECT 'move' AS name, mover AS holder, max(0, leased_until - {NOW}) AS left_ms,
  {void("tenant_moves.leased_until", LEASE_SECONDS * 1000)} AS void
FROM tenant_moves WHERE tenant_id = ?1 ->> 'tenant_id'
"""
_SAVE = f"""
UPDATE tenant_moves SET progress = ?1 ->> 'progress', leased_until = {NOW} + {LEASE_SECONDS * 1000}
WHERE tenant_id = ?1 ->> 'tenant_id' AND mover = ?1 ->> 'mover' RETURNING 1 AS held
"""
_MOVED = "UPDATE tenant_moves SET phase = 'drop' WHERE tenant_id = ?1 ->> 'tenant_id' AND epoch = ?1 ->> 'epoch'"
_END = "DELETE FROM tenant_moves WHERE tenant_id = ?1 ->> 'tenant_id' AND mover = ?1 ->> 'mover'"

# The names of movers are in the order in which movers, and the attempts of one mover, began: a statement that an
# earlier mover sends late takes nothing from a later mover.
_NOT_LATE = "coalesce(tenant_epochs.mover, '') <= ?1 ->> 'mover'"
# A tenant of the first shard may have no row yet.
_LEAVE = f"""
INSERT INTO tenant_epochs (tenant_id, epoch, state, mover)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'epoch', 'leaving', ?1 ->> 'mover' WHERE TRUE
ON CONFLICT (tenant_id) DO UPDATE SET state = 'leaving', mover = excluded.mover, fenced_until = 0
WHERE tenant_epochs.state IN ('here', 'leaving') AND tenant_epochs.epoch = excluded.epoch AND {_NOT_LATE}
"""
_ARRIVE = f"""
INSERT INTO tenant_epochs (tenant_id, epoch, state, mover)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'epoch', 'arriving', ?1 ->> 'mover' WHERE TRUE
ON CONFLICT (tenant_id) DO UPDATE SET epoch = excluded.epoch, state = 'arriving', mover = excluded.mover,
  fenced_until = 0, to_shard = NULL, to_epoch = NULL
WHERE tenant_epochs.epoch < excluded.epoch OR (tenant_epochs.epoch = excluded.epoch AND {_NOT_LATE})
"""
_STATE = "SELECT epoch, state, to_shard, to_epoch FROM tenant_epochs WHERE tenant_id = ?1 ->> 'tenant_id'"
_CARRY = """
INSERT INTO tenant_carrying (tenant_id, mover, state)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'mover', ?1 ->> 'state'
"""
_OWN = "tenant_id = ?1 ->> 'tenant_id' AND mover = ?1 ->> 'mover'"
_FENCE = f"""
UPDATE tenant_epochs SET fenced_until = {NOW} + {FENCE_SECONDS * 1000} WHERE {_OWN} AND state = 'leaving'
RETURNING fenced_until
"""
_OPEN = f"UPDATE tenant_epochs SET fenced_until = 0 WHERE {_OWN} AND state = 'leaving'"
_SERVE = """
UPDATE tenant_epochs SET state = 'here'
WHERE tenant_id = ?1 ->> 'tenant_id' AND epoch = ?1 ->> 'epoch' AND state = 'arriving'
"""
_GO = f"""
UPDATE tenant_epochs SET state = 'gone', to_shard = ?1 ->> 'target', to_epoch = ?1 ->> 'epoch', fenced_until = 0
WHERE {_OWN} AND state = 'leaving' AND fenced_until = ?1 ->> 'fence'
  AND {holds("fenced_until", FENCE_SECONDS * 1000)}
  AND NOT EXISTS (SELECT 1 FROM tenant_changes WHERE tenant_changes.tenant_id = ?1 ->> 'tenant_id')
RETURNING 1 AS gone
"""
_STAY = f"""
UPDATE tenant_epochs SET state = 'here', mover = ?1 ->> 'mover', fenced_until = 0
WHERE tenant_id = ?1 ->> 'tenant_id' AND state = 'leaving' AND {_NOT_LATE}
"""
_LEAVE_TO = f"""
UPDATE tenant_epochs SET state = 'gone', to_shard = ?1 ->> 'target', to_epoch = ?1 ->> 'epoch',
  fenced_until = {_FOR_EVER}
WHERE {_OWN} AND state = 'arriving'
"""
_CLOSE = f"UPDATE tenant_epochs SET fenced_until = {_FOR_EVER} WHERE {_OWN} AND state = 'gone'"
_TAKE_OVER = f"""
UPDATE tenant_epochs SET mover = ?1 ->> 'mover'
WHERE tenant_id = ?1 ->> 'tenant_id' AND state = 'gone' AND {_NOT_LATE}
"""

_CHANGES = """
SELECT number, table_name, row_key FROM tenant_changes WHERE tenant_id = ?1 ->> 'tenant_id'
ORDER BY number LIMIT ?1 ->> 'most'
"""
_OF_ANOTHER = """
SELECT 1 FROM tenant_epochs AS moving
WHERE moving.tenant_id = ?1 ->> 'tenant_id' AND moving.state = '{state}' AND moving.mover <> ?1 ->> 'mover'
"""
_FORGET = f"""
DELETE FROM tenant_changes WHERE tenant_id = ?1 ->> 'tenant_id' AND number <= ?1 ->> 'last'
  AND NOT EXISTS ({_OF_ANOTHER.format(state="leaving")})
"""
_FORGET_NUMBERS = f"""
DELETE FROM tenant_renumbered WHERE tenant_id = ?1 ->> 'tenant_id'
  AND NOT EXISTS ({_OF_ANOTHER.format(state="arriving")})
"""
_ERASING = """
SELECT EXISTS (SELECT 1 FROM erasure WHERE tenant_id = ?1 ->> 'tenant_id' AND receipt IS NULL) AS erasing
"""
_UNDELIVERED = """
SELECT count(*) AS waiting FROM outbox WHERE tenant_id = ?1 ->> 'tenant_id' AND operation = 'upsert'
  AND confirmed_at IS NULL AND dead IS NULL
"""
# A note that was erased since does not come back.
_LATE_NOTES = """
INSERT INTO recall_log (tenant_id, {columns}) SELECT ?1 ->> 'tenant_id', {values} FROM json_each(?1, '$.rows')
WHERE NOT EXISTS (
  SELECT 1 FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.accepted_at >= value ->> {at}
) AND EXISTS (
  SELECT 1 FROM tenant_epochs
  WHERE tenant_epochs.tenant_id = ?1 ->> 'tenant_id' AND tenant_epochs.state IN ('here', 'leaving')
) ON CONFLICT DO NOTHING
"""
_DROP_MEMORIES = """
SELECT id FROM long_term_memory WHERE tenant_id = ?1 ->> 'tenant_id' LIMIT ?1 ->> 'most'
"""


@dataclass(frozen=True, slots=True)
class StartedMove:
    """A move as the directory has it; ``progress`` is JSON."""

    source: str
    target: str
    epoch: int
    phase: str
    progress: str


@dataclass(frozen=True, slots=True)
class TenantState:
    """How a tenant lives in a database; ``to_shard`` and ``to_epoch`` say to which place it has gone."""

    epoch: int
    state: str
    to_shard: str | None
    to_epoch: int | None


@dataclass(frozen=True, slots=True)
class Mover:
    """One process that moves one tenant: every statement is bound to the tenant, and where it matters to this process.

    Attributes:
        tenant_id: The tenant.
        name: The process, as the directory names it. Of two names, that of the process which began later is greater.
        attempt: How often the process has begun anew to carry: both databases know it by its name and this number.
    """

    tenant_id: str
    name: str
    attempt: int = 0

    def next_attempt(self) -> "Mover":
        """Return the mover of a new attempt: after its ``arrive`` and ``leave``, earlier attempts are refused."""
        return replace(self, attempt=self.attempt + 1)

    def lease(self, source: str, to: Place) -> Statement:
        """Begin the move, or take it over; no row: another process has it, or another move."""
        return self._write(_LEASE, mover=self.name, source=source, target=to.shard, epoch=to.epoch)

    def read_move(self) -> Statement:
        """Read the move that was begun, if there is one."""
        return Statement.read(_READ_MOVE, tenant_id=self.tenant_id)

    def read_lease(self) -> Statement:
        """Read for how long the process that moves the tenant holds the move; no row: no process moves the tenant."""
        return Statement.read(_READ_LEASE, tenant_id=self.tenant_id)

    def save(self, progress: str) -> Statement:
        """Keep how far the move is; no row: another process has taken the move over."""
        return self._write(_SAVE, mover=self.name, progress=progress)

    def moved(self, epoch: int) -> Statement:
        """Write that the tenant lives in the target."""
        return self._write(_MOVED, epoch=epoch)

    def end(self) -> Statement:
        """Forget the move."""
        return self._write(_END, mover=self.name)

    def leave(self, epoch: int) -> Statement:
        """Let the triggers note the changes of the tenant; while it leaves, the triggers are not removed."""
        return self._write(_LEAVE, epoch=epoch)

    def arrive(self, epoch: int) -> Statement:
        """Begin to write the tenant's rows in the target."""
        return self._write(_ARRIVE, epoch=epoch)

    def state(self) -> Statement:
        """Read how the tenant lives in a database, if it ever did."""
        return Statement.read(_STATE, tenant_id=self.tenant_id)

    def carry(self, state: str) -> Statement:
        """Stop the run unless this process moves the tenant, and the tenant is in this state in the database."""
        return self._write(_CARRY, state=state)

    def fence(self) -> Statement:
        """Let the tenant's requests write nothing in the source for a while; returns ``fenced_until``."""
        return self._write(_FENCE)

    def open(self) -> Statement:
        """Let the tenant's requests write again."""
        return self._write(_OPEN)

    def serve(self, epoch: int) -> Statement:
        """Make the target ready to serve: no request reaches it before the source has let the tenant go."""
        return self._write(_SERVE, epoch=epoch)

    def go(self, to: Place, fence: int) -> Statement:
        """Decide that the target serves from now on, if this fence still holds and all changes were carried."""
        return replace(self._write(_GO, target=to.shard, epoch=to.epoch, fence=fence), repeatable=False)

    def stay(self) -> Statement:
        """Let the tenant stay in the source, also where an earlier mover moves it, unless the source has let it go."""
        return self._write(_STAY)

    def leave_to(self, place: Place) -> Statement:
        """Write where the tenant lives, in the target of a move that was given up."""
        return self._write(_LEAVE_TO, target=place.shard, epoch=place.epoch)

    def close(self) -> Statement:
        """Let the source take no more late rows of the tenant (``departures``)."""
        return self._write(_CLOSE)

    def take_over(self) -> Statement:
        """Let this process be the mover that deletes the rows left in the source."""
        return self._write(_TAKE_OVER)

    def changes(self, most: int) -> Statement:
        """Read the next changes that were noted, oldest first."""
        return Statement.read(_CHANGES, tenant_id=self.tenant_id, most=most)

    def forget(self, last: int) -> Statement:
        """Forget the changes up to the number ``last``, unless another process moves the tenant."""
        return self._write(_FORGET, last=last)

    def forget_numbers(self) -> Statement:
        """Forget the numbers that carried rows were given, unless another process carries the tenant's rows."""
        return self._write(_FORGET_NUMBERS)

    def erasing(self) -> Statement:
        """Read whether the tenant, or an agent of it, is being erased."""
        return Statement.read(_ERASING, tenant_id=self.tenant_id)

    def undelivered(self) -> Statement:
        """Count the tenant's vectors that the index may not show yet."""
        return Statement.read(_UNDELIVERED, tenant_id=self.tenant_id)

    def memories(self, most: int) -> Statement:
        """Read the ids of some of the tenant's memories."""
        return Statement.read(_DROP_MEMORIES, tenant_id=self.tenant_id, most=most)

    def late_notes(self, notes: Sequence[Values], columns: Sequence[str]) -> Statement:
        """Keep notes of recalls that a process has written in the source after the tenant had gone."""
        values = ", ".join(f"value ->> {at}" for at in range(len(columns)))
        at = columns.index("recorded_at")
        sql = _LATE_NOTES.format(columns=", ".join(columns), values=values, at=at)
        return Statement.write(sql, tenant_id=self.tenant_id, rows=[list(note) for note in notes])

    def _write(self, sql: str, **values: str | int) -> Statement:
        argument = {"tenant_id": self.tenant_id, "mover": f"{self.name}:{self.attempt:03d}", **values}
        return Statement(sql, argument, writes=True, repeatable=True)


def read_move(rows: Sequence[Row]) -> StartedMove | None:
    """Read the row of a move, if there is one."""
    return read_row(StartedMove, rows[0]) if rows else None


def read_lease(rows: Sequence[Row]) -> Lease | None:
    """Read the row of ``Mover.read_lease``, if there is one."""
    return read_row(Lease, rows[0]) if rows else None


def read_state(rows: Sequence[Row]) -> TenantState | None:
    """Read the row of ``Mover.state``, if there is one."""
    return read_row(TenantState, rows[0]) if rows else None
