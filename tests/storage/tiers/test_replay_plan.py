"""What a page of a replay reads: the next rows of the run of each kind, from an index that has them in their order."""

from pathlib import Path

from app.domain.memory import Tenant
from app.storage.listing import ListPosition
from app.storage.tiers.replay import steps
from tests.support.plans import plan


def test_each_kind_of_step_is_read_from_the_index_of_its_run_and_not_sorted(tmp_path: Path) -> None:
    statement = steps(Tenant("acme"), "01K2Z4M1V7Q8T3B5N6C7D8E9FA", ListPosition(0, "1"), limit=20)
    details = plan(tmp_path, statement)
    read = [each for each in details if each.startswith("SEARCH step")]
    assert [each.split(" USING INDEX ")[1] for each in read] == [
        "tool_call_log_of_run (tenant_id=? AND run_id=? AND recorded_at>?)",
        "memory_episodes_of_run (tenant_id=? AND run_id=? AND created_at>?)",
        "recall_log_of_run (tenant_id=? AND run_id=? AND recorded_at>?)",
        "agent_runs_of_parent (tenant_id=? AND parent_run_id=? AND started_at>?)",
        "agent_runs_of_parent (tenant_id=? AND parent_run_id=?)",
    ]
    # Only the pages of the kinds, a hundred rows each at most, are sorted, once they are read.
    first_sort = next(place for place, each in enumerate(details) if each.startswith("USE TEMP B-TREE"))
    assert first_sort > details.index(read[-1])
