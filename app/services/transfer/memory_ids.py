"""Finds the ids of the memories that rows name, where an import gave the memories other ids (docs/format.md)."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from app.domain.json_types import to_json
from app.services.tenant.backends import TenantBackends
from app.services.transfer.batch import id_candidates
from app.services.transfer.lines import Line, is_memory_id, row_line
from app.services.transfer.retry_budget import RetryBudget
from app.storage.batches import Bulk

_AT_ONCE = 500
"""Memories that are looked for in one statement."""

NamedMemory: TypeAlias = tuple[str, bool, str]
"""The agent of a row, whether the row was moved to this agent, and the id by which the row names a memory."""


class MemoryIds:
    """The ids of one tenant's memories, by the ids that the lines of an import have.

    The id that a memory got follows from the tenant, the agent and the id in its line. So no id is remembered between
    the lines of memories and the lines of rows, and rows of a later import find the memories too.
    """

    def __init__(self, backends: TenantBackends, retry_budget: RetryBudget) -> None:
        """Bind the tenant."""
        self._backends = backends
        self._retry_budget = retry_budget
        self._bulk = Bulk(backends.tenant_id)

    async def renamed(self, lines: Sequence[tuple[Line, bool]]) -> list[Line]:
        """Return the rows with the ids that their memories have in this tenant; an id without a memory here stays.

        Each row is given with whether it was moved to another agent than its line names.

        Raises:
            Unavailable: the database does not answer.
        """
        named = {(line.agent_id or "", moved, id_): None for line, moved in lines for id_ in _ids(line)}
        wanted, new = [name for name in named if is_memory_id(name[2])], dict[NamedMemory, str]()
        for start in range(0, len(wanted), _AT_ONCE):
            await self._backends.admission.part()
            new.update(await self._new_ids(wanted[start : start + _AT_ONCE]))

        def renamed(line: Line, *, moved: bool) -> Line:
            return _with_ids(line, lambda id_: new.get((line.agent_id or "", moved, id_), id_))

        return [renamed(line, moved=moved) for line, moved in lines]

    async def _new_ids(self, wanted: Sequence[NamedMemory]) -> dict[NamedMemory, str]:
        """Return the ids that differ from those of the rows, of memories that their agents have."""
        tenant_id = self._backends.tenant_id
        candidates = {name: id_candidates(tenant_id, name[0], name[2], moved=name[1]) for name in wanted}
        asked = self._bulk.agents_of(sorted({one for ids in candidates.values() for one in ids}))
        rows = await self._retry_budget.rows(self._backends.data.database, asked)
        agents = {str(row["id"]): row["agent_id"] for row in rows}
        own = {
            name: next((one for one in ids if agents.get(one) == name[0]), name[2]) for name, ids in candidates.items()
        }
        return {name: id_ for name, id_ in own.items() if id_ != name[2]}


def _ids(line: Line) -> list[str]:
    """Return the ids of memories that a row names."""
    named: list[str] = []

    def note(id_: str) -> str:
        named.append(id_)
        return id_

    _with_ids(line, note)
    return named


def _with_ids(line: Line, id_of: Callable[[str], str]) -> Line:
    """Return the line of a row with ``id_of`` applied to the id of each memory that the row names."""
    table = line.table
    texts = {column: line.row[column] for column in table.memories if column in line.row}
    values = {name: json.loads(str(text)) if name in table.json else text for name, text in texts.items()}
    changed = {name: _replaced(value, id_of) for name, value in values.items()}
    if changed == values:
        return line
    named = {name: to_json(value) if name in table.json else value for name, value in changed.items()}
    return row_line(table, {**line.row, **named})


def _replaced(value: Any, id_of: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON
    """Replace the ids in a value: an id, a list of ids, or a list of objects that have ``memories``."""
    if isinstance(value, str):
        return id_of(value)
    if isinstance(value, dict):
        return value if "memories" not in value else {**value, "memories": _replaced(value["memories"], id_of)}
    return [_replaced(part, id_of) for part in value] if isinstance(value, list) else value
