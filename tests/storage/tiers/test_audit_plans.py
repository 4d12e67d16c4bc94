"""What a page of the audit reads: the rows that its filter names, from an index."""

from pathlib import Path
from typing import Any

import pytest

from app.domain.audit import AuditFilter
from app.storage.listing import ListPosition
from app.storage.tiers.audit_listing import events
from tests.support.plans import plan

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
FILTERS: dict[str, Any] = {
    "agent_id": "a",
    "event": "deleted",
    "memory_id": RUN,
    "run_id": RUN,
    "written_by": "c",
    "after": 1,
}


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_alone_goes_by_an_index(tmp_path: Path, name: str) -> None:
    statement = events("acme", AuditFilter(**{name: FILTERS[name]}), limit=5, after=ListPosition(9, "t"))
    details = plan(tmp_path, statement)
    assert any("USING INDEX" in each for each in details)
    assert not any(each.startswith("SCAN") and "(subquery" not in each for each in details), details
    if name not in {"event", "after"}:
        assert all(f"{name}=?" in each for each in details if "SEARCH row" in each), details
