"""What the packaged reader says of memories does not keep copies of one wording apart."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.local.reader.local_reader import PACKAGED, LocalReader
from app.adapters.local.transformer import packaged_model_dir
from app.domain.memory import NewMemory
from app.indexing.jobs.consolidate import Consolidate, Consolidated
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.consolidation import Consolidations
from app.services.memories.gateway import LongTermMemoryGateway
from tests.services.compared import compare
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import memory_rows
from tests.support.tables import rows_of

pytestmark = pytest.mark.thorough

SAID = (
    *("The team meets on Mondays", "I live in Rome", "My flat is in Oslo now.", "Anna works at Siemens"),
    *("The deploy runs at 17:00 on Fridays", "Ella prefers invoices in Swedish", "We pay 480 euros for the server"),
    *("The user is allergic to peanuts", "Our office dog is called Bruno", "The password has 12 characters"),
)


@pytest.fixture
async def reader() -> AsyncIterator[LocalReader]:
    trunk = packaged_model_dir()
    if trunk is None:
        pytest.skip("the model's weights are not installed")
    opened = LocalReader(trunk, PACKAGED)
    yield opened
    await opened.close()


async def consolidate(bench: Bench, reader: LocalReader, *, dry_run: bool) -> Consolidated:
    rate_limiter = RateLimiter(1e9)
    job = Consolidate(
        bench.database, reader, holder="one", rate_limiter=rate_limiter, report=lambda _: None, dry_run=dry_run
    )
    return await job.run()


async def test_each_copy_is_merged_and_the_two_dry_runs_say_so_before_and_after_it_was_read(
    tmp_path: Path, reader: LocalReader
) -> None:
    async with bench_on(tmp_path, embedder="local") as bench:
        backends = replace(bench.backends, reader=reader)
        gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
        for session, space in (("a", " "), ("b", "  "), ("c", "\t")):
            for content in SAID:
                await gateway.store("bot", NewMemory(content.replace(" ", space), session_id=session))
        reports = Consolidations(backends.of_tenant("acme", ADMINISTRATOR))
        counts = [(await reports.dry_run("bot")).memories, (await consolidate(bench, reader, dry_run=True)).memories]
        await compare(backends, reader)  # type: ignore[arg-type]
        counts += [(await reports.dry_run("bot")).memories, (await consolidate(bench, reader, dry_run=True)).memories]
        assert await rows_of(bench, "relation", "older_id") == []
        counts.append((await consolidate(bench, reader, dry_run=False)).memories)
        assert set(counts) == {2 * len(SAID)}
        held = await memory_rows(bench, "content", superseded_at=None)
        assert sorted(" ".join(str(row["content"]).split()) for row in held) == sorted(SAID)
