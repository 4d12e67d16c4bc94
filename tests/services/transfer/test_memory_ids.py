"""Rows name memories by the ids that these have where they are imported."""

import json
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.storage.tiers.tables import TierTable
from tests.services.transfer.corpus import exported, imported
from tests.services.transfer.test_rows import TRAVELS, file_of_rows
from tests.support.backends import Backend
from tests.support.gateways import bench_on
from tests.support.memories import memory_ids
from tests.support.tier_rows import row_of

NAMING = [tier for tier in TRAVELS if tier.memories and tier.parent is None]
ABSENT = "01M8JMH92FCQKDXSV2472RFCGK"


@pytest.mark.parametrize("to", [("globex", None), ("acme", "third")], ids=["tenant", "agent"])
@pytest.mark.parametrize("tier", NAMING, ids=lambda tier: tier.kind)
async def test_rows_of_a_later_request_name_the_memories_of_an_earlier_one(
    tmp_path: Path, backend: Backend, tier: TierTable, to: tuple[str, str | None]
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        own = [await bench.gateway.store("bot", NewMemory(f"memory {number}")) for number in range(3)]
        await imported(bench, await exported(bench), to[0], to_agent=to[1])
        theirs = await memory_ids(bench, by="content", tenant_id=to[0], agent_id=to[1] or "bot")
        assert len(theirs) == 3
        assert not set(own) & set(theirs)
        for known, expected in ((own, theirs), ([ABSENT, *own[1:]], [ABSENT, *theirs[1:]])):
            row = row_of(tier, 1) | dict(zip(tier.memories, known, strict=False))
            *_, line, summary = await imported(bench, file_of_rows([(tier, row)]), to[0], to_agent=to[1])
            assert (line["status"], summary["end"]) == ("imported", "holds")
            *_, again, _ = await imported(bench, file_of_rows([(tier, row)]), to[0], to_agent=to[1])
            assert again["status"] == "unchanged"
            rows = [json.loads(one) for one in (await exported(bench, to[0])).splitlines()]
            names = [[one["row"][column] for column in tier.memories] for one in rows if one.get("kind") == tier.kind]
            assert expected[: len(tier.memories)] in names
