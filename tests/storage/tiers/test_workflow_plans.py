"""What a selection and an outcome read: the workflows of one task, and no other of the tenant."""

import re
from functools import partial
from pathlib import Path

from app.bootstrap import DATABASE_FILE
from app.domain.author import Author
from app.domain.memory import Tenant
from app.ports.database import Statement
from app.storage.tiers.procedural import Workflows
from tests.support import migrated
from tests.support.plans import plan
from tests.support.tables import at_rest, column_of

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
OF_TASK = "workflow_of_task (tenant_id=? AND agent_type=? AND task_type=?)"


def test_a_selection_reads_the_workflows_of_its_task_in_their_order(tmp_path: Path) -> None:
    statement = Workflows("acme", Author()).draws(Tenant("acme"), "t", "k", run_id=None, chooser=None)
    details = plan(tmp_path, statement)
    assert f"SEARCH workflow USING INDEX {OF_TASK}" in details
    read = [each for each in details if each.startswith(("SEARCH tally", "SCAN tally"))]
    assert [each for each in read if "tenant_id=? AND" in each] == [
        "SEARCH tally USING INDEX workflow_tally_newest (tenant_id=? AND workflow_id=?)",
        "SEARCH tally USING PRIMARY KEY (tenant_id=? AND workflow_id=? AND written_by=?)",
        "SEARCH tally USING INDEX workflow_tally_of_agent (tenant_id=? AND agent_id=? AND workflow_id=?)",
    ]
    assert details[-1] != "USE TEMP B-TREE FOR ORDER BY", "the workflows come in their order"


def test_an_outcome_looks_up_its_workflow_and_its_run(tmp_path: Path) -> None:
    for statement in Workflows("acme", Author("c")).score(Tenant("acme"), "w", RUN, 1):
        details = plan(tmp_path, statement)
        tables = ("workflow", "run", "outcome", "tally")
        assert not [each for each in details if each.startswith(tuple(f"SCAN {table} " for table in tables))], details
        assert all("(tenant_id=? AND " in each for each in details if each.startswith("SEARCH"))


def test_an_outcome_changes_the_workflows_of_its_task_by_their_index(tmp_path: Path) -> None:
    # SQLite does not explain what a trigger does: its statement is explained as if it were sent.
    migrated.prepare(tmp_path)
    (trigger,) = at_rest(
        tmp_path / DATABASE_FILE, partial(column_of, table="sqlite_schema", column="sql", name="workflow_scored")
    )
    (update,) = re.findall(r"UPDATE workflow SET.*?;", trigger, re.DOTALL)
    details = plan(tmp_path, Statement(re.sub(r"new\.(\w+)", r"(?1 ->> '\1')", update), {}))
    assert [each for each in details if each.startswith(("SCAN", "SEARCH"))] == [
        "SEARCH workflow USING PRIMARY KEY (tenant_id=? AND id=?)",
        "SEARCH run USING PRIMARY KEY (tenant_id=? AND id=?)",
        f"SEARCH rival USING COVERING INDEX {OF_TASK}",
    ]
