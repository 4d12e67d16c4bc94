"""What was merged arrives merged, and can be taken back there."""

from pathlib import Path

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.consolidation import Consolidations
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, bench_on
from tests.support.memories import holding


async def test_a_merge_arrives_with_its_memories_and_is_undone_there(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path / "from", backend) as source, bench_on(tmp_path / "to", backend) as target:
        for session in "ab":
            await source.gateway.store("bot", NewMemory("I like tea", session_id=session))
        await Consolidate(
            source.database, None, holder="one", rate_limiter=RateLimiter(1e9), report=lambda _: None, pause=0
        ).run()
        data = await exported(source)
        lines = await imported(target, data)
        assert {line["status"] for line in lines if "status" in line} == {"imported"}
        assert len((await target.gateway.recall("bot", Query("tea"))).entries) == 1
        reports = Consolidations(target.backends.of_tenant("acme", ADMINISTRATOR))
        (report,) = await reports.latest(9)
        assert (await reports.undo(report.id)).memories == 1
        assert len(await holding(target)) == 2
