"""A process that is killed at any write of a delegated run: done again, all ends as if it had not been killed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.domain.episodes import NewEpisode, NewRun
from app.ports.database import Row, Statement
from app.runtime.tenant_services import TenantServices
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import rows_of

PARENT, CHILD, FAILED, EPISODE = (f"01K2Z4M1V7Q8T3B5N6C7D8E9F{mark}" for mark in "ABCD")
ENDS = {
    "agent_runs": (
        *("id", "agent_id", "status", "parent_run_id", "parent_gone", "kept", "input", "output", "error"),
        "ended_at IS NULL",
    ),
    "working_log": ("agent_id", "run_id", "json_remove(entry, '$.ms') AS entry"),
    "working_key": ("instance", "key", "agent_id", "json_remove(value, '$.started_at', '$.ended_at') AS value"),
    "memory_episodes": ("id", "run_id", "content"),
    "episodic_count": ("runs", "episodes"),
}
"""What a run leaves, without the moments."""


class Killed(BaseException):
    """The process is gone."""


async def delegate(bench: Bench) -> None:
    """Do a task with two delegated ones, as a harness does it again after a crash."""
    episodic = TenantServices(bench.backends.of_tenant("acme", ADMINISTRATOR)).episodic
    await episodic.begin(NewRun("bot", "support", 1, PARENT))
    await episodic.begin(NewRun("helper", "orders", 2, CHILD, parent_run_id=PARENT, handed_over={"order": 17}))
    await episodic.begin(NewRun("third", "orders", 3, FAILED, parent_run_id=PARENT))
    await episodic.append(CHILD, [NewEpisode("note", "text", {}, EPISODE)])
    await episodic.complete(CHILD, {"refunded": True})
    await episodic.fail(FAILED, "no such order")
    await episodic.complete(PARENT, None)


async def ended(bench: Bench) -> list[list[Row]]:
    by = {"working_log": "agent_id, run_id, number"}
    return [await rows_of(bench, table, *columns, by=by.get(table, "1, 2")) for table, columns in ENDS.items()]


def kill(bench: Bench, number: int, executed: int, patched: pytest.MonkeyPatch) -> list[int]:
    """Kill at a run of the database that writes, once so many of its statements were executed; return their counts."""
    run, sizes = type(bench.database).run, list[int]()

    async def dies(database: Any, statements: Sequence[Statement]) -> Any:
        if not any(each.writes for each in statements):
            return await run(database, statements)
        sizes.append(len(statements))
        if len(sizes) == number:
            if executed:
                await run(database, statements[:executed])
            raise Killed
        return await run(database, statements)

    patched.setattr(type(bench.database), "run", dies)
    return sizes


@pytest.mark.thorough
async def test_killed_at_any_write_a_delegated_run_ends_as_one_that_was_not(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path / "whole", backend) as bench:
        with pytest.MonkeyPatch.context() as patched:
            sizes = kill(bench, 0, 0, patched)
            await delegate(bench)
        whole = await ended(bench)
    assert len(sizes) >= 7
    events = [str(row["entry"]) for row in whole[1] if row["run_id"] == PARENT]
    assert sum("child_ended" in each for each in events) == 2
    moments = [(number, executed) for number, size in enumerate(sizes, 1) for executed in range(size + 1)]
    # Over a socket each takes longer: the first and the last statements of each run, and some between.
    for number, executed in moments if backend.name == "embedded" else moments[::4]:
        async with bench_on(tmp_path / f"{number}-{executed}", backend) as bench:
            with pytest.MonkeyPatch.context() as patched:
                kill(bench, number, executed, patched)
                with pytest.raises(Killed):
                    await delegate(bench)
            await delegate(bench)
            assert await ended(bench) == whole, (number, executed)
