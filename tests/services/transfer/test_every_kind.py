"""A file with every kind of row, written once and kept: what an import makes of it, and its export, stay the same."""

import hashlib
import json
from pathlib import Path
from typing import Any

from app.domain.json_types import to_json
from app.services.transfer.lines import MEMORY
from app.services.transfer.verify import verify
from app.storage.batches import MEMORIES
from app.storage.tiers.tables import TIER_TABLES
from tests.services.transfer.corpus import exported, imported
from tests.support.gateways import Bench
from tests.support.tier_rows import LATER

DATA = Path(__file__).parents[2] / "data" / "transfer"
_DAY = {tier.kind for tier in TIER_TABLES if tier.day or tier.expires}


def of_today() -> bytes:
    """Return the export, in which working memory expires today, with the hashes as docs/format.md says."""
    manifest, *lines, end = map(json.loads, (DATA / "export.ndjson").read_bytes().splitlines())
    for line in lines:
        if line.get("kind") in _DAY:
            line["row"]["expires_at"] = LATER
            line["hash"] = sha256({"kind": line["kind"], "row": line["row"]})
    end["hash"] = hashlib.sha256("".join(line["hash"] for line in lines).encode()).hexdigest()
    return b"".join(to_json(line).encode() + b"\n" for line in (manifest, *lines, end))


def sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_each_column_of_a_memory_is_a_field_of_its_line() -> None:
    assert {field.name for field in MEMORY.declared} == set(MEMORIES.columns)


async def test_a_file_of_every_kind_is_imported_whole_and_exported_as_the_very_same_bytes(bench: Bench) -> None:
    data = of_today()
    lines = [json.loads(line) for line in data.splitlines()]
    assert {line["kind"] for line in lines if line["type"] == "tier"} == {
        tier.kind for tier in TIER_TABLES if tier.travels
    }
    for status in ("imported", "unchanged"):
        *report, summary = await imported(bench, data)
        assert summary["end"] == "holds"
        assert [(line["line"], line["status"]) for line in report] == [
            (number, status) for number in range(2, len(lines))
        ]
        assert await exported(bench, vectors=True) == data
    assert verify([data]).flaws == 0


async def test_of_a_file_full_of_flaws_each_line_is_answered_as_ever(bench: Bench) -> None:
    data = (DATA / "broken.ndjson").read_bytes()
    expected = [json.loads(line) for line in (DATA / "broken.report.ndjson").read_bytes().splitlines()]
    assert await imported(bench, data) == expected
    verdict = verify([data])
    assert (verdict.lines, verdict.memories, verdict.rows, verdict.flaws) == (165, 8, 25, 148)
