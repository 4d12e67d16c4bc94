"""What a selection and an outcome read: the workflows of one task, and no other of the tenant."""

import re
from pathlib import Path

import apsw
import pytest

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
    (detail,) = plan(connection, Workflows("acme").draws("t", "k").sql)
    assert detail == f"SEARCH workflow USING INDEX {OF_TASK}"


def test_an_outcome_looks_up_its_workflow_and_its_run(connection: apsw.Connection) -> None:
    for statement in Workflows("acme").score(Tenant("acme"), "w", RUN, 1):
        details = plan(connection, statement.sql)
        assert not [each for each in details if each.startswith("SCAN") and each != "SCAN CONSTANT ROW"], details
        assert all("USING PRIMARY KEY" in each for each in details if each.startswith("SEARCH"))


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
