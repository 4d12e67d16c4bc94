"""Standing instructions stand beside the answers of a profile: those that hold, concern the query or are new."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from app.domain.learned import Learned
from app.domain.memory import Memory, Scope
from app.services.answering.standing import MOST, chosen
from app.services.profiles.profile import ProfileService
from tests.services.compared import of_one_thing
from tests.services.scripted_reader import INSTRUCTION, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import compare
from tests.support.memories import expire

SWEDISH, NINE, PNPM = "Answer in Swedish.", "Never schedule calls before nine.", "Use pnpm, not npm."
DAY = 86_400_000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def of(bench: Bench, tenant_id: str = "acme") -> ProfileService:
    return ProfileService(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))


async def remember(bench: Bench, *contents: str, agent_id: str = "bot", tenant_id: str = "acme") -> list[str]:
    """Remember instructions, one a day, and have a reader say that they are."""
    ids = [
        (await of(bench, tenant_id).remember(agent_id, content, occurred_at=number * DAY)).id
        for number, content in enumerate(contents, 1)
    ]
    await compare(bench, ScriptedReader(of_kinds=dict.fromkeys(contents, INSTRUCTION)))
    return ids


async def beside(bench: Bench, query: str, *, as_of: int | None = None) -> list[str]:
    recall = await of(bench).recall("bot", query, as_of=as_of)
    return [each.content for each in recall.instructions]


async def test_an_instruction_stands_beside_the_answer_of_a_query_that_it_does_not_name(bench: Bench) -> None:
    (id_,) = await remember(bench, SWEDISH)
    await of(bench).remember("bot", "The garage opens at eight on Saturday")
    recall = await of(bench).recall("bot", "When does the garage open?")
    assert [(each.id, each.content, each.happened_at) for each in recall.instructions] == [(id_, SWEDISH, DAY)]
    assert "garage" in recall.answer


async def test_a_general_instruction_is_there_where_nothing_answers(bench: Bench) -> None:
    await remember(bench, SWEDISH)
    recall = await of(bench).recall("bot", "Quarterly turnover of zinc?")
    assert (recall.answer, [each.content for each in recall.instructions]) == ("", [SWEDISH])


async def test_a_runbook_is_told_whole_and_one_may_be_told_to_stay_quiet(bench: Bench) -> None:
    runbook = "To release: run the tests, tag the commit, then push the tag."
    quiet = "Stay quiet about generated files in reviews."
    await remember(bench, runbook, quiet)
    assert (await beside(bench, "How do I release?"))[0] == runbook
    assert (await beside(bench, "What should be said about generated files?"))[0] == quiet


async def test_what_concerns_the_query_comes_before_newer_instructions_and_there_are_three(bench: Bench) -> None:
    others = [f"Rule {number}: {word} belongs into its folder." for number, word in enumerate(("wood", "iron", "zinc"))]
    await remember(bench, PNPM, *others)
    assert await beside(bench, "pnpm or npm?") == [PNPM, others[2], others[1]]


async def test_an_instruction_older_than_all_that_are_looked_at_is_found_by_what_it_concerns(bench: Bench) -> None:
    await remember(bench, PNPM, *(f"Rule {number} is kept by everybody." for number in range(45)))
    assert (await beside(bench, "pnpm or npm?"))[0] == PNPM


async def test_what_is_superseded_forgotten_or_no_instruction_is_not_there(bench: Bench) -> None:
    old, new, gone = "I live in Rome", "I live in Oslo", "Call me Sam."
    ids = [(await of(bench).remember("bot", text, occurred_at=at * DAY)).id for at, text in enumerate((old, new), 1)]
    forgotten = await of(bench).remember("bot", gone)
    await of(bench).remember("bot", "It rained on Monday")
    kinds = dict.fromkeys((old, new, gone), INSTRUCTION)
    await compare(bench, ScriptedReader(of_one_thing(old, new), of_kinds=kinds))
    await of(bench).forget("bot", forgotten.id)
    recall = await of(bench).recall("bot", "Where do I live?")
    assert [each.id for each in recall.instructions] == [ids[1]]


async def test_what_has_expired_is_not_there(bench: Bench) -> None:
    await remember(bench, SWEDISH)
    await expire(bench)
    assert await beside(bench, "Which language?") == []


async def test_instructions_of_other_profiles_and_tenants_are_not_there(bench: Bench) -> None:
    await remember(bench, SWEDISH, agent_id="other")
    await remember(bench, NINE, tenant_id="globex")
    assert await beside(bench, "Which language?") == []


async def test_a_query_for_another_time_has_none(bench: Bench) -> None:
    await remember(bench, SWEDISH)
    assert await beside(bench, "Which language?", as_of=30 * DAY) == []


async def test_they_take_one_run_of_the_database(bench: Bench) -> None:
    await remember(bench, SWEDISH)
    await bench.delivered()
    runs: list[int] = []
    for as_of in (30 * DAY, None):
        bench.database.journal.clear()
        await beside(bench, "Which language?", as_of=as_of)
        runs.append(bench.database.journal.count("database.run"))
    assert runs[1] == runs[0] + 1


async def test_an_outage_is_no_empty_answer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> Sequence[object]:
        raise Unavailable("The database does not answer.")

    monkeypatch.setattr("app.services.answering.standing.StandingInstructions._found", away)
    with pytest.raises(Unavailable):
        await beside(bench, "Which language?")


def instruction(id_: str, content: str, **others: object) -> Memory:
    memory = Memory(
        id=id_,
        scope=Scope("acme", "bot"),
        content=content,
        metadata={},
        session_id=None,
        occurred_at=None,
        created_at=DAY,
        expires_at=None,
        type="instruction",
    )
    return replace(memory, **others)  # type: ignore[arg-type]


def test_what_was_learned_stands_for_its_message() -> None:
    message = instruction("1", "oh and please always answer in Swedish", message_id="m")
    learned = instruction("2", SWEDISH, learned=Learned(["m"]))
    assert [each.id for each in chosen([message, learned])] == ["2"]


def test_each_text_is_there_once_and_at_most_three() -> None:
    said = [instruction("1", SWEDISH), instruction("2", "answer  in swedish."), instruction("3", NINE)]
    more = [instruction(str(number), f"Rule {number}.") for number in range(4, 9)]
    assert [each.id for each in chosen([*said, *more])] == ["1", "3", "4"]
    assert len(chosen(more)) == MOST


@pytest.mark.parametrize(("content", "metadata"), [(SWEDISH, {"speaker": "assistant"}), ("In Swedish?", {}), (" ", {})])
def test_what_a_machine_said_what_asks_and_what_is_empty_is_left_out(content: str, metadata: dict[str, str]) -> None:
    assert chosen([instruction("1", content, metadata=metadata)]) == []
