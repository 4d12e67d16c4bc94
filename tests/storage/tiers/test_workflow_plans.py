"""What a selection and an outcome read: the workflows of one task, and no other of the tenant."""

import re
from pathlib import Path

import apsw
import pytest

from app.domain.author import Author
from app.domain.json_types import to_json
from app.domain.memory import Tenant
from app.storage.tiers.procedural import Workflows
from tests.support import migrated

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
OF_TASK = "workflow_of_task (tenant_id=? AND agent_type=? AND task_type=?)"


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    migrated.prepare(tmp_path)
    return apsw.Connection(str(tmp_path / "memory.sqlite3"))


def plan(connection: apsw.Connection, sql: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (to_json({}),))
    return [str(detail) for *_, detail in rows.fetchall()]


def test_a_selection_reads_the_workflows_of_its_task_in_their_order(connection: apsw.Connection) -> None:
    statement = Workflows("acme", Author()).draws(Tenant("acme"), "t", "k", run_id=None, chooser=None)
    details = plan(connection, statement.sql)
    assert f"SEARCH workflow USING INDEX {OF_TASK}" in details
    read = [each for each in details if each.startswith(("SEARCH tally", "SCAN tally"))]
    assert [each for each in read if "tenant_id=? AND" in each] == [
        "SEARCH tally USING INDEX workflow_tally_newest (tenant_id=? AND workflow_id=?)",
        "SEARCH tally USING PRIMARY KEY (tenant_id=? AND workflow_id=? AND written_by=?)",
        "SEARCH tally USING INDEX workflow_tally_of_agent (tenant_id=? AND agent_id=? AND workflow_id=?)",
    ]
    assert details[-1] != "USE TEMP B-TREE FOR ORDER BY", "the workflows come in their order"


def test_an_outcome_looks_up_its_workflow_and_its_run(connection: apsw.Connection) -> None:
    for statement in Workflows("acme", Author("c")).score(Tenant("acme"), "w", RUN, 1):
        details = plan(connection, statement.sql)
        tables = ("workflow", "run", "outcome", "tally")
        assert not [each for each in details if each.startswith(tuple(f"SCAN {table} " for table in tables))], details
        assert all("(tenant_id=? AND " in each for each in details if each.startswith("SEARCH"))


def test_an_outcome_changes_the_workflows_of_its_task_by_their_index(connection: apsw.Connection) -> None:
    # SQLite does not explain what a trigger does: its statement is explained as if it were sent.
    trigger = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'workflow_scored'").get
    (update,) = re.findall(r"UPDATE workflow SET.*?;", trigger, re.DOTALL)
    details = plan(connection, re.sub(r"new\.(\w+)", r"(?1 ->> '\1')", update))
    assert [each for each in details if each.startswith(("SCAN", "SEARCH"))] == [
        "SEARCH workflow USING PRIMARY KEY (tenant_id=? AND id=?)",
        "SEARCH run USING PRIMARY KEY (tenant_id=? AND id=?)",
        f"SEARCH rival USING COVERING INDEX {OF_TASK}",
    ]
