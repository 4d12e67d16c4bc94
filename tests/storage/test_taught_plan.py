"""What an undo of a run reads: what the run has taught, from an index for each way of teaching."""

from pathlib import Path

from app.domain.memory import Tenant
from app.domain.undoing import Selected
from app.storage.undo_forecast import forecast
from tests.support.plans import plan


def test_what_a_run_has_taught_is_found_in_two_indexes_and_not_among_all_of_the_tenant(tmp_path: Path) -> None:
    going = forecast(Tenant("acme"), Selected(run_id="01K2Z4M1V7Q8T3B5N6C7D8E9FA"))[1]
    read = [each for each in plan(tmp_path, going) if each.startswith("SEARCH memory USING INDEX long")]
    assert [each.split(" USING INDEX ")[1] for each in read] == [
        "long_term_memory_taught (tenant_id=? AND <expr>=?)",
        "long_term_memory_of_run (tenant_id=? AND run_id=?)",
    ]
