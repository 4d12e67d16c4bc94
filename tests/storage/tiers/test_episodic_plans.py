"""What the statements of the episodic tier read: each finds its rows in an index, in the order that is asked for."""

from pathlib import Path

import pytest

from app.domain.episodes import EpisodesWanted, NewEpisode, NewRun, RunsWanted
from app.ports.database import Statement
from app.storage.listing import ListPosition
from app.storage.system import episodes
from app.storage.tiers.episodic import Episodic
from tests.support.plans import plan

STATEMENTS = Episodic("acme")
AFTER = ListPosition(5, "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


@pytest.mark.parametrize("after", [None, AFTER])
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "newest (tenant_id=?"),
        ({"agent_type": "t"}, "of_type (tenant_id=? AND agent_type=?"),
        ({"agent_id": "a"}, "of_agent (tenant_id=? AND agent_id=?"),
        ({"agent_id": "a", "agent_type": "t"}, "of_agent_type (tenant_id=? AND agent_id=? AND agent_type=?"),
        ({"run_id": RUN}, "of_run (tenant_id=? AND run_id=?"),
        ({"run_id": RUN, "agent_id": "a"}, "of_run (tenant_id=? AND run_id=?"),
    ],
)
def test_the_newest_episodes_are_the_first_of_an_index_and_nothing_is_sorted(
    tmp_path: Path, wanted: dict[str, str], index: str, after: ListPosition | None
) -> None:
    details = plan(tmp_path, STATEMENTS.episodes(EpisodesWanted(**wanted), limit=10, after=after))
    (read,) = [each for each in details if each.startswith("SEARCH episode")]
    assert read.startswith(f"SEARCH episode USING INDEX memory_episodes_{index}")
    assert not [each for each in details if each.startswith(("SCAN", "USE TEMP"))]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "newest"),
        ({"agent_type": "t"}, "of_type"),
        ({"agent_id": "a", "status": "running"}, "of_agent"),
        ({"status": "running"}, "of_status"),
        ({"parent_run_id": RUN, "agent_id": "a", "status": "running"}, "of_parent"),
    ],
)
def test_the_newest_runs_are_the_first_of_an_index_and_nothing_is_sorted(
    tmp_path: Path, wanted: dict[str, str], index: str
) -> None:
    (detail,) = plan(tmp_path, STATEMENTS.runs(RunsWanted(**wanted), limit=10, after=AFTER))  # type: ignore[arg-type]
    assert detail.startswith(f"SEARCH run USING INDEX agent_runs_{index} (tenant_id=?")


@pytest.mark.parametrize("only", [None, "a"])
def test_a_run_begins_with_the_first_of_an_index_alone(tmp_path: Path, only: str | None) -> None:
    details = plan(tmp_path, STATEMENTS.begin(RUN, NewRun("a", "t", 1), only, kept="1", input_blob=None))
    (read,) = [each for each in details if "episode" in each]
    index = "of_type" if only is None else "of_agent_type"
    assert read.startswith(f"SEARCH episode USING COVERING INDEX memory_episodes_{index} (")
    assert not [each for each in details if each.startswith("USE TEMP")]


def test_the_episodes_that_a_run_was_given_are_looked_up_by_their_ids(tmp_path: Path) -> None:
    run, given, episode = plan(tmp_path, STATEMENTS.given(RUN, "a"))[:3]
    assert run.startswith("SEARCH run USING PRIMARY KEY (tenant_id=? AND id=?")
    assert given.startswith("SCAN given")
    assert episode.endswith("(tenant_id=? AND id=?)")


def test_a_write_looks_up_its_run_and_its_ids(tmp_path: Path) -> None:
    for statement in (
        STATEMENTS.admit(RUN, None, ids=[RUN], most=1),
        STATEMENTS.append(RUN, {RUN: NewEpisode("t", "c")}),
        STATEMENTS.end(RUN, "failed", output=None, output_blob=None, error="e"),
        STATEMENTS.run(RUN, None),
        STATEMENTS.count(),
        STATEMENTS.warn(1),
    ):
        read = [each for each in plan(tmp_path, statement) if each.startswith(("SCAN", "SEARCH"))]
        allowed = ("SCAN CONSTANT ROW", "SCAN episode VIRTUAL TABLE", "SCAN given")
        assert [each for each in read if each.startswith("SCAN") and not each.startswith(allowed)] == []


@pytest.mark.parametrize(
    "statement", [*episodes.delete_episodes(1, 2), *episodes.delete_runs(1, 2), *episodes.delete_delegated(2)]
)
def test_what_is_too_old_is_found_in_an_index(tmp_path: Path, statement: Statement) -> None:
    details = [each for each in plan(tmp_path, statement) if not each.startswith("SCAN tenant")]
    assert not [each for each in details if each.startswith("SCAN") and "LIST SUBQUERY" not in each], details
