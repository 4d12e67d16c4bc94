"""Every operation, of both clients, on the running service."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memory_gateway_client import (
    AgentSettings,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Stored,
    Unauthenticated,
)
from tests.clients.asking import Asked, ask
from tests.interfaces.http.test_operations import finish
from tests.support.service import Service

IN_STOCKHOLM = timezone(timedelta(hours=2))


@pytest.fixture(params=["async", pytest.param("sync", marks=pytest.mark.thorough)])
def kind(request: pytest.FixtureRequest) -> str:
    """The kinds differ in how a request is sent, which is tested of both elsewhere."""
    return str(request.param)


async def test_what_is_stored_is_recalled_with_everything_told_of_it(bot: Asked) -> None:
    assert await bot.store("The sky is blue", metadata={"of": ["sky", None]}) == Stored()
    recall = await bot.recall("sky", explain=True)
    (entry,) = recall.entries
    assert (entry.content, entry.metadata, recall.degraded) == ("The sky is blue", {"of": ["sky", None]}, ())
    assert recall.confidence == entry.score
    assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score)
    assert entry.created_at.utcoffset() == timedelta(0)
    assert (await bot.recall("sky")).entries[0].findings == ()


async def test_a_question_is_asked_with_all_its_conditions(bot: Asked) -> None:
    for number in range(4):
        await bot.store(f"The sky is blue, {number}", metadata={"number": number})
    assert len((await bot.recall("sky", top_k=2)).entries) == 2
    (entry,) = (await bot.recall("sky", metadata={"number": 3})).entries
    assert entry.metadata == {"number": 3}
    created = entry.created_at
    assert len((await bot.recall("sky", created_after=created - timedelta(seconds=60))).entries) == 4
    assert (await bot.recall("sky", created_before=created - timedelta(seconds=60))).entries == ()
    assert (await bot.recall("sky", min_score=1.0)).entries == ()
    assert len((await bot.recall("sky", max_tokens=6, recency_days=1.0, reference_time=created)).entries) == 1
    await bot.store("the SKY is blue, 0")
    assert len((await bot.recall("sky", collapse=True)).entries) == 4


async def test_a_memory_keeps_its_session_and_its_times_in_whatever_zone_they_are_said(bot: Asked) -> None:
    occurred, expires = datetime(2026, 1, 2, 3, 4, tzinfo=IN_STOCKHOLM), datetime(2999, 1, 1, tzinfo=UTC)
    await bot.store("Met Ann", session_id="s 1", occurred_at=occurred, expires_at=expires)
    (memory,) = (await bot.list_memories()).memories
    assert (memory.session_id, memory.occurred_at, memory.expires_at) == ("s 1", occurred, expires)
    assert memory == await bot.get_memory(memory.id)
    assert memory.agent_id == "bot"
    (entry,) = (await bot.recall("Ann")).entries
    assert (entry.session_id, entry.occurred_at) == ("s 1", occurred)


async def test_an_entry_of_which_no_session_and_no_time_was_said_has_none(bot: Asked) -> None:
    await bot.store("Met Ann")
    (entry,) = (await bot.recall("Ann")).entries
    assert (entry.session_id, entry.occurred_at) == (None, None)


async def test_an_explanation_tells_what_keeps_a_memory_out_and_what_would_return_it(bot: Asked) -> None:
    await bot.store("The sky is blue")
    (entry,) = (await bot.recall("sky")).entries
    explanation = await bot.explain("sky", entry.id, metadata={"of": "sky"})
    assert (explanation.returned, explanation.rank, explanation.obstacles) == (False, 1, ("filter",))
    assert explanation.change.filter == {}
    assert (await bot.explain("sky", entry.id)).change is None


async def test_what_is_forgotten_is_not_recalled_until_that_is_taken_back(bot: Asked) -> None:
    await bot.store("The sky is blue")
    (entry,) = (await bot.recall("sky")).entries
    forgotten = await bot.forget(entry.id)
    assert (forgotten.id, forgotten.content, forgotten.summary) == (entry.id, "The sky is blue", "The sky is blue")
    assert forgotten.forgotten_at is not None
    assert (await bot.recall("sky")).entries == ()
    assert (await bot.unforget(entry.id)).forgotten_at is None
    assert [each.id for each in (await bot.recall("sky")).entries] == [entry.id]
    with pytest.raises(NotFound):
        await bot.forget("0" * 26)


async def test_a_listing_goes_on_page_by_page(bot: Asked) -> None:
    for number in range(3):
        await bot.store(f"number {number}", metadata={"even": number % 2 == 0})
    first = await bot.list_memories(limit=2)
    rest = await bot.list_memories(limit=2, cursor=first.cursor)
    assert len({memory.content for memory in first.memories + rest.memories}) == 3
    assert rest.cursor is None
    assert len((await bot.list_memories(metadata={"even": True})).memories) == 2
    with pytest.raises(InvalidRequest) as caught:
        await bot.list_memories(cursor=first.cursor, metadata={"even": True})
    assert caught.value.code == "invalid_cursor"


async def test_a_deleted_memory_is_gone_and_deleting_it_again_is_no_error(bot: Asked) -> None:
    await bot.store("The sky is blue")
    (memory,) = (await bot.list_memories()).memories
    assert await bot.delete_memory(memory.id) is None
    assert await bot.delete_memory(memory.id) is None
    with pytest.raises(NotFound):
        await bot.get_memory(memory.id)


async def test_usage_is_told_of_the_agent_or_of_all(bot: Asked) -> None:
    await bot.store("ours")
    await bot.store("theirs, and longer", agent_id="other")
    assert [(agent.agent_id, agent.memories) for agent in (await bot.usage()).agents] == [("bot", 1)]
    everyone = await bot.usage(every_agent=True)
    assert [agent.agent_id for agent in everyone.agents] == ["other", "bot"]
    assert (everyone.tenant.memories, everyone.tenant.limits.memories) == (2, 1_000_000)
    assert {memory.agent_id for memory in (await bot.list_memories(every_agent=True)).memories} == {"bot", "other"}


async def test_an_agent_is_set_and_unset(bot: Asked) -> None:
    usual = AgentSettings("bot", 30, long_term_enabled=True, tools="recall_store")
    assert await bot.set_agent(retention_days=30) == usual
    assert await bot.set_agent(tools="profile") == replace(usual, tools="profile")
    assert await bot.set_agent(tools="recall_store") == usual
    assert await bot.get_agent() == usual
    assert await bot.set_agent(long_term_enabled=False) == replace(usual, long_term_enabled=False)
    with pytest.raises(Conflict) as caught:
        await bot.recall("anything")
    assert caught.value.code == "long_term_disabled"
    off = replace(usual, retention_days=None, long_term_enabled=False)
    assert await bot.set_agent(retention_days=None) == off


async def test_an_erasure_is_followed_to_its_receipt(bot: Asked, service: Service) -> None:
    await bot.store("forget me")
    erasure = await bot.erase_agent("bot")
    assert (erasure.kind, erasure.status, erasure.agent_id, erasure.receipt) == ("erase", "running", "bot", None)
    with pytest.raises(Conflict) as caught:
        await bot.store("too late")
    assert caught.value.code == "erasing"
    await finish(service, erasure.id)
    done = await bot.operation(erasure.id)
    assert (done.status, done.receipt.erased.memories) == ("done", 1)
    assert (done.receipt.found_by_id, done.receipt.found_by_search) == (0, 0)
    assert (await bot.erase_tenant("acme")).agent_id is None


async def test_a_profile_is_told_something_is_asked_shown_and_summed_up(bot: Asked) -> None:
    remembered = await bot.remember("Ann works in Oslo", session_id="s 1", occurred_at=datetime(2026, 1, 2, tzinfo=UTC))
    answer = await bot.ask("Where does Ann work?", response_length="short")
    assert (answer.cited, "Oslo" in answer.answer) == ((remembered.id,), True)
    assert (await bot.recall_profile("Where does Ann work?")).answer == answer.answer
    await bot.remember("Ann's dog is called Rex")
    rex = (await bot.ask("What is Ann's dog called?")).entries[0]
    assert (rex.content, rex.session_id, rex.occurred_at) == ("Ann's dog is called Rex", None, None)
    (listed,) = (await bot.list_profile(session_id="s 1")).memories
    shown = await bot.get_profile_memory(listed.id)
    assert (shown.id, shown.content, shown.sources) == (remembered.id, "Ann works in Oslo", ())
    assert "Oslo" in (await bot.summary(session_id="s 1")).summary
    assert (await bot.delete_session("s 1")).memories == 1
    assert [each.summary for each in (await bot.list_profile()).memories] == ["Ann's dog is called Rex"]


async def test_the_tools_of_a_model_are_listed_as_its_framework_wants_them(bot: Asked) -> None:
    assert [tool["name"] for tool in await bot.list_tools()] == ["recall_memory", "store_memory"]
    assert [tool["type"] for tool in await bot.list_tools(format="openai")] == ["function"] * 2


async def test_an_archive_that_has_nothing_lists_nothing_and_restores_nothing(bot: Asked) -> None:
    with pytest.raises((NotFound, InvalidRequest, Conflict)):
        await bot.get_archived("0" * 26)
    with pytest.raises((NotFound, InvalidRequest, Conflict)):
        await bot.restore_archived("0" * 26)


async def test_how_the_service_is_is_told_and_drawn(bot: Asked) -> None:
    assert (await bot.healthz()).status == "ok"
    assert (await bot.readyz(details=True)).status == "ready"
    assert "# TYPE" in await bot.metrics()
    spec, curve = {"say": "hello"}, {"agent_type": "greeter", "task_type": "greet"}
    await bot.put_workflow("w-1", spec=spec, **curve)
    assert (await bot.workflows_picture("greeter", "greet")).startswith(b"<svg")


async def test_cloudflares_surface_is_spoken_too(bot: Asked) -> None:
    created = await bot.agent_memory_namespace_create("acc", "desk")
    assert created.result.name == "desk"
    assert [each.name for each in (await bot.agent_memory_namespace_list("acc")).result] == ["desk"]
    place = ("acc", "desk", "ann")
    kept = await bot.agent_memory_remember(*place, "Ann works in Oslo", session_id="s")
    assert (kept.result.content, kept.result.session_id) == ("Ann works in Oslo", "s")
    assert "Oslo" in (await bot.agent_memory_recall(*place, "Where does Ann work?", thinking_level="low")).result.answer
    message = {"role": "user", "content": "Ann has a dog called Rex"}
    assert (await bot.agent_memory_ingest(*place, messages=[message], session_id="s")).success
    assert (await bot.agent_memory_memory_list(*place, type="fact")).result
    with pytest.raises(Conflict):
        await bot.agent_memory_namespace_create("acc", "desk")
    with pytest.raises(NotFound) as caught:
        await bot.agent_memory_namespace_get("acc", "none")
    assert caught.value.detail


@pytest.mark.parametrize("agent_id", ["..", ".", "a.b:c_-", "A" * 64])
async def test_an_agent_of_any_name_is_reached_in_a_path(bot: Asked, agent_id: str) -> None:
    assert await bot.set_agent(retention_days=7, agent_id=agent_id) == AgentSettings(
        agent_id, 7, long_term_enabled=True, tools="recall_store"
    )
    assert (await bot.erase_agent(agent_id)).agent_id == agent_id


@pytest.mark.parametrize("memory_id", ["../usage", "a/b", "a?b=c", "ä", "%2e%2e"])
async def test_an_id_never_leads_to_another_path(shared_bot: Asked, memory_id: str) -> None:
    with pytest.raises((InvalidRequest, NotFound)) as caught:
        await shared_bot.get_memory(memory_id)
    assert caught.value.code in {"invalid_request", "no_such_path"}


async def test_the_agent_of_a_call_goes_before_that_of_the_client(bot: Asked) -> None:
    await bot.store("theirs", agent_id="other")
    assert (await bot.recall("theirs")).entries == ()
    assert len((await bot.recall("theirs", agent_id="other")).entries) == 1


async def test_a_store_with_the_key_of_another_is_refused(bot: Asked) -> None:
    await bot.store("one", idempotency_key="k")
    await bot.store("one", idempotency_key="k")
    with pytest.raises(Conflict) as caught:
        await bot.store("two", idempotency_key="k")
    assert caught.value.code == "idempotency_key_reused"


async def test_who_is_not_let_in_is_told_so(service: Service, kind: str) -> None:
    transport = service.client._transport  # noqa: SLF001 - the service in this process
    with pytest.raises(Unauthenticated) as caught:
        await ask(kind, transport).recall("anything")
    assert (caught.value.status, len(caught.value.request_id)) == (401, 32)
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    with pytest.raises(Forbidden):
        await ask(kind, transport, token=token).erase_tenant("acme")


async def test_what_is_wrong_with_a_request_is_told_by_field(bot: Asked) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await bot.recall("sky", top_k=51, min_score=2.0)
    assert {field.field for field in caught.value.errors} == {"top_k", "min_score"}
    assert caught.value.detail == str(caught.value)
    notes = ["advice: Correct what is named and try again.", f"request id: {caught.value.request_id}"]
    assert caught.value.__notes__ == notes


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"metadata": {"n": float("nan")}}, "JSON"),
        ({"occurred_at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001 - what is refused
        ({"idempotency_key": "two\nlines"}, "visible ASCII"),
        ({"idempotency_key": "schlüssel"}, "visible ASCII"),
    ],
)
async def test_what_cannot_be_sent_is_refused_before_it_is(shared_bot: Asked, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        await shared_bot.store("never sent", **fields)
    assert (await shared_bot.list_memories()).memories == ()
