"""The audit, by both clients, on the running service."""

from datetime import UTC, datetime

import pytest

from memory_gateway_client import Audited, Forbidden, NotFound
from tests.clients.asking import Asked, ask
from tests.support.audit_probes import begin_run
from tests.support.service import Service

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
CALLED = datetime(2026, 5, 1, tzinfo=UTC)


async def test_what_a_run_has_called_is_replayed(bot: Asked, service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    call = {"tool": "look", "input": {"a": [1]}, "outcome": "ok", "output": None, "ms": 2, "called_at": CALLED}
    assert await bot.audit_run(RUN, [call, call]) == Audited(written=2, known=0)
    replay = await bot.replay_run(RUN, limit=2)
    assert [step.kind for step in replay.steps] == ["started", "tool_call"]
    (last,) = (await bot.replay_run(RUN, limit=2, cursor=replay.cursor)).steps
    assert last.call is not None
    assert (last.call.number, last.call.input, last.call.ms, last.call.called_at) == (2, {"a": [1]}, 2.0, CALLED)
    named = {**call, "call_id": RUN}
    assert await bot.audit_run(RUN, [named]) == Audited(written=1, known=0)
    assert await bot.audit_run(RUN, [named]) == Audited(written=0, known=1)
    with pytest.raises(NotFound):
        await bot.replay_run(RUN.replace("A", "B"))
    events = await bot.audit(event="tool_call", limit=2)
    assert [event.run_id for event in events.events] == [RUN, RUN]
    assert len((await bot.audit(event="tool_call", cursor=events.cursor, limit=2)).events) == 1
    await bot.store("I like tea")
    (stored,) = (await bot.audit(event="stored", after=CALLED)).events
    assert (stored.agent_id, (await bot.audit(agent_id="other")).events) == ("bot", ())


async def test_a_replay_has_the_episodes_of_the_run(bot: Asked, service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    await bot.append_episode(RUN, [{"type": "note", "content": "it rains", "data": {"mm": 3}}])
    started, step = (await bot.replay_run(RUN)).steps
    assert (started.kind, step.kind) == ("started", "episode")
    assert step.episode is not None
    assert (step.episode.content, step.episode.data, step.episode.created_at) == ("it rains", {"mm": 3}, step.at)


async def test_acts_are_listed_a_page_at_a_time(bot: Asked, service: Service) -> None:
    headers = service.credential(admin=True)
    for name in ("look", "see"):
        assert (await service.client.delete(f"/workflows/{name}", headers=headers)).status_code == 204
    first = await bot.acts(limit=1)
    (act,) = first.acts
    assert (act.act, act.outcome, act.subject, act.number) == ("workflow.delete", "done", {"workflow_id": "see"}, 2)
    assert [each.number for each in (await bot.acts(limit=1, cursor=first.cursor)).acts] == [1]
    assert (await bot.acts(outcome="failed", after=CALLED)).acts == ()


async def test_the_audit_is_an_administrator_s(service: Service, kind: str) -> None:
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    plain = ask(kind, service.client._transport, token=token)  # noqa: SLF001 - the service in this process
    with pytest.raises(Forbidden):
        await plain.audit()
