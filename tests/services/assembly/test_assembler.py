"""An agent's context: what every tier has for it, side by side, under one budget; a missing part is named."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.episodes import NewEpisode, NewRun
from app.domain.errors import InvalidRequest, NotFound, TenantMoved, Unavailable
from app.domain.facts import Fact
from app.domain.memory import NewMemory
from app.domain.messages import NewMessage
from app.ports.database import Statement
from app.runtime.tenant_services import TenantServices
from app.services.assembly.assembler import AssembledContext, ContextWanted
from app.services.tiers.windows import WindowService
from tests.services.scripted_reader import ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import claim
from tests.support.scopes import switch
from tests.support.workflows import workflow


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def services(bench: Bench, tenant: str = "acme", author: Author = ADMINISTRATOR) -> TenantServices:
    return TenantServices(bench.backends.of_tenant(tenant, author))


FACTS = [
    ("facts", "The customer lives in Oslo"),
    ("facts", "customer employer - Acme"),
    ("facts", "Perhaps customer shoe size - 43"),
]


async def furnish(bench: Bench) -> str:
    """Give an agent something in every tier, and return its run."""
    own = services(bench)
    await own.context.put("style", "Answer briefly.", "text/plain")
    run = (await own.episodic.begin(NewRun("bot", "support", None))).run
    await own.episodic.append(run.id, [NewEpisode("note", "the first"), NewEpisode("note", "the second")])
    await own.workflows.put(workflow("look-up", spec={"steps": ["look up"]}))
    said = [NewMessage("user", "Where is my invoice?"), NewMessage("assistant", "I look.")]
    await own.windows.append("bot", "i", said, ttl_seconds=3600)
    home = Fact("customer", "lives in", "Oslo")
    await bench.gateway.store("bot", NewMemory("The customer lives in Oslo", home.metadata))
    for employer in ("Initech", "Acme"):
        await own.semantic.learn("bot", Fact("customer", "employer", employer, single=True))
    await own.semantic.learn("bot", Fact("customer", "shoe size", "43", confidence=0.3))
    return run.id


async def assemble(bench: Bench, **wanted: object) -> AssembledContext:
    whole = {"agent_id": "bot", "instance": "i", "agent_type": "support", "max_tokens": 1000, **wanted}
    return await services(bench).assembler.assemble(ContextWanted(**whole))  # type: ignore[arg-type]


def told(found: AssembledContext) -> list[tuple[str, str]]:
    return [(piece.part, piece.content) for piece in found.fitted.pieces]


async def test_every_tier_gives_what_it_has_in_the_order_in_which_it_is_read(bench: Bench) -> None:
    await furnish(bench)
    found = await assemble(bench, task_type="answer")
    assert told(found) == [
        ("shared_context", "Answer briefly."),
        ("workflow", '{"steps":["look up"]}'),
        *FACTS,
        ("episodes", "the first"),
        ("episodes", "the second"),
        ("window", "Where is my invoice?"),
        ("window", "I look."),
    ]
    assert found.missing == []
    assert found.fitted.tokens == sum(piece.tokens for piece in found.fitted.pieces)


async def test_what_fell_out_of_a_window_is_told_before_it_and_its_messages_cost_what_was_told(bench: Bench) -> None:
    backends = with_changed(bench.backends, window_tokens=100, reader=ScriptedReader())
    for number in range(8):
        said = [NewMessage("user", f"I keep {number} boats.", tokens=40)]
        own = backends.of_tenant("acme", ADMINISTRATOR)
        await WindowService(own).append("bot", "i", said, ttl_seconds=3600)
        while tasks := list(bench.backends.background._tasks):  # noqa: SLF001 - nothing else tells
            await asyncio.wait(tasks)
    found = await assemble(bench)
    (summary,) = found.of("summaries")
    assert summary.content == "\n".join(f"user: I keep {number} boats." for number in range(6))
    assert re.fullmatch(r"summaries/i \S+Z \S+Z 6 turns", summary.source)
    assert told(found)[-2:] == [("window", "I keep 6 boats."), ("window", "I keep 7 boats.")]
    assert all(piece.tokens > 40 for piece in found.of("window"))
    for most in (1, 20, 60, 100, 150, 200):
        fitted = (await assemble(bench, max_tokens=most)).fitted
        assert fitted.tokens <= most
    assert (await assemble(bench, instance="j")).of("summaries") == []


async def test_long_term_memory_is_recalled_only_where_that_is_switched_on(bench: Bench) -> None:
    await furnish(bench)
    asked = "Where does the customer live?"
    assert "long_term" not in dict(told(await assemble(bench, query=asked)))
    assert ("long_term", "The customer lives in Oslo") in told(await assemble(bench, query=asked, prefetch=True))


async def test_what_a_recall_has_found_is_no_fact_once_more(bench: Bench) -> None:
    await furnish(bench)
    found = told(await assemble(bench, query="Where does the customer live?", prefetch=True))
    contents = [content for _, content in found]
    assert len(contents) == len(set(contents))
    assert {content for _, content in FACTS} <= set(contents)


async def test_a_fact_has_its_memory_as_its_source_and_the_newest_is_read_last(bench: Bench) -> None:
    own = services(bench)
    learned = [await own.semantic.learn("bot", Fact("user", f"number {n}", str(n))) for n in range(25)]
    pieces = (await assemble(bench)).of("facts")
    assert [piece.source for piece in pieces] == [f"facts/{each.memory_id}" for each in learned[-20:]]


async def test_a_text_in_which_an_older_version_has_read_several_things_is_one_piece(bench: Bench) -> None:
    id_ = await bench.gateway.store("bot", NewMemory("I live in Oslo. My name is Ann."))
    for key, value in (("user/lives_in", "oslo"), ("user/name", "ann")):
        await claim(bench, key, value, id_, whole=0)
    assert told(await assemble(bench)) == [("facts", "I live in Oslo. My name is Ann.")]


async def test_a_budget_holds_and_what_did_not_fit_is_told(bench: Bench) -> None:
    await furnish(bench)
    found = await assemble(bench, max_tokens=30)
    assert 0 < found.fitted.tokens <= 30
    assert sum(found.fitted.left_out.values()) > 0


async def test_a_part_that_does_not_answer_is_named_and_the_others_are_given(bench: Bench) -> None:
    await furnish(bench)
    bench.embedder.error = Unavailable("away")
    bench.index.error = Unavailable("away")
    found = await assemble(bench, query="a question of nothing at all", prefetch=True)
    given = dict(told(found))
    assert given["window"] == "I look."
    assert [each.part for each in found.missing] in ([], ["long_term"])  # words are a channel of recall too


async def test_facts_that_cannot_be_read_are_named_and_the_others_are_given(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(bench)
    monkeypatch.setattr("app.storage.tiers.facts._CLAIMS", "SELECT no_such_column FROM claim WHERE TRUE")
    found = await assemble(bench)
    assert [each.part for each in found.missing] == ["facts"]
    assert [part for part, _ in told(found)] == ["shared_context", "episodes", "episodes", "window", "window"]


async def test_an_agent_without_long_term_memory_has_the_rest_of_its_context(bench: Bench) -> None:
    await furnish(bench)
    await switch(bench.backends, on=False)
    found = await assemble(bench, query="Where does the customer live?", prefetch=True)
    assert [(each.part, each.error.code) for each in found.missing] == [
        ("facts", "long_term_disabled"),
        ("long_term", "long_term_disabled"),
    ]
    assert "I look." in dict(told(found)).values()


async def test_an_outage_of_the_database_is_no_empty_context(bench: Bench) -> None:
    await furnish(bench)
    bench.database.error = Unavailable("away")
    with pytest.raises(Unavailable):
        await assemble(bench)


async def test_a_context_whose_tenant_has_moved_is_assembled_nowhere_else(bench: Bench) -> None:
    await furnish(bench)
    await assemble(bench)  # the shared documents are in the cache from now on
    bench.database.error = TenantMoved("It lives elsewhere.", repeatable=True)
    with pytest.raises(TenantMoved):
        await assemble(bench)


async def test_what_the_parts_read_is_two_calls_of_the_database_at_most(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(bench)
    runs = 0
    inner = bench.database.run

    async def counted(statements: Sequence[Statement]) -> object:
        nonlocal runs
        runs += not any(statement.writes for statement in statements)  # what is noted behind an answer writes
        await asyncio.sleep(0.01)
        return await inner(statements)

    monkeypatch.setattr(bench.database, "run", counted)
    await assemble(bench, query="Where does the customer live?", prefetch=True, task_type="answer")
    assert runs == 2
    runs = 0
    await assemble(bench)
    assert runs == 1


async def test_a_workflow_is_noted_in_the_run_that_is_named(bench: Bench) -> None:
    run_id = await furnish(bench)
    await assemble(bench, task_type="answer", run_id=run_id)
    assert (await services(bench).episodic.run(run_id)).workflow_id == "look-up"
    with pytest.raises(NotFound):
        await assemble(bench, task_type="answer", run_id="01K2Z4M1V7Q8T3B5N6C7D8E9FA")


async def test_a_task_without_a_workflow_has_none_and_nothing_is_missing(bench: Bench) -> None:
    await furnish(bench)
    found = await assemble(bench, task_type="other")
    assert "workflow" not in dict(told(found))
    assert found.missing == []


async def test_an_agent_type_is_the_tenant_s_and_a_bound_credential_sees_its_own_episodes(bench: Bench) -> None:
    await furnish(bench)
    other = services(bench)
    run = (await other.episodic.begin(NewRun("other", "support", None))).run
    await other.episodic.append(run.id, [NewEpisode("note", "the other's")])
    assert ("episodes", "the other's") in told(await assemble(bench))
    assert ("episodes", "the other's") not in told(await assemble(bench, only_agent="bot"))
    empty = await services(bench, "globex").assembler.assemble(ContextWanted("bot", 1000, "i", "support"))
    assert told(empty) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"instance": "a/b"},
        {"prefetch": True},
        {"agent_type": None, "task_type": "t"},
        {"names": ["/"]},
    ],
)
async def test_what_cannot_be_is_refused(bench: Bench, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        await assemble(bench, **wrong)


async def test_a_document_that_is_asked_for_by_name_and_is_not_there_is_named(bench: Bench) -> None:
    await furnish(bench)
    found = await assemble(bench, names=["nope"])
    assert [(each.part, each.error.code, each.error.detail) for each in found.missing] == [
        ("shared_context", "not_found", "There is no document nope.")
    ]


@pytest.mark.parametrize(("asked", "field"), [({"prefetch": True}, "query"), ({"task_type": "refund"}, "agent_type")])
def test_what_needs_another_field_names_it(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ContextWanted(agent_id="bot", max_tokens=1000, **asked)
    assert [error.field for error in caught.value.errors] == [field]
