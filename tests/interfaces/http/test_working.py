"""The routes of working memory."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.problem_shape import assert_problem
from tests.support.scopes import begin_run, old_run
from tests.support.service import Service

RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM"
PATH = "/working/bot/worker-1"


async def put(service: Service, value: Any, path: str = f"{PATH}/plan", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): said for name, said in headers.items()}
    return await service.client.put(path, json={"value": value}, headers=service.credential(agent="bot") | named)


async def get(service: Service, path: str = f"{PATH}/plan", **credential: Any) -> httpx.Response:
    return await service.client.get(path, headers=service.credential(**credential))


async def test_a_key_is_set_read_listed_and_deleted(service: Service) -> None:
    first = await put(service, {"step": 1})
    assert (first.status_code, first.headers["etag"]) == (201, first.json()["etag"])
    second = await put(service, None)
    assert second.status_code == 200
    held = await get(service)
    assert held.headers["etag"] == second.headers["etag"] != first.headers["etag"]
    assert held.json() == second.json() | {"value": None}
    listed = (await get(service, PATH)).json()
    assert listed == {"keys": [held.json()], "budget": {"used_bytes": 8, "limit_bytes": 131_072}}
    deleted = await service.client.delete(f"{PATH}/plan", headers=service.credential())
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert_problem(await get(service), 404, "not_found")


async def test_a_large_value_comes_back_and_a_list_has_a_pointer_to_it(service: Service) -> None:
    large = "x" * 120_000
    answer = await service.client.put(f"{PATH}/k", json={"value": large}, headers=service.credential())
    assert (answer.status_code, answer.json()["bytes"]) == (201, 120_003)
    read = await service.client.get(f"{PATH}/k", headers=service.credential())
    assert read.json()["value"] == large
    listed = (await service.client.get(PATH, headers=service.credential())).json()
    assert listed["budget"]["used_bytes"] == 120_003
    blob_id = listed["keys"][0]["value"]["blob"]["id"]
    await service.client.delete(f"/blobs/{blob_id}", params={"agent_id": "bot"}, headers=service.credential(admin=True))
    assert_problem(await service.client.get(f"{PATH}/k", headers=service.credential()), 410, "blob_gone")


async def test_headers_make_a_write_conditional(service: Service) -> None:
    first = (await put(service, 1, If_None_Match="*")).headers["etag"]
    assert_problem(await put(service, 2, If_None_Match="*"), 412, "precondition_failed")
    second = (await put(service, 2, If_Match=f'"1", {first}')).headers["etag"]
    for wrong in (first, f"W/{second}", '"x"'):
        assert_problem(await put(service, 3, If_Match=wrong), 412, "precondition_failed")
    assert (await get(service)).json()["value"] == 2
    assert (await put(service, 3, If_Match="*")).status_code == 200
    headers = service.credential()
    for condition in ({"If-Match": second}, {"If-None-Match": "*"}):
        answer = await service.client.delete(f"{PATH}/plan", headers=headers | condition)
        assert_problem(answer, 412, "precondition_failed")
    for name, wrong in (("If_Match", "x"), ("If_None_Match", second)):
        answer = await put(service, 4, **{name: wrong})
        problem = assert_problem(answer, 422, "invalid_request")
        assert problem["errors"][0]["field"].lower().replace("_", "-") == name.lower().replace("_", "-")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "value"),
        ({"value": 1, "ttl_seconds": 59}, 422, "ttl_seconds"),
        ({"value": 1, "ttl_seconds": 86_401}, 422, "ttl_seconds"),
        ({"value": 1, "ttl_seconds": "60"}, 422, "ttl_seconds"),
        ({"value": "a\0"}, 422, "value"),
        ({"value": "x" * 131_072}, 413, "value"),
        ({"value": 1, "more": 1}, 422, "more"),
    ],
)
async def test_a_body_outside_its_bounds_is_refused_by_name(
    shared_service: Service, body: dict[str, Any], status: int, field: str
) -> None:
    answer = await shared_service.client.put(f"{PATH}/plan", json=body, headers=shared_service.credential())
    assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (status, [field])


@pytest.mark.parametrize("text", ['{"value": NaN}', '{"value": 1e999}', '{"value": {"a": "\\ud800"}}'])
async def test_what_is_no_json_is_refused(shared_service: Service, text: str) -> None:
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    answer = await shared_service.client.put(f"{PATH}/plan", content=text, headers=headers)
    assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (422, ["value"])


async def test_a_bound_credential_reaches_its_agent_alone(service: Service) -> None:
    await begin_run(service.runtime.backends, RUN)
    await put(service, 1)
    await put(service, 1, f"/runs/{RUN}/state")
    assert_problem(await get(service, agent="other"), 403, "forbidden")
    assert_problem(await get(service, f"/runs/{RUN}/state", agent="other"), 404, "not_found")
    assert (await get(service, f"/runs/{RUN}/state", agent="bot")).status_code == 200
    assert (await get(service, f"/runs/{RUN}/state")).status_code == 200


async def test_a_run_has_a_state_and_a_log(service: Service) -> None:
    await old_run(service, RUN)
    first = await put(service, {"turn": 1}, f"/runs/{RUN}/state", If_None_Match="*")
    assert (first.status_code, first.json()["run_id"]) == (201, RUN)
    second = await put(service, {"turn": 2}, f"/runs/{RUN}/state", If_Match=first.headers["etag"])
    assert (second.status_code, (await get(service, f"/runs/{RUN}/state")).json()["value"]) == (200, {"turn": 2})
    appended = await service.post(f"/runs/{RUN}/log", {"entries": [{"n": 1}, {"n": 2}, {"n": 3}]})
    assert (appended.status_code, appended.json()["appended"]) == (201, 3)
    page = (await get(service, f"/runs/{RUN}/log?limit=2")).json()
    assert [each["entry"] for each in page["entries"]] == [{"n": 1}, {"n": 2}]
    rest = (await get(service, f"/runs/{RUN}/log?after={page['after']}")).json()
    assert [each["entry"] for each in rest["entries"]] == [{"n": 3}]
    assert (rest["entries"][0]["number"], "after" in rest) == (appended.json()["last"], False)
    refused: list[list[Any]] = [[], [1], [{}] * 101]
    for entries in refused:
        assert_problem(await service.post(f"/runs/{RUN}/log", {"entries": entries}), 422, "invalid_request")


async def test_keys_are_set_and_read_while_a_run_goes_on_and_outlive_it_until_they_expire(service: Service) -> None:
    body = {"agent_id": "bot", "agent_type": "support", "input": None, "run_id": RUN}
    assert (await service.post("/runs", body)).status_code == 201
    for step in (1, 2):
        assert (await put(service, {"step": step}, f"/working/bot/{RUN}/plan")).is_success
        assert (await get(service, f"/working/bot/{RUN}/plan")).json()["value"] == {"step": step}
    assert (await service.post(f"/runs/{RUN}/complete", {"output": None})).status_code == 200
    assert (await get(service, f"/working/bot/{RUN}/plan")).json()["value"] == {"step": 2}


async def test_a_window_gives_back_what_was_appended(service: Service) -> None:
    messages = [
        {"role": "user", "content": "Where is my invoice?", "occurred_at": "2026-01-31T09:30:00Z"},
        {"role": "assistant", "content": "I look for it."},
    ]
    done = await service.post(f"{PATH}/messages", {"messages": messages})
    assert (done.status_code, done.json()["appended"], done.json()["known"]) == (201, 2, 0)
    again = await service.post(f"{PATH}/messages", {"messages": messages})
    assert (again.json()["appended"], again.json()["known"]) == (0, 2)
    window = (await get(service, f"{PATH}/window")).json()
    assert [(each["role"], each["tokens"]) for each in window["messages"]] == [("user", 5), ("assistant", 4)]
    assert window["messages"][1]["occurred_at"] == "2026-01-31T09:30:00.001Z"
    assert (window["tokens"], window["older"], window["summaries"]) == (9, 0, [])
    short = (await get(service, f"{PATH}/window?max_tokens=8")).json()
    assert ([each["content"] for each in short["messages"]], short["older"]) == (["I look for it."], 1)


async def test_what_fell_out_of_a_window_is_summed_up_and_named(service: Service) -> None:
    for number in range(6):
        said = f"I prefer invoice number {number}. " + "x" * 10_000
        answer = await service.post(f"{PATH}/messages", {"messages": [{"role": "user", "content": said}]})
        assert answer.status_code == 201
    while tasks := list(service.runtime.backends.background._tasks):  # noqa: SLF001 - nothing else tells
        await asyncio.wait(tasks)
    window = (await get(service, f"{PATH}/window")).json()
    assert [each["content"][:26] for each in window["messages"]] == [f"I prefer invoice number {n}." for n in (3, 4, 5)]
    assert window["fallen"]["messages"] == 3
    (summary,) = window["summaries"]
    assert summary["text"] == "\n".join(f"user: I prefer invoice number {number}." for number in range(3))
    assert (summary["turns"], summary["made_by"], summary["tokens"] > 10) == (3, "sentences", True)
    assert window["fallen"]["since"] == summary["from"] < summary["until"] == window["fallen"]["until"]
    for memory_id in summary["memories"]:
        memory = await get(service, f"/profiles/bot/memories/{memory_id}")
        assert memory.json()["content"].startswith("I prefer invoice number")
    assert len(summary["memories"]) == 3
    asked = window["fallen"]["summary"]
    assert "invoice number 1" in (await service.post(asked["path"], asked["body"])).json()["summary"]


async def test_a_caller_may_tell_the_tokens_of_a_message(service: Service) -> None:
    messages = [{"role": "user", "content": "Hello", "tokens": 17}]
    done = await service.post(f"{PATH}/messages", {"messages": messages})
    assert (done.status_code, done.json()["tokens"]) == (201, 17)
    window = (await get(service, f"{PATH}/window")).json()
    assert [(each["tokens"], each["counted"]) for each in window["messages"]] == [(17, "told")]
    assert (window["tokens"], window["counted"]) == (17, "told")
    await service.post(f"{PATH}/messages", {"messages": [{"role": "assistant", "content": "Hi."}]})
    window = (await get(service, f"{PATH}/window")).json()
    assert [each["counted"] for each in window["messages"]] == ["told", "estimated"]
    assert (window["tokens"], window["counted"]) == (18, "estimated")


@pytest.mark.parametrize("tokens", [0, -1, 200_001, 1.5, "17", True])
async def test_tokens_that_no_message_has_are_refused_by_name(service: Service, tokens: Any) -> None:
    messages = [{"role": "user", "content": "Hello", "tokens": tokens}]
    problem = await service.post(f"{PATH}/messages", {"messages": messages})
    assert_problem(problem, 422, "invalid_request")
    assert [each["field"] for each in problem.json()["errors"]] == ["messages.0.tokens"]


@pytest.mark.parametrize("key", ["window", "messages"])
async def test_what_a_path_says_of_a_window_is_no_key(service: Service, key: str) -> None:
    assert_problem(await put(service, 1, f"{PATH}/{key}"), 405, "method_not_allowed")


async def test_an_unknown_run_is_not_found(service: Service) -> None:
    for answer in (
        await put(service, 1, f"/runs/{RUN}/state"),
        await get(service, f"/runs/{RUN}/state"),
        await service.post(f"/runs/{RUN}/log", {"entries": [{}]}),
        await get(service, f"/runs/{RUN}/log"),
    ):
        assert_problem(answer, 404, "not_found")
