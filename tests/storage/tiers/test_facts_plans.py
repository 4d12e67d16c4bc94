"""What the statements of facts read: claims and memories of one agent, and no other's."""

from pathlib import Path

import pytest

from app.domain.explicit import about
from app.domain.facts import About
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.storage import filters
from app.storage.candidates import CandidateQuery, find_candidates
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement
from app.storage.tiers.facts import Facts
from app.storage.tiers.runs import agent_of_run
from tests.support.plans import plan

SCOPE = Scope("acme", "bot")
OF_SUBJECT = "(tenant_id=? AND agent_id=? AND key>? AND key<?)"
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


def scanned(details: list[str]) -> list[str]:
    """Return which tables are read from one end to the other."""
    tables = ("claim", "memory", "long_term_memory", "later", "other", "sure", "surer", "told", "doubt", "run")
    return [each for each in details if each.startswith("SCAN") and each.split()[1] in tables]


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("asked", [None, about(None, "lives in")])
@pytest.mark.parametrize("run_id", [None, RUN])
@pytest.mark.parametrize("after", [None, ListPosition(5, f"{RUN} user/lives_in")])
def test_a_listing_reads_the_agents_newest_memories_or_those_of_a_run_and_looks_up_the_rest(
    tmp_path: Path, asked: About | None, run_id: str | None, after: ListPosition | None, *, history: bool
) -> None:
    details = plan(tmp_path, Facts(SCOPE).page(asked, run_id=run_id, history=history, limit=21, after=after))
    index = "happened (tenant_id=? AND agent_id=?" if run_id is None else "taught (tenant_id=? AND <expr>=?"
    assert details[0].startswith(f"SEARCH memory USING INDEX long_term_memory_{index}")
    (claim,) = [each for each in details if each.startswith("SEARCH claim ")]
    assert "claim_of_memory (tenant_id=? AND agent_id=? AND memory_id=?" in claim
    (sorts,) = [each for each in details if each.startswith("USE TEMP")]
    assert (sorts == "USE TEMP B-TREE FOR ORDER BY") == (run_id is not None)  # else the newest are read first
    looks_up(details, history=history)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("asked", [about("user", "lives in"), about("user", None)])
@pytest.mark.parametrize("after", [None, ListPosition(5, f"{RUN} user/lives_in")])
def test_a_listing_of_a_subject_searches_the_claims_by_their_keys_and_looks_up_memories_by_their_ids(
    tmp_path: Path, asked: About, after: ListPosition | None, *, history: bool
) -> None:
    details = plan(tmp_path, Facts(SCOPE).page(asked, run_id=None, history=history, limit=21, after=after))
    (claim,) = [each for each in details if each.startswith("SEARCH claim ")]
    assert claim == f"SEARCH claim USING PRIMARY KEY {OF_SUBJECT}"
    (memory,) = [each for each in details if each.startswith("SEARCH memory ")]
    assert memory.endswith("(id=?)")
    (order,) = [place for place, each in enumerate(details) if each.startswith("USE TEMP")]
    assert details.index(claim) < order < details.index(memory)  # so that no more memories than needed are looked up
    assert details[0] == "CO-ROUTINE claim"  # which is what is scanned under this name
    looks_up([each for each in details if each != "SCAN claim"], history=history)


@pytest.mark.parametrize("asked", [about("user", "lives in"), about("user", None)])
def test_of_what_a_run_has_taught_of_a_subject_its_memories_alone_are_read(tmp_path: Path, asked: About) -> None:
    details = plan(tmp_path, Facts(SCOPE).page(asked, run_id=RUN, history=False, limit=21, after=None))
    (memory,) = [each for each in details if each.startswith("SEARCH memory ")]
    assert memory.startswith("SEARCH memory USING INDEX long_term_memory_taught (tenant_id=? AND <expr>=?")
    looks_up(details, history=False)


def looks_up(details: list[str], *, history: bool) -> None:
    assert scanned(details) == []
    for name in ("sure", *(() if history else ("later",))):
        (read,) = {each for each in details if each.startswith(f"SEARCH {name} ")}
        assert read.startswith(f"SEARCH {name} USING PRIMARY KEY (tenant_id=? AND agent_id=? AND key=?")


def test_what_memories_state_and_a_run_are_looked_up(tmp_path: Path) -> None:
    details = plan(tmp_path, Facts(SCOPE).of_memories([RUN]))
    assert details[0].startswith("SEARCH claim USING INDEX claim_of_memory (tenant_id=? AND agent_id=? AND memory_id=?")
    assert scanned(details) == []
    (run,) = plan(tmp_path, agent_of_run(SCOPE, RUN))
    assert run.startswith("SEARCH run USING PRIMARY KEY (tenant_id=? AND id=?")


@pytest.mark.parametrize("asked", [None, about("user", "lives in"), about("user", None), about(None, "lives in")])
def test_a_recall_of_facts_reads_memories_of_its_agent_and_their_claims_alone(
    tmp_path: Path, asked: About | None
) -> None:
    details = plan(tmp_path, recall(asked))
    assert scanned(details) == []
    for name in ("sure", *(() if asked is None else ("told",))):
        read = {each for each in details if each.startswith(f"SEARCH {name} ")}
        assert read
        for each in read:
            assert "(tenant_id=? AND agent_id=?" in each
    own = [each for each in details if each.startswith("SEARCH long_term_memory ")]
    assert own
    assert all("(tenant_id=? AND agent_id=?" in each or "(rowid=?)" in each or "(id=?)" in each for each in own), own


@pytest.mark.parametrize("asked", [about("user", "lives in"), about("user", None)])
def test_a_recall_of_a_subject_searches_the_claims_by_their_keys_and_not_for_each_memory(
    tmp_path: Path, asked: About
) -> None:
    details = plan(tmp_path, recall(asked))
    told = {each for each in details if each.startswith("SEARCH told ")}
    assert told == {f"SEARCH told USING PRIMARY KEY {OF_SUBJECT}"}
    searches = [place for place, each in enumerate(details) if each.startswith("SEARCH told ")]
    assert {details[place - 2].rstrip("0123456789") for place in searches} == {"LIST SUBQUERY "}  # and none correlated


@pytest.mark.parametrize("asked", [about("user", "lives in"), about("user", None)])
def test_the_memories_that_state_what_a_filter_names_are_looked_up_from_their_claims(
    tmp_path: Path, asked: About
) -> None:
    where = Filter(type="fact", about=asked)
    stating = ScopedStatement.read(SCOPE, filters.stating(where), where=filters.argument(where))
    details = plan(tmp_path, stating)
    assert scanned(details) == []
    assert {each.split(" INDEX ")[-1] for each in details if each.startswith(("SEARCH memory", "SEARCH teller"))} == {
        "sqlite_autoindex_long_term_memory_1 (id=?)"
    }


def test_the_memories_of_a_predicate_are_found_by_it_whatever_their_subjects(tmp_path: Path) -> None:
    where = Filter(type="fact", about=about(None, "lives in"))
    stating = ScopedStatement.read(SCOPE, filters.stating(where), where=filters.argument(where))
    details = plan(tmp_path, stating)
    assert scanned([each for each in details if each != "SCAN told"]) == []  # what was found is called so
    for table, search in (
        ("told", "claim_of_relation (tenant_id=? AND agent_id=? AND <expr>>? AND <expr><?)"),
        ("teller", "long_term_memory_told (tenant_id=? AND agent_id=? AND <expr>=?)"),
    ):
        assert any(each.startswith(f"SEARCH {table} ") and search in each for each in details), details


def recall(asked: About | None) -> Statement:
    where = Filter(type="fact", about=asked)
    query = CandidateQuery({"lexical": ['"oslo"'], "semantic": [[RUN, 0.5]]}, "index", 10, where=where, fill=5)
    return find_candidates(SCOPE, query)
