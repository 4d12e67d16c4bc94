"""What listings read: rows by their keys, whatever else the agent has."""

from pathlib import Path

import pytest

from app.domain.claim import MemoryType
from app.domain.episodes import RunsWanted
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.storage.listing import ListPosition, MemoryListing
from app.storage.tiers.episodic import Episodic
from tests.support.plans import plan

SCOPE = Scope("acme", "bot")
LISTING = MemoryListing(SCOPE.tenant_id)


def test_the_memories_of_an_agent_are_read_from_the_newest_on(tmp_path: Path) -> None:
    details = plan(tmp_path, LISTING.page("bot", Filter(), limit=5, after=None))
    assert details[0] == "SEARCH memory USING INDEX long_term_memory_newest (tenant_id=? AND agent_id=?)"
    assert "USE TEMP B-TREE FOR ORDER BY" not in details, "only what is of one moment is sorted"


@pytest.mark.parametrize(
    "statement",
    [
        LISTING.standing(SCOPE, ["1", "2"], limit=8),
        LISTING.profile(SCOPE, limit=5, after=None, session_id=None, type_="instruction"),
    ],
    ids=["standing", "profile"],
)
def test_a_memory_its_claims_and_what_replaced_it_are_found_by_their_keys(statement: Statement, tmp_path: Path) -> None:
    details = plan(tmp_path, statement)
    tables = ("memory", "stated", "later", "holder")
    assert not [one for one in details if one.startswith(tuple(f"SCAN {table} " for table in tables))], details
    claims = [one for one in details if " stated " in one]
    assert claims, details
    assert all("memory_id=?" in one for one in claims), details


@pytest.mark.parametrize("type_", ["event", "fact", "instruction", "task"])
def test_the_memories_of_a_type_are_read_from_the_newest_on_and_no_others(type_: MemoryType, tmp_path: Path) -> None:
    listed = LISTING.profile(SCOPE, limit=5, after=ListPosition(9, "1"), session_id=None, type_=type_)
    (read,) = [one for one in plan(tmp_path, listed) if one.startswith("SEARCH memory ")]
    index = "long_term_memory_typed (tenant_id=? AND agent_id=? AND type=? AND created_at<?)"
    assert read == f"SEARCH memory USING INDEX {index}"


@pytest.mark.parametrize(
    ("wanted", "index", "by"),
    [
        (RunsWanted(), "newest", ""),
        (RunsWanted(status="running"), "of_status", " AND status=?"),
        (RunsWanted(agent_id="bot"), "of_agent", " AND agent_id=?"),
        (RunsWanted(agent_type="support"), "of_type", " AND agent_type=?"),
        (RunsWanted(parent_run_id="01K2Z4M1V7Q8T3B5N6C7D8E9FA"), "of_parent", " AND parent_run_id=?"),
    ],
    ids=["tenant", "status", "agent", "type", "parent"],
)
def test_runs_are_read_from_the_newest_on_by_the_tenant_and_what_is_asked_of_them(
    wanted: RunsWanted, index: str, by: str, tmp_path: Path
) -> None:
    details = plan(tmp_path, Episodic("acme").runs(wanted, limit=5, after=None))
    assert details[0] == f"SEARCH run USING INDEX agent_runs_{index} (tenant_id=?{by})"
    assert "USE TEMP B-TREE FOR ORDER BY" not in details
