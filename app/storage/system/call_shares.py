"""Statements by which replicas lease their shares of Cloudflare's rate limit (ADR 0040). They know no tenant."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Row, Statement
from app.storage.lease_rule import void
from app.storage.rows import read_rows

MEANWHILE = 8
"""Calls that a replica makes at most while its report is under way."""
_UNREPORTED = 20
"""A replica reports again before it has made a part of its share: the share divided by this number."""

_IDLE_PART = 4
"""A replica that uses no more than the even part divided by this number is idle. It keeps that many calls even if
another replica lacks calls: when it wakes, they serve its requests until it has its even part again."""
_KEPT_PART = 2
"""An idle replica keeps the even part divided by this number where no replica lacks calls."""

_FORGET = f"DELETE FROM call_share WHERE expires_at <= {NOW} - ?1 ->> 'gone_ms'"
# A share that had expired has gone back to the other replicas: only the calls that it spent are left of it.
_REPORT = f"""
INSERT INTO call_share (replica, command, calls, hungry, spent, used, expires_at)
SELECT ?1 ->> 'replica', ?1 ->> 'command', 0, ?1 ->> 'hungry', (
    SELECT json_group_array(json_array({NOW} - (value ->> 0), value ->> 1)) FROM json_each(?1, '$.spent')
  ), ?1 ->> 'used', {NOW} + ?1 ->> 'lease_ms' WHERE TRUE
ON CONFLICT (replica) DO UPDATE SET
  calls = iif(expires_at > {NOW} AND excluded.expires_at > {NOW}, calls, 0),
  hungry = excluded.hungry, spent = excluded.spent, used = excluded.used, expires_at = excluded.expires_at
"""
# No lease is longer than a lease that begins now. Where a row has a longer lease, the database's clock was set back:
# the row is dated anew, as if its report had come just now. Else a replica that is gone would keep its share.
_DATE_ANEW = f"""
UPDATE call_share SET expires_at = {NOW} + ?1 ->> 'lease_ms', spent = (
  SELECT json_group_array(
    json_array((value ->> 0) - (call_share.expires_at - {NOW} - ?1 ->> 'lease_ms'), value ->> 1)
  ) FROM json_each(call_share.spent)
) WHERE {void("expires_at", "?1 ->> 'lease_ms'")} RETURNING replica
"""
# Of a replica that is gone, the calls that it has reported count until they leave the window, and so do the calls that
# it may have made since. Its row counts for a lease longer than a window, because a machine that was suspended learns
# late that its lease has ended.
# Commands divide `for_commands` calls that servers never have. Calls that commands hold beyond these are taken from
# `limit`.
# Replicas that lack calls all get the same share. Replicas that lack none keep the calls that they use, or a quarter of
# the even part. Where no replica lacks calls, an idle replica keeps half of the even part, and the others divide the
# rest evenly. That half is set aside also if the idle replica holds fewer calls now: calls that an idle replica held
# would reach a replica that needs them only after both have renewed. A replica that uses more than its part gets an
# eighth more than it uses, so that it is not the first to lack calls if its load grows a little.
# A replica that lacks no calls takes half of the free ones, so that the next replica finds some too. So does a replica
# that has no share yet, or none any more, as all replicas after a block. A process gives way slowly, so that calls that
# it has promised can be made. It never has more than `room`: the calls of the limit that the others leave.
_DECIDE = f"""
WITH reported AS (
  SELECT max(calls, used) AS held, used, hungry, command, expires_at > {NOW} AS alive,
    max(calls / {_UNREPORTED}, {MEANWHILE}) + (
      SELECT coalesce(sum(value ->> 1), 0) FROM json_each(spent) WHERE value ->> 0 > {NOW} - ?1 ->> 'window_ms'
    ) AS spent
  FROM call_share WHERE replica <> ?1 ->> 'replica'
),
other AS (
  SELECT iif(alive, held, min(held, spent)) AS held, used, alive AND hungry AS hungry, command, alive FROM reported
),
others AS (
  SELECT coalesce(sum(alive), 0) AS living, coalesce(sum(hungry), 0) AS hungry, coalesce(sum(held), 0) AS held,
    coalesce(sum(iif(alive, 0, held)), 0) AS gone, coalesce(sum(iif(hungry, 0, held)), 0) AS content,
    coalesce(sum(iif(command, held, 0)), 0) AS commands
  FROM other
),
whole AS (
  SELECT others.*, ?1 ->> 'limit' + iif(?1 ->> 'command', ?1 ->> 'for_commands', min(commands, ?1 ->> 'for_commands'))
    AS calls FROM others
),
even AS (
  SELECT (calls - gone) / (1 + living) AS part FROM whole
),
idle AS (
  SELECT count(*) AS replicas, coalesce(sum(max(held, part / {_KEPT_PART})), 0) AS held FROM other CROSS JOIN even
  WHERE alive AND NOT hungry AND NOT command AND used <= part / {_IDLE_PART}
),
due AS (
  SELECT calls - whole.held AS room, iif(?1 ->> 'command', max(?1 ->> 'for_commands' - commands, 0), 0) AS own, CASE
    WHEN ?1 ->> 'hungry' THEN (calls - content) / (1 + whole.hungry)
    WHEN whole.hungry THEN min(max(?1 ->> 'used', iif(?1 ->> 'command', 0, part / {_IDLE_PART})), part)
    ELSE max(?1 ->> 'used' * 9 / 8, CASE
      WHEN living = 0 OR ?1 ->> 'command' THEN part
      WHEN ?1 ->> 'used' <= part / {_IDLE_PART} THEN part / {_KEPT_PART}
      ELSE (calls - gone - idle.held) / (1 + living - idle.replicas) END) END AS calls
  FROM whole CROSS JOIN even CROSS JOIN idle
)
UPDATE call_share SET calls = (
  SELECT max(0, min(room, max(own, min(
    max(due.calls, call_share.used * 39 / 40),
    max(call_share.calls, call_share.used) + max(room - max(call_share.calls, call_share.used) + 1, 0)
      / iif(?1 ->> 'hungry' AND call_share.calls > 0, 1, 2)
  )))) FROM due
) WHERE replica = ?1 ->> 'replica' RETURNING calls
"""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The calls of a window that processes divide."""

    calls: int
    for_commands: int = 0
    """Calls beyond these that are for commands alone."""


@dataclass(frozen=True, slots=True)
class CallReport:
    """The calls that a replica, or a command, has made in the last window."""

    replica: str
    command: bool
    hungry: bool
    """Whether the replica has refused a call of late."""
    spent: Sequence[tuple[int, int]]
    """Pairs: how long ago calls were made, in ms, and the number of these calls."""
    used: int
    """The sum of these calls, and of the calls that may be made while the report is under way."""


@dataclass(frozen=True, slots=True)
class CallShare:
    """The number of calls that a replica may make in any window from now on."""

    calls: int

    @property
    def unreported(self) -> int:
        """The number of calls that the replica may make from the beginning of one report to that of the next."""
        return max(self.calls // _UNREPORTED, MEANWHILE)


def report(each: CallReport, *, lease_ms: int, gone_ms: int) -> Sequence[Statement]:
    """Report the calls that were spent, and hold the share for ``lease_ms``; 0 gives the share back.

    ``gone_ms``: for how long after its lease the row of a replica that is gone is kept.
    """
    return [
        Statement.write(_FORGET, gone_ms=gone_ms),
        Statement.write(
            _REPORT,
            replica=each.replica,
            command=each.command,
            hungry=each.hungry,
            spent=[list(step) for step in each.spent],
            used=each.used,
            lease_ms=lease_ms,
        ),
    ]


def lease(each: CallReport, limits: CallLimits, *, window_ms: int, lease_ms: int) -> Sequence[Statement]:
    """Report the calls that were spent, and lease a share of the limit: the last rows are for ``read_share``."""
    return [
        *report(each, lease_ms=lease_ms, gone_ms=window_ms + lease_ms),
        Statement.write(_DATE_ANEW, lease_ms=lease_ms),
        Statement.write(
            _DECIDE,
            replica=each.replica,
            command=each.command,
            hungry=each.hungry,
            used=each.used,
            limit=limits.calls,
            for_commands=limits.for_commands,
            window_ms=window_ms,
        ),
    ]


def read_share(rows: Sequence[Row]) -> CallShare:
    """Return the share that was leased."""
    (share,) = read_rows(CallShare, rows)
    return share
