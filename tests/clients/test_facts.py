"""Facts by the client: learned, recalled and listed, of an agent or shared by a type."""

from datetime import UTC, datetime
from functools import partial

import httpx
import pytest

from memory_gateway_client import Fact, InvalidRequest, LearnedFact, NotFound, RecalledFact
from memory_gateway_client.operations import facts
from tests.clients.asking import Asked
from tests.clients.conftest import Connect

SINCE = datetime(2026, 1, 2, tzinfo=UTC)


async def test_a_fact_is_learned_of_a_run_corrected_recalled_and_listed(bot: Asked) -> None:
    run = await bot.start_run("support", None)
    lives_in = partial(bot.learn, "user", "lives in", single=True)
    first = await lives_in("Rome", occurred_at=SINCE, learned_from_run_id=run.run_id)
    assert first == LearnedFact(first.memory_id, first.memory_id, "user", "lives in", "Rome", holds=True)
    second = await lives_in("Oslo", confidence=0.9, fact_id="home", agent_type="support")
    assert (second.fact_id, second.holds) == ("home", True)
    (found,) = (await bot.recall_facts("Where is the user at home?", subject="user", top_k=1)).entries
    assert isinstance(found, RecalledFact)
    assert (found.object, found.fact_id, found.confidence, found.agent_type) == ("Oslo", "home", 0.9, "support")
    assert [each.object for each in (await bot.facts("user")).facts] == ["Oslo"]
    (held,) = (await bot.facts(learned_from_run_id=run.run_id, history=True)).facts
    assert isinstance(held, Fact)
    assert (held.object, held.since, held.holds) == ("Rome", SINCE, False)
    assert held.until is not None


async def test_a_listing_goes_on_with_its_cursor(bot: Asked) -> None:
    said = [await bot.learn("user", "likes", each) for each in ("tea", "figs", "rain")]
    listed: list[str] = []
    cursor = None
    while True:
        page = await bot.facts(predicate="likes", history=True, limit=1, cursor=cursor)
        listed += [each.memory_id for each in page.facts]
        cursor = page.cursor
        if cursor is None:
            break
    assert listed == [each.memory_id for each in reversed(said)]


async def test_facts_are_shared_by_agents_of_a_type(bot: Asked) -> None:
    await bot.learn("refund policy", "allows returns within", "30 days", agent_type="support", shared=True)
    assert (await bot.facts()).facts == ()
    (shared,) = (await bot.facts(agent_type="support", shared=True)).facts
    asked = await bot.recall_facts("How long may goods be returned?", agent_type="support", shared=True)
    assert [each.memory_id for each in asked.entries] == [shared.memory_id]


async def test_what_cannot_be_is_told_by_its_field(bot: Asked) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        await bot.learn("user", "lives in", "Oslo", confidence=2)
    assert wrong.value.errors[0].field == "confidence"
    with pytest.raises(NotFound):
        await bot.learn("user", "lives in", "Oslo", learned_from_run_id="01K2Z4M1V7Q8T3B5N6C7D8E9FA")


async def test_the_same_fact_is_sent_again_where_no_answer_came(connect: Connect, pauses: list[float]) -> None:
    answers = [httpx.Response(503, json={"code": "database_unavailable", "status": 503, "detail": "away"})]
    kept = {"fact_id": "m", "memory_id": "m", "subject": "s", "predicate": "p", "object": "o", "holds": True}

    def answer(_: httpx.Request) -> httpx.Response:
        return answers.pop() if answers else httpx.Response(201, json=kept)

    assert (await connect(answer).learn("s", "p", "o")).holds
    assert len(pauses) == 1


def test_whose_facts_are_meant_is_said_once() -> None:
    assert "agent_id" not in (facts.learn(None, "s", "p", "o", agent_type="t").body or {})
    assert facts.facts("bot", agent_type="t").query == {"agent_id": "bot", "agent_type": "t"}
    assert facts.facts("bot", agent_type="t", shared=True).query == {"agent_type": "t"}
    for wrong in ({"shared": True}, {"shared": True, "agent_type": "t", "agent_id": "a"}):
        with pytest.raises(ValueError, match="shared=True"):
            facts.recall_facts("bot", "q", **wrong)
    with pytest.raises(ValueError, match="No agent"):
        facts.learn(None, "s", "p", "o")
