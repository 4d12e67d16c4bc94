"""The audit over HTTP: what runs have called, their replay, and all events."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.audit import canonical_json, sha256_of
from app.runtime.recall_log import write_recalls
from tests.support.audit_probes import begin_run
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

RUN, OTHER, CALL = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB", "01K2Z4M1V7Q8T3B5N6C7D8E9FC"


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def send(service: Service, *calls: dict[str, Any], run: str = RUN, **who: Any) -> httpx.Response:
    return await service.post(f"/runs/{run}/audit", {"calls": calls}, **who)


async def get(service: Service, path: str, agent: str | None = None, **query: Any) -> httpx.Response:
    admin = path == "/audit"
    return await service.client.get(path, params=query, headers=service.credential(agent=agent, admin=admin))


def call(**fields: Any) -> dict[str, Any]:
    return {"tool": "look", "input": None, "outcome": "ok", "ms": 1, **fields}


async def test_what_was_sent_is_replayed_with_what_was_left_out_left_out(service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    moment = "2026-05-01T10:00:00.000Z"
    whole = call(call_id=CALL, input={"b": [1, 2.50, None], "a": "é"}, output=None, ms=2.5, tokens=3, called_at=moment)
    hashed = {"tool": "look", "input_hash": "0" * 64, "outcome": "error", "error": "no", "ms": 7}
    for expected in ({"written": 1, "known": 0}, {"written": 0, "known": 1}):
        answer = await send(service, whole)
        assert (answer.status_code, answer.json()) == (201, expected)
    await send(service, hashed)
    await service.recall("anything", run_id=RUN)
    await write_recalls(service.runtime.backends)
    answer = await get(service, f"/runs/{RUN}/replay")
    started, first, second, recall = answer.json()["steps"]
    assert started["run"]["agent_id"] == "bot"
    digest = sha256_of(canonical_json(whole["input"]))
    assert first["call"] == {**whole, "number": 1, "input_hash": digest}
    assert '"input":{"a":"é","b":[1,2.5,null]}' in answer.text
    assert second["call"] == {**hashed, "number": 2, "call_id": second["call"]["call_id"]}
    assert recall["recall"]["detail"]["entries"] == []
    assert "cursor" not in answer.json()


async def test_an_episode_is_replayed_as_its_listing_tells_it_and_nothing_late_is(service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    await service.post(f"/runs/{RUN}/episodes", {"episodes": [{"type": "note", "content": "é", "data": {"a": None}}]})
    assert (await service.post(f"/runs/{RUN}/complete", {})).status_code == 200
    before = (await get(service, f"/runs/{RUN}/replay", limit=1)).json()
    rest = (await get(service, f"/runs/{RUN}/replay", cursor=before["cursor"])).json()
    (episode,) = (await get(service, "/episodes", run_id=RUN)).json()["episodes"]
    assert [step["kind"] for step in rest["steps"]] == ["episode", "ended"]
    assert rest["steps"][0] == {"kind": "episode", "at": episode["created_at"], "episode": episode}
    assert (await send(service, call())).json() == {"written": 1, "known": 0}
    assert (await get(service, f"/runs/{RUN}/replay", cursor=before["cursor"])).json() == rest
    assert_problem(await get(service, f"/runs/{RUN}/replay", "other"), 404, "not_found")


async def test_a_replay_goes_on_with_its_own_cursor_alone(service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    await begin_run(service, OTHER, "acme", "bot")
    await send(service, call(), call())
    pages = [(await get(service, f"/runs/{RUN}/replay", limit=2)).json()]
    pages.append((await get(service, f"/runs/{RUN}/replay", limit=2, cursor=pages[0]["cursor"])).json())
    assert [step["kind"] for page in pages for step in page["steps"]] == ["started", "tool_call", "tool_call"]
    assert "cursor" not in pages[1]
    for path, agent in ((f"/runs/{OTHER}/replay", None), (f"/runs/{RUN}/replay", "bot"), ("/audit", None)):
        assert_problem(await get(service, path, agent, cursor=pages[0]["cursor"]), 400, "invalid_cursor")
    events = (await get(service, "/audit", limit=1, event="tool_call")).json()
    assert len(events["events"]) == 1
    assert_problem(await get(service, "/audit", cursor=events["cursor"]), 400, "invalid_cursor")
    rest = (await get(service, "/audit", limit=1, event="tool_call", cursor=events["cursor"])).json()
    assert len(rest["events"]) == 1
    assert "cursor" not in rest


async def test_an_agent_s_credential_reaches_its_own_runs_alone_and_the_audit_is_an_administrator_s(
    service: Service,
) -> None:
    await begin_run(service, RUN, "acme", "bot")
    await begin_run(service, OTHER, "acme", "other")
    assert (await send(service, call(), agent="bot")).status_code == 201
    assert_problem(await send(service, call(), run=OTHER, agent="bot"), 404, "not_found")
    assert_problem(await get(service, f"/runs/{OTHER}/replay", "bot"), 404, "not_found")
    await send(service, call(), run=OTHER)
    assert {each["agent_id"] for each in (await get(service, "/audit", "bot")).json()["events"]} == {"bot"}
    assert len((await get(service, "/audit")).json()["events"]) == 2
    assert_problem(await get(service, "/audit", "bot", agent_id="other"), 403, "forbidden")
    plain = await service.client.get("/audit", headers=service.credential())
    assert_problem(plain, 403, "forbidden")


async def test_each_way_of_recalling_leaves_an_event_that_names_it(service: Service) -> None:
    await service.store("I like tea")
    await service.recall("tea")
    await service.post("/profiles/bot/recall", {"query": "tea"})
    await service.call("recall_memory", {"query": "tea"})
    await write_recalls(service.runtime.backends)
    events = (await get(service, "/audit", event="recall")).json()["events"]
    assert [each["detail"]["through"] for each in events] == ["mcp", "http", "http"]
    assert all(len(each["detail"]["entries"]) == 1 and each["written_by"] for each in events)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ([], "calls"),
        ([call()] * 101, "calls"),
        ([call(tool="")], "calls.0.tool"),
        ([call(tool="x" * 65)], "calls.0.tool"),
        ([call(tool="x\0")], "calls.0.tool"),
        ([call(call_id="1")], "calls.0.call_id"),
        ([{"tool": "x", "outcome": "ok", "ms": 1}], "calls.0"),
        ([call(input_hash="0" * 64)], "calls.0"),
        ([{"tool": "x", "outcome": "ok", "ms": 1, "input_hash": "0" * 63}], "calls.0.input_hash"),
        ([call(outcome="late")], "calls.0.outcome"),
        ([call(error="x" * 1025)], "calls.0.error"),
        ([call(input="x" * 131_071)], "calls.0.input"),
        ([call(input=["\ud800"])], "calls.0.input"),
        ([call(input={"a\0": 1})], "calls.0.input"),
        ([call(input=2**63)], "calls.0.input"),
        ([call(output="x" * 10_239)], "calls.0.output"),
        ([call(ms=-1)], "calls.0.ms"),
        ([call(ms="1")], "calls.0.ms"),
        ([call(tokens=1.5)], "calls.0.tokens"),
        ([call(), call(called_at="yesterday")], "calls.1.called_at"),
        ([call(call_id=CALL), call(call_id=CALL)], "calls.1.call_id"),
    ],
)
async def test_a_field_that_is_wrong_is_named(shared_service: Service, sent: Any, field: str) -> None:
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    body = json.dumps({"calls": sent})
    answer = await shared_service.client.post(f"/runs/{RUN}/audit", content=body, headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["input", "output", "ms"])
async def test_a_number_that_json_does_not_have_is_refused_by_name(
    shared_service: Service, field: str, number: str
) -> None:
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    fields = json.dumps(call(**{field: "HERE"})).replace('"HERE"', number)
    body = f'{{"calls": [{fields}]}}'
    answer = await shared_service.client.post(f"/runs/{RUN}/audit", content=body, headers=headers)
    assert answer.status_code in {400, 422}, answer.text
    assert answer.status_code == 400 or named_fields(answer.json()) == {f"calls.0.{field}"}


async def test_a_value_is_nested_sixteen_deep_and_no_deeper(service: Service) -> None:
    await begin_run(service, RUN, "acme", "bot")
    deep: Any = 1
    for _ in range(16):
        deep = [deep]
    assert (await send(service, call(input=deep))).status_code == 201
    assert_problem(await send(service, call(input=[deep])), 422, "invalid_request")


async def test_metrics_tell_what_tools_took_and_name_no_tenant_unless_that_is_set(tmp_path: Path) -> None:
    for named in (False, True):
        async with serving(tmp_path / str(named), metrics_tenants=named) as service:
            await begin_run(service, RUN, "acme", "bot")
            await send(service, *(call(tool=f"tool {n}", call_id=f"{CALL[:-2]}{n:02d}") for n in range(60)))
            await send(service, call(call_id=CALL, tool="tool 0", outcome="error", tokens=5, ms=1500))
            await send(service, call(call_id=CALL, tool="tool 0", outcome="error", tokens=5, ms=1500))
            await service.recall("tea")
            metrics = (await service.client.get("/metrics")).text
            assert 'memory_gateway_tool_seconds_count{tool="other"} 40.0' in metrics
            assert 'memory_gateway_tool_seconds_sum{tool="tool 0"} 1.501' in metrics
            assert 'memory_gateway_tool_errors_total{tool="tool 0"} 1.0' in metrics
            assert 'memory_gateway_tool_tokens_total{tool="tool 0"} 5.0' in metrics
            assert 'memory_gateway_recalls_total{through="http"} 1.0' in metrics
            for kind, used in (("tool_tokens", 5.0), ("recalls", 1.0), ("embedded_characters", 3.0)):
                line = f'memory_gateway_tenant_cost_total{{kind="{kind}",tenant="acme"}} {used}'
                assert (line in metrics) is named
            assert ("acme" in metrics) is named


async def test_what_was_recalled_is_written_when_the_service_closes(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.recall("tea")
    async with serving(tmp_path) as service:
        (event,) = (await get(service, "/audit", event="recall")).json()["events"]
        assert event["agent_id"] == "bot"


async def test_with_the_setting_off_no_recall_is_in_the_audit(tmp_path: Path) -> None:
    async with serving(tmp_path, audit_recalls=False) as service:
        await service.recall("tea")
    async with serving(tmp_path) as service:
        assert (await get(service, "/audit")).json()["events"] == []
