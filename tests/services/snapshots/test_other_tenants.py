"""What is restored to another tenant, where its memories get other ids, holds as it does where it comes from."""

import pytest

from app.domain.memory import NewMemory
from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.consolidation import Consolidations
from tests.services.snapshots.tenants import keeper, recalled, restored
from tests.support.dying import killed_at
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.memories import memory_rows, superseded
from tests.support.tables import rows_of


async def consolidated(bench: Bench) -> None:
    await Consolidate(
        bench.database, None, holder="one", rate_limiter=RateLimiter(1e9), report=lambda _: None, pause=0
    ).run()


async def merged(bench: Bench) -> None:
    """Two agents were told two things twice each, of which one is one memory now."""
    for agent in ("bot", "other"):
        for session in "ab":
            for drink in ("tea", "coffee"):
                await bench.gateway.store(agent, NewMemory(f"{agent} likes {drink}", session_id=session))
    await consolidated(bench)
    await bench.delivered()


async def held(bench: Bench, tenant: str) -> list[tuple[object, ...]]:
    """What holds of a tenant, and what does not since when: without ids."""
    rows = await memory_rows(
        bench,
        "agent_id",
        "content",
        "session_id",
        "superseded_at",
        by="agent_id, content, session_id",
        tenant_id=tenant,
    )
    return [tuple(row.values()) for row in rows]


async def named(bench: Bench, tenant: str) -> list[tuple[object, object]]:
    """The memories that merges name, by content and session of what was merged, and whether it was taken back."""
    rows = await memory_rows(bench, "id", "content", "session_id", tenant_id=tenant)
    said = {row["id"]: f"{row['content']}{row['session_id']}" for row in rows}
    merges = await rows_of(bench, "consolidated", "other_id", "kept_id", "undone", tenant_id=tenant)
    return sorted((said[row["other_id"]] + said[row["kept_id"]], row["undone"]) for row in merges)


async def undo(bench: Bench, tenant: str = "acme") -> int:
    reports = Consolidations(bench.backends.of_tenant(tenant, ADMINISTRATOR))
    (report,) = await reports.latest(9)
    return (await reports.undo(report.id)).memories


async def test_what_was_merged_is_merged_in_another_tenant_and_recalled_alike(bench: Bench) -> None:
    await merged(bench)
    made, before, pairs = await keeper(bench).keep(1), await held(bench, "acme"), await named(bench, "acme")
    assert (len(await superseded(bench, tenant_id="acme")), len(pairs)) == (4, 4)
    summary = await restored(bench, made, "fresh")
    assert (summary["rejected"], summary["conflict"]) == (0, 0)
    assert await held(bench, "fresh") == await held(bench, "acme") == before
    assert await named(bench, "fresh") == await named(bench, "acme") == pairs
    await bench.delivered()
    entries = await recalled(bench, "acme", "bot", "tea")
    assert len(entries) == 2
    assert await recalled(bench, "fresh", "bot", "tea") == entries
    again = await restored(bench, made, "fresh")
    assert (again["imported"], again["conflict"], again["rejected"]) == (0, 0, 0)
    assert (await held(bench, "fresh"), await named(bench, "fresh")) == (before, pairs)
    assert await undo(bench, "fresh") == 4
    assert (len(await superseded(bench, tenant_id="fresh")), len(await superseded(bench, tenant_id="acme"))) == (0, 4)


async def test_what_was_taken_back_is_not_merged_again_in_another_tenant(bench: Bench) -> None:
    await merged(bench)
    assert await undo(bench) == 4
    made = await keeper(bench).keep(1)
    await restored(bench, made, "fresh")
    assert await named(bench, "fresh") == await named(bench, "acme")
    await consolidated(bench)
    assert (len(await superseded(bench, tenant_id="fresh")), len(await superseded(bench, tenant_id="acme"))) == (0, 0)


@pytest.mark.parametrize("done", [True, False])
async def test_a_restore_to_another_tenant_that_is_killed_keeps_merges_once_it_is_done_again(
    bench: Bench, *, done: bool
) -> None:
    await merged(bench)
    made, before, pairs = await keeper(bench).keep(1), await held(bench, "acme"), await named(bench, "acme")
    number, died = 1, True
    while died:
        target = f"target-{number}"
        died = await killed_at(bench, number, lambda to=target: restored(bench, made, to), done=done)  # type: ignore[misc]
        await restored(bench, made, target)
        assert (await held(bench, target), await named(bench, target)) == (before, pairs)
        await bench.delivered()
        number += 1
    assert number > 5
