"""Of an erased agent the file keeps the name in what tells that it was erased, and nowhere else."""

from contextlib import closing
from pathlib import Path

import apsw

from app.bootstrap import DATABASE_FILE
from app.domain.memory import NewMemory
from app.domain.query import Query
from tests.support.gateways import bench_on

ERASED = "agent-of-whom-nothing-stays"


def tables_with(text: str, path: Path) -> set[str]:
    with closing(apsw.Connection(str(path))) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name for name in tables if text in str(connection.execute(f"SELECT * FROM {name}").fetchall())}


async def test_an_erased_agent_is_named_in_its_audit_and_its_receipt_alone(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        ids = [await bench.gateway.store(ERASED, NewMemory(f"note {number} on tea")) for number in range(4)]
        await bench.gateway.store("bot", NewMemory("a note of another agent"))
        await bench.quiet()
        await bench.gateway.recall(ERASED, Query("which note is on tea?"))
        await bench.gateway.delete(ERASED, ids[0])
        await bench.quiet()
        assert {"long_term_memory", "local_vector", "local_vector_removals"} <= tables_with(
            ERASED, tmp_path / DATABASE_FILE
        )
        erasure = await bench.gateway.erase(ERASED)
        await bench.quiet()
        assert (await bench.gateway.erasure(erasure.id)).receipt is not None
        assert tables_with(ERASED, tmp_path / DATABASE_FILE) == {"audit", "erasure"}
