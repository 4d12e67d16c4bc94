"""What is in the data, once the index has had its time: whole memories, each with its vector, and nothing besides."""

from pathlib import Path

from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from tests.support.backends import Backend
from tests.support.counts import counted, usage_of
from tests.support.damage import check_words
from tests.support.gateways import bench_on
from tests.support.memories import memory_rows


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
        rows = await memory_rows(bench, "id", "tenant_id", "agent_id", "content", by="id")
        assert (findings.missing, findings.orphans, findings.stale) == (0, 0, 0)
        assert (findings.listed, findings.walked) == (len(rows), len(rows))
        assert await usage_of(bench) == await counted(bench)
        await check_words(bench)
    return [(str(row["tenant_id"]), str(row["agent_id"]), str(row["content"])) for row in rows]
