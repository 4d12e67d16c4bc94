"""Reads the administrative acts of a tenant: page by page, line by line, and whether their rows are as they were."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain import limits
from app.domain.acts import Act, ActFilter
from app.domain.json_types import Json, to_json
from app.domain.moments import format_moment
from app.services.access.acting import RunStatements
from app.storage.acts import ActRows
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_row, read_rows

PAGE = 200
"""Acts that one run of the database reads for an export."""
_MOST_FLAWS = 20
_ID_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class ActsVerdict:
    """What a check of the rows has found.

    Attributes:
        acts: How many rows were read.
        unended: Acts that have begun and have no outcome; they have no signature.
        first: The number of the oldest row; the rows before it were deleted because they were too old.
        flaws: How many rows are missing, were changed, or are signed with a secret that the service has no longer.
        examples: What is wrong with the first of them.
    """

    acts: int = 0
    unended: int = 0
    first: int | None = None
    flaws: int = 0
    examples: Sequence[str] = ()


class Acts:
    """The administrative acts of one tenant. The tenant is bound here, and no method takes another."""

    def __init__(self, tenant_id: str, run: RunStatements) -> None:
        """Bind the tenant, or with ``DEPLOYMENT`` all that concerns no single one; ``run`` runs its statements."""
        self._rows = ActRows(tenant_id)
        self._run = run

    async def list(self, where: ActFilter, *, limit: int, after: ListPosition | None = None) -> ListPage[Act]:
        """Return the next acts that pass the filter, newest first.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(
            ("act", limits.ACT, where.act),
            ("credential_id", limits.CREDENTIAL_ID, where.credential_id),
            ("outcome", limits.ACT, where.outcome),
            ("limit", limits.LIST_LIMIT, limit),
        )
        (rows,) = await self._run([self._rows.page(where, limit=limit + 1, after=after)])
        return list_page(Act, rows, limit)

    async def one(self, act_id: str) -> Act | None:
        """Return the act of an id; None where the tenant has none.

        Raises:
            Unavailable: the database does not answer.
        """
        (rows,) = await self._run([self._rows.one(act_id[:_ID_CHARACTERS])])
        return read_row(Act, rows[0]) if rows else None

    async def in_order(self) -> AsyncIterator[Sequence[Act]]:
        """Yield all acts, oldest first, a page at a time; those that are written meanwhile come too.

        Raises:
            Unavailable: the database does not answer.
        """
        behind = 0
        while True:
            (rows,) = await self._run([self._rows.by_number(behind, limit=PAGE)])
            if not rows:
                return
            page = read_rows(Act, rows)
            yield page
            if len(page) < PAGE:
                return
            behind = page[-1].number

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield all acts as lines of JSON, oldest first, a page at a time; raises as ``in_order`` does."""
        async for page in self.in_order():
            yield b"".join(f"{to_json(fields_of(act))}\n".encode() for act in page)

    async def verify(self, keys: Sequence[bytes]) -> ActsVerdict:
        """Check that no row is missing between the oldest and the newest, and that none that ended was changed.

        Who has a secret of the service can write a row that passes. Rows that are missing at the end are not found.

        Raises:
            Unavailable: the database does not answer.
        """
        acts = unended = flaws = 0
        first: int | None = None
        expected, examples = 0, list[str]()
        async for page in self.in_order():
            for act in page:
                first = act.number if first is None else first
                found = list(_flaws(act, expected or act.number, keys, self._rows.tenant_id))
                expected = act.number + 1
                acts, flaws, unended = acts + 1, flaws + len(found), unended + (act.outcome == "begun")
                examples += found[: max(0, _MOST_FLAWS - len(examples))]
        return ActsVerdict(acts, unended, first, flaws, examples)


def fields_of(act: Act) -> dict[str, Json]:
    """Return an act as the route, the command and the lines of an export tell of it; what it lacks is left out."""
    moments = {"begun_at": act.begun_at, "ended_at": act.ended_at}
    told: Mapping[str, Any] = {
        "number": act.number,
        "id": act.id,
        "act": act.act,
        "outcome": act.outcome,
        "code": act.code,
        "channel": act.channel,
        "credential_id": act.credential_id,
        "operator": act.operator,
        "request_id": act.request_id,
        "subject": dict(act.subject),
        "counts": dict(act.counts),
        "attempts": act.attempts,
        **{name: None if moment is None else format_moment(moment) for name, moment in moments.items()},
        "signature": act.signature,
    }
    return {name: value for name, value in told.items() if value is not None}


def _flaws(act: Act, expected: int, keys: Sequence[bytes], tenant_id: str) -> list[str]:
    missing = [f"{act.number - expected} rows before number {act.number} are missing"] * (act.number > expected)
    if act.outcome == "begun" or act.is_signed(keys, tenant_id) or act.is_counted(keys, tenant_id):
        return missing
    changed = "was changed, or is signed with a secret that the service has no longer"
    return [*missing, f"number {act.number} {'has no signature' if act.signature is None else changed}"]
