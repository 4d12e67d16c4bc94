"""Tells under which ids the memories that rows name are there, where an import gave them others (docs/format.md)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain import limits
from app.domain.json_types import Scalar, to_json
from app.services.tenant.backends import TenantBackends
from app.services.transfer.batch import id_candidates
from app.services.transfer.lines import RowLine
from app.services.transfer.retry_budget import RetryBudget
from app.storage.batches import Bulk

_ID = re.compile(limits.MEMORY_ID_FORM)
_AT_ONCE = 500
"""Ids that are looked for in one statement."""


class MemoryIds:
    """The ids of one tenant's memories, by those that they had where they come from.

    Which id a memory got follows from the tenant, the agent and the id that its line has. So nothing is remembered
    between the lines of memories and those of rows, and rows of a later import find the memories too.
    """

    def __init__(self, backends: TenantBackends, retry_budget: RetryBudget) -> None:
        """Bind the tenant."""
        self._backends = backends
        self._retry_budget = retry_budget
        self._bulk = Bulk(backends.tenant_id)

    async def renamed(self, lines: Sequence[tuple[RowLine, bool]]) -> list[RowLine]:
        """Return the rows with the ids that their memories have here; an id without a memory here stays.

        Each comes with whether it is moved to another agent than its line names.

        Raises:
            Unavailable: the database does not answer.
        """
        named = {
            (line.agent_id or "", moved, id_): None
            for line, moved in lines
            for id_ in _named(line)
            if _ID.fullmatch(id_)
        }
        wanted, new = list(named), dict[tuple[str, bool, str], str]()
        for start in range(0, len(wanted), _AT_ONCE):
            await self._backends.admission.part()
            new.update(await self._new_ids(wanted[start : start + _AT_ONCE]))
        return [
            _with(line, {id_: new[key] for id_ in _named(line) if (key := (line.agent_id or "", moved, id_)) in new})
            for line, moved in lines
        ]

    async def _new_ids(self, wanted: Sequence[tuple[str, bool, str]]) -> dict[tuple[str, bool, str], str]:
        """Return the ids that differ, of memories that their agents have."""
        tenant_id = self._backends.tenant_id
        candidates = {
            (agent, moved, id_): id_candidates(tenant_id, agent, id_, moved=moved) for agent, moved, id_ in wanted
        }
        asked = self._bulk.agents_of(sorted({one for ids in candidates.values() for one in ids}))
        (rows,) = await self._retry_budget.of(lambda: self._backends.data.database.run([asked]))
        agents = {str(row["id"]): row["agent_id"] for row in rows}
        own = {key: next((one for one in ids if agents.get(one) == key[0]), key[2]) for key, ids in candidates.items()}
        return {key: id_ for key, id_ in own.items() if id_ != key[2]}


def _named(line: RowLine) -> set[str]:
    """Return the ids of memories that a row names."""
    return {id_ for column in line.tier.memories for id_ in _ids(_value(line, column))}


def _value(line: RowLine, column: str) -> Any:  # noqa: ANN401 - any JSON
    value = line.row.get(column)
    return json.loads(value) if column in line.tier.json and isinstance(value, str) else value


def _ids(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Return the ids in a value: one, a list of them, or a list of objects that have ``memories``."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [id_ for part in value for id_ in _ids(part.get("memories") if isinstance(part, dict) else part)]
    return []


def _with(line: RowLine, new: Mapping[str, str]) -> RowLine:
    if not new:
        return line
    changed = dict[str, Scalar]()
    for column in line.tier.memories:
        value = _replaced(_value(line, column), new)
        changed[column] = to_json(value) if column in line.tier.json else value
    return replace(line, row={**line.row, **changed})


def _replaced(value: Any, new: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return new.get(value, value)
    if isinstance(value, dict):
        return value if "memories" not in value else {**value, "memories": _replaced(value["memories"], new)}
    return [_replaced(part, new) for part in value] if isinstance(value, list) else value
