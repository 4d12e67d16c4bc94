"""Outcomes have authors: one credential's weight has a bound for others, and goes when the credential is undone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain import limits
from app.domain.audit import AuditFilter
from app.domain.author import Author
from app.domain.errors import NotFound
from app.domain.undoing import Selected
from app.services.memories.undo import Undo
from app.services.memories.undo_taught import UndoTaught
from app.services.tiers.audit import Auditor
from app.services.tiers.procedural import ProceduralMemory
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import insert_rows, rows_of, set_rows
from tests.support.workflows import begin_runs, run_id, workflow

ATTACKER = Author("01K2Z4M1V7Q8T3B5N6C7D8E9FA", "mcp", agent_id="attacker")
SELECTIONS = 40
AGENTS = ("attacker", "ann", "bob", "cyd")
"""Each has its runs: a hundred of the numbers from a hundred times its place on."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        for place, agent in enumerate(AGENTS):
            await begin_runs(made, range(100 * place, 100 * place + 100), agent=agent)
        yield made


def by(bench: Bench, author: Author) -> ProceduralMemory:
    return ProceduralMemory(bench.backends.of_tenant("acme", author))


def of(agent: str, *, credential: str = "first") -> Author:
    return Author(f"{credential}-{agent}", "http", agent_id=agent)


async def reported(memory: ProceduralMemory, agent: str, name: str, scores: list[float], *, first: int = 0) -> None:
    start = 100 * AGENTS.index(agent) + first
    for number, score in enumerate(scores):
        assert (await memory.outcome(name, run_id(start + number), score)).counted


async def attacked(bench: Bench) -> None:
    """Have the attacker report 60 successes of one workflow, and 60 failures of the other."""
    for name, score in (("bad", 1.0), ("good", 0.0)):
        await reported(by(bench, ATTACKER), "attacker", name, [score] * 60)


async def both(bench: Bench, *, discount: float = 1.0) -> None:
    for name in ("bad", "good"):
        await by(bench, ADMINISTRATOR).put(workflow(name, discount=discount))


async def chosen_bad(memory: ProceduralMemory, **asked: str) -> int:
    chosen = [await memory.select("support", "answer", seed=seed, **asked) for seed in range(SELECTIONS)]
    return sum(selection.workflow_id == "bad" for selection in chosen)


TENANT = Author("tenant", "http")


@pytest.mark.parametrize("victim", [of("ann"), TENANT, ADMINISTRATOR], ids=["agent", "tenant", "admin"])
async def test_what_one_agent_reports_alone_counts_for_nobody_else(bench: Bench, victim: Author) -> None:
    await both(bench)
    before = await chosen_bad(by(bench, victim))
    await attacked(bench)
    assert await chosen_bad(by(bench, victim)) == before


async def learned(bench: Bench, agents: tuple[str, ...]) -> None:
    """Have agents report that one workflow does well, and the other does not."""
    for agent in agents:
        await reported(by(bench, of(agent)), agent, "good", [1.0] * 9 + [0.0] + [1.0] * 9 + [0.0])
        await reported(by(bench, of(agent)), agent, "bad", [0.0, 1.0, 0.0, 0.0], first=20)


@pytest.mark.parametrize("discount", [1.0, 0.95])
async def test_an_agent_does_not_take_over_the_selections_of_one_that_has_learned(
    bench: Bench, discount: float
) -> None:
    await both(bench, discount=discount)
    await learned(bench, ("ann",))
    await attacked(bench)
    ann = by(bench, of("ann"))
    assert await chosen_bad(ann) <= SELECTIONS // 4
    good = await ann.get("good")
    assert good.alpha + good.beta - 2 <= 20 + limits.WORKFLOW_WEIGHT_OF_AGENT


async def test_an_agent_does_not_outweigh_two_others_for_one_that_has_learned_nothing(bench: Bench) -> None:
    await both(bench)
    await learned(bench, ("ann", "bob"))
    await attacked(bench)
    assert await chosen_bad(by(bench, of("cyd"))) <= SELECTIONS // 2
    assert await chosen_bad(by(bench, ADMINISTRATOR)) <= SELECTIONS // 2


@pytest.mark.parametrize(
    "author", [of("ann"), TENANT, ADMINISTRATOR, Author()], ids=["agent", "tenant", "admin", "none"]
)
async def test_one_s_own_outcomes_count_in_full(bench: Bench, author: Author) -> None:
    await both(bench)
    await attacked(bench)
    memory = by(bench, author)
    await reported(memory, "ann", "good", [0.75] * 60)
    mine = await memory.get("good")
    assert mine.alpha >= 46
    assert mine.alpha + mine.beta - 2 == 60 + limits.WORKFLOW_WEIGHT_OF_AGENT


async def test_a_new_credential_of_an_agent_and_the_choices_for_its_runs_go_by_what_the_agent_has_learned(
    bench: Bench,
) -> None:
    await both(bench)
    await reported(by(bench, of("ann")), "ann", "good", [1.0] * 30)
    assert (await by(bench, of("ann", credential="second")).get("good")).alpha == 31
    chosen = {
        (await by(bench, TENANT).select("support", "answer", seed=seed, run_id=run_id(199))).alpha for seed in range(9)
    }
    assert 31 in chosen
    for_ann = [await by(bench, TENANT).select("support", "answer", seed=seed, chooser="ann") for seed in range(9)]
    assert 31 in {selection.alpha for selection in for_ann}
    assert {(await by(bench, TENANT).select("support", "answer", seed=seed)).alpha for seed in range(9)} == {1}


async def test_agents_that_agree_teach_another_and_none_of_them_counts_for_more_than_its_bound(bench: Bench) -> None:
    await both(bench)
    for agent in ("ann", "bob"):
        await reported(by(bench, of(agent)), agent, "good", [1.0] * 30)
    seen = await by(bench, of("cyd")).get("good")
    assert (seen.alpha, seen.beta) == (1 + 2 * limits.WORKFLOW_WEIGHT_OF_AGENT, 1)


async def test_a_credential_for_all_agents_teaches_others_up_to_its_bound_and_an_administrator_s_in_full(
    bench: Bench,
) -> None:
    await both(bench)
    await reported(by(bench, TENANT), "ann", "good", [0.75] * 80)
    taught = await by(bench, of("bob")).get("good")
    bound = limits.WORKFLOW_WEIGHT_OF_TENANT
    assert (taught.alpha, taught.beta) == (1 + 0.75 * bound, 1 + 0.25 * bound), "its rate stays what it was"
    await reported(by(bench, ADMINISTRATOR), "bob", "bad", [0.5] * 80)
    assert (await by(bench, of("bob")).get("bad")).alpha == 41


async def test_no_agent_makes_another_one_forget(bench: Bench) -> None:
    await both(bench, discount=0.5)
    ann = by(bench, of("ann"))
    await reported(ann, "ann", "good", [1.0] * 3)
    before = await ann.get("good")
    await reported(by(bench, ATTACKER), "attacker", "bad", [1.0] * 60)
    assert await ann.get("good") == before
    await reported(by(bench, ADMINISTRATOR), "bob", "bad", [1.0])
    assert (await ann.get("good")).alpha == pytest.approx(1 + (before.alpha - 1) / 2)


async def test_an_undo_takes_the_outcomes_of_the_credential_back_and_their_runs_may_be_scored_again(
    bench: Bench,
) -> None:
    await both(bench)
    await reported(by(bench, of("ann")), "ann", "good", [1.0] * 8)
    before = [await by(bench, who).page(limit=9) for who in (of("ann"), ADMINISTRATOR)]
    await attacked(bench)
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    credential = str(ATTACKER.credential_id)
    assert (await Undo(backends).count(credential)).outcomes == 120
    forecast = await UndoTaught(backends).dry_run(Selected(credential_id=credential))
    assert forecast.outcomes == 120
    receipt = await Undo(backends).run(credential)
    assert (receipt.outcomes, receipt.memories, receipt.more) == (120, 0, False)
    assert [await by(bench, who).page(limit=9) for who in (of("ann"), ADMINISTRATOR)] == before
    assert (await by(bench, ADMINISTRATOR).outcome("good", run_id(0), 1)).counted
    page = await Auditor(backends).events(AuditFilter(event="undone"), limit=9, after=None)
    assert [event.detail for event in page.items] == [{"of": credential, "outcomes": 120}]


async def test_more_outcomes_than_one_chunk_takes_are_taken_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.memories.undo.MAX_CHUNKS", 1)
    await both(bench)
    outcome = {"tenant_id": "acme", "workflow_id": "good", "score": 1, "created_at": 1, "written_by": "gone"}
    await insert_rows(bench, "workflow_outcome", *(outcome | {"run_id": f"{n:026d}"} for n in range(1, 701)))
    undo = Undo(bench.backends.of_tenant("acme", ADMINISTRATOR))
    assert [((each := await undo.run("gone")).outcomes, each.more) for _ in range(2)] == [(500, True), (200, False)]


async def test_outcomes_are_in_the_audit_with_their_author_agent_and_channel(bench: Bench) -> None:
    await both(bench)
    await reported(by(bench, ATTACKER), "attacker", "bad", [1.0, 0.5])
    auditor = Auditor(bench.backends.of_tenant("acme", ADMINISTRATOR))
    for where in (
        AuditFilter(event="outcome"),
        AuditFilter(written_by=ATTACKER.credential_id),
        AuditFilter(agent_id="attacker"),
    ):
        page = await auditor.events(where, limit=9, after=None)
        assert {(each.event, each.agent_id, each.written_by) for each in page.items} == {
            ("outcome", "attacker", ATTACKER.credential_id)
        }
        details = [{"workflow_id": "bad", "score": score, "through": "mcp"} for score in (0.5, 1.0)]
        assert sorted((dict(each.detail) for each in page.items), key=lambda each: float(each["score"])) == details  # type: ignore[arg-type]
    (event,) = (await auditor.events(AuditFilter(run_id=run_id(0)), limit=9, after=None)).items
    assert event.detail["score"] == 1


async def test_what_was_counted_before_outcomes_had_authors_counts_for_everybody(bench: Bench) -> None:
    await both(bench)
    await set_rows(bench, "workflow", {"alpha": 30, "beta": 4}, id="good")
    await attacked(bench)
    for author in (of("ann"), TENANT, ADMINISTRATOR):
        seen = await by(bench, author).get("good")
        assert (seen.alpha, seen.beta) == (30, 4 + limits.WORKFLOW_WEIGHT_OF_AGENT)


async def test_a_replaced_text_stays_as_a_version_is_read_and_is_restored(bench: Bench) -> None:
    memory = by(bench, ADMINISTRATOR)
    second = by(bench, replace(ADMINISTRATOR, credential_id="another"))
    await memory.put(workflow("w", spec={"n": 1}))
    await memory.outcome("w", run_id(0), 1)
    assert (await second.put(workflow("w", spec={"n": 2}))).version == 2
    assert (await memory.put(workflow("w", spec={"n": 2}, enabled=False))).version == 2
    texts = await memory.versions("w")
    assert [(each.version, each.written_by, each.written_through) for each in texts] == [
        (2, "another", "http"),
        (1, "administrator", "http"),
    ]
    assert [(await memory.version("w", version)).spec for version in (1, 2)] == [{"n": 1}, {"n": 2}]
    restored = await memory.restore("w", 1)
    assert (restored.spec, restored.version, restored.enabled, restored.alpha) == ({"n": 1}, 3, False, 2)
    for asked in (memory.version("w", 4), memory.restore("w", 4), memory.restore("v", 1), memory.versions("v")):
        with pytest.raises(NotFound):
            await asked


async def test_the_last_replaced_texts_stay_and_all_go_with_their_workflow(bench: Bench) -> None:
    memory = by(bench, ADMINISTRATOR)
    most = limits.MAX_WORKFLOW_VERSIONS
    for number in range(most + 3):
        await memory.put(workflow("w", spec={"n": number}))
    assert [each.version for each in await memory.versions("w")] == list(range(most + 3, 2, -1))
    await memory.outcome("w", run_id(0), 1)
    await memory.delete("w")
    for table in ("workflow_version", "workflow_tally"):
        assert await rows_of(bench, table) == []
    again = await memory.put(workflow("w"))
    assert (again.version, again.alpha) == (1, 1)


async def test_the_audit_names_who_wrote_which_text_and_nothing_that_changed_nothing(bench: Bench) -> None:
    memory = by(bench, ADMINISTRATOR)
    for _ in range(2):
        await memory.put(workflow("w", spec={"n": 1}))
    await memory.put(workflow("w", spec={"n": 1}, enabled=False))
    await memory.put(workflow("w", spec={"n": 2}))
    await memory.delete("w")
    await memory.delete("w")
    events = (
        await Auditor(bench.backends.of_tenant("acme", ADMINISTRATOR)).events(AuditFilter(), limit=9, after=None)
    ).items
    assert [(each.event, each.detail["version"], each.written_by) for each in reversed(events)] == [
        ("workflow_put", 1, "administrator"),
        ("workflow_put", 1, "administrator"),
        ("workflow_put", 2, "administrator"),
        ("workflow_deleted", 2, "administrator"),
    ]
    assert [each.detail.get("enabled") for each in reversed(events)] == [True, False, True, None]


async def test_an_erasure_of_an_agent_takes_its_outcomes_and_what_they_counted(bench: Bench) -> None:
    await both(bench)
    await reported(by(bench, of("ann")), "ann", "good", [1.0] * 3)
    await reported(by(bench, of("bob")), "bob", "good", [0.0] * 3)
    await bench.gateway.erase("ann")
    await bench.indexer.round()
    for table in ("workflow_outcome", "workflow_tally"):
        assert {row["agent_id"] for row in await rows_of(bench, table, "agent_id")} == {"bob"}
