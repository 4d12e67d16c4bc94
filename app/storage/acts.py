"""Statements on the administrative acts of one tenant, or with the id ``DEPLOYMENT`` on those that concern all.

No erasure touches their rows. A row that has ended does not change, but that of attempts, which counts them.
"""

from dataclasses import dataclass

from app.domain.acts import Act, ActFilter
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.declared import PagedTable, columns_of, insert
from app.storage.listing import ListPosition
from app.storage.rows import values_of
from app.storage.scoped import ScopedStatement

_TABLE = "administrative_act"
_OF_TENANT = "tenant_id = ?1 ->> 'tenant_id'"
_COLUMNS = columns_of(Act, "row")
_GIVEN = "id act outcome code channel credential_id operator request_id subject counts attempts signature"
_NEXT = f"""1 + coalesce((
  SELECT last.number FROM {_TABLE} AS last WHERE last.tenant_id = ?1 ->> 'tenant_id' ORDER BY last.number DESC LIMIT 1
), 0)"""
_BEGIN = insert(_TABLE, _GIVEN, "WHERE TRUE ON CONFLICT (tenant_id, id) DO NOTHING", number=_NEXT, begun_at=NOW)
_READ = f"SELECT {_COLUMNS} FROM {_TABLE} AS row WHERE row.{_OF_TENANT} AND row.id = ?1 ->> 'id'"
_END = f"""
UPDATE {_TABLE} SET outcome = ?1 ->> 'outcome', code = ?1 ->> 'code', subject = ?1 ->> 'subject',
  counts = ?1 ->> 'counts', ended_at = ?1 ->> 'ended_at', signature = ?1 ->> 'signature'
WHERE {_OF_TENANT} AND id = ?1 ->> 'id' AND outcome = 'begun'
"""
# The count is that of the process so far, so that a statement whose answer was lost may be made again.
_COUNT = insert(
    _TABLE,
    _GIVEN,
    f"""WHERE TRUE ON CONFLICT (tenant_id, id) DO UPDATE
SET attempts = max({_TABLE}.attempts, excluded.attempts), ended_at = max({_TABLE}.ended_at, excluded.ended_at)""",
    number=_NEXT,
    begun_at=f"{NOW} - (?1 ->> 'first_ago')",
    ended_at=f"{NOW} - (?1 ->> 'last_ago')",
)
_PAGES = PagedTable(
    table=f"{_TABLE} AS row",
    columns=_COLUMNS,
    at="row.begun_at",
    tie="printf('%020d', row.number)",
    order="row.begun_at DESC, row.number DESC",
    indexes={
        ("credential_id",): "administrative_act_of_credential",
        ("act",): "administrative_act_of_name",
        ("outcome",): "administrative_act_of_outcome",
        (): "administrative_act_newest",
    },
    where={"after": "row.begun_at > ?1 ->> 'after'", "before": "row.begun_at < ?1 ->> 'before'"},
)
_BY_NUMBER = f"""
SELECT {_COLUMNS} FROM {_TABLE} AS row
WHERE row.{_OF_TENANT} AND row.number > ?1 ->> 'behind' ORDER BY row.number LIMIT ?1 ->> 'limit'
"""


@dataclass(frozen=True, slots=True)
class ActRows:
    """Statements on the acts of one tenant. The tenant is bound here, once."""

    tenant_id: str

    def begin(self, act: Act) -> list[ScopedStatement]:
        """Write the row of an act that begins, and read it. A second time it only reads it."""
        write = ScopedStatement.write(self._tenant, _BEGIN, **values_of(act))
        return [write, self.one(act.id)]

    def one(self, id_: str) -> ScopedStatement:
        """Read the act of an id; no row: the tenant has none."""
        return ScopedStatement.read(self._tenant, _READ, id=id_)

    def end(self, act: Act) -> ScopedStatement:
        """Write the outcome of an act, unless it has one."""
        return ScopedStatement.write(self._tenant, _END, **values_of(act))

    def count(self, attempts: Act, *, first_ago: int, last_ago: int) -> ScopedStatement:
        """Write how many attempts were refused; the first and the last of them were so many ms ago."""
        values = values_of(attempts)
        return ScopedStatement.write(self._tenant, _COUNT, **values, first_ago=first_ago, last_ago=last_ago)

    def page(self, where: ActFilter, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next acts that pass the filter, newest first, for ``list_page``."""
        return _PAGES.read(self._tenant, where, limit=limit, after=after)

    def by_number(self, behind: int, *, limit: int) -> ScopedStatement:
        """Read the next acts behind a number, in the order of their numbers."""
        return ScopedStatement.read(self._tenant, _BY_NUMBER, behind=behind, limit=limit)

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)
