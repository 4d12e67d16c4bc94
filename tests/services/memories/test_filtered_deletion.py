"""A deletion by a filter deletes what was counted, whatever others do meanwhile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from app.domain.query import Filter
from app.services.memories.filtered_deletion import FilteredDeletions
from app.storage.scoped import TenantDatabase
from tests.support.service import serving


class Between:
    """A database in which something else is done once the first run has ended."""

    def __init__(self, database: TenantDatabase, other: Any) -> None:
        self._database, self._other, self._runs = database, other, 0

    async def run(self, statements: Sequence[Any]) -> Any:
        self._runs += 1
        if self._runs == 2:
            await self._other()
        return await self._database.run(statements)


async def test_what_is_stored_after_the_count_stays_though_another_request_has_deleted_what_was_counted(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        await service.store("old one")
        await service.store("old two")

        async def other() -> None:
            everything = {"agent_id": "bot", "dry_run": False, "confirm": 2}
            answer = await service.post("/deletions", everything, admin=True)
            assert answer.json()["memories"] == 2
            service.later(1)
            await service.store("new")

        backends = service.runtime.backends.of_tenant("acme")
        between = cast("TenantDatabase", Between(backends.data.database, other))
        done = await FilteredDeletions(backends.with_database(between)).delete("bot", Filter(), confirm=2)
        assert (done.memories, done.left) == (0, 1)
