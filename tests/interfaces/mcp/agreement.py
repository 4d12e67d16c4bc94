"""What is in the data, once the index has had its time: whole memories, each with its vector, and nothing besides."""

from pathlib import Path

from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Statement
from tests.support.backends import Backend
from tests.support.gateways import bench_on

_HELD = """
count(*) AS memories, sum(length(CAST(content AS BLOB)) + length(CAST(metadata AS BLOB))) AS bytes
FROM long_term_memory GROUP BY 1, 2"""
_THERE = f"SELECT tenant_id, agent_id, {_HELD} UNION ALL SELECT tenant_id, '', {_HELD} ORDER BY 1, 2"
_COUNTED = "SELECT tenant_id, agent_id, memories, bytes FROM usage WHERE memories <> 0 ORDER BY 1, 2"
_WORDS = Statement("INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)", writes=True)


async def agreed(data_dir: Path, backend: Backend | None = None) -> list[tuple[str, str, str]]:
    """Return tenant, agent and content of every memory, after checking that all tables and the index agree on them."""
    async with bench_on(data_dir, backend) as bench:
        await bench.quiet()
        assert await bench.queued() == {}
        findings = await Reconcile(
            bench.database,
            bench.index,
            bench.embedder,
            holder="test",
            rate_limiter=RateLimiter(1e9),
            repair=False,
            report=lambda _: None,
        ).run()
        rows = await bench.rows("SELECT id, tenant_id, agent_id, content FROM long_term_memory ORDER BY id")
        assert (findings.missing, findings.orphans, findings.stale) == (0, 0, 0)
        assert (findings.listed, findings.walked) == (len(rows), len(rows))
        assert await bench.rows(_COUNTED) == await bench.rows(_THERE)
        await bench.database.run([_WORDS])
    return [(str(row["tenant_id"]), str(row["agent_id"]), str(row["content"])) for row in rows]
