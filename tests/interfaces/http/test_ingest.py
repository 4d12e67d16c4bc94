"""Conversations over HTTP: answered message by message, or with an operation to ask about."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.local.hashing import HashingEmbedder
from app.ports.embedder import Embeddings, Purpose
from app.runtime.backends import Backends
from tests.support.gateways import with_changed
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

USER, BOT = {"role": "user", "content": "I live in Rome"}, {"role": "assistant", "content": "Noted."}
TIMED = USER | {"occurred_at": "2026-01-31T09:30:00Z"}


async def ingest(service: Service, *messages: Any, profile: str = "bot", **fields: Any) -> httpx.Response:
    return await service.post(f"/profiles/{profile}/ingest", {"messages": list(messages), **fields})


async def send(service: Service, content: bytes, **headers: str) -> httpx.Response:
    named = service.credential() | {"Content-Type": "application/json"} | headers
    return await service.client.post("/profiles/bot/ingest", content=content, headers=named)


async def nothing_is_written(service: Service) -> bool:
    usage = await service.client.get("/usage", headers=service.credential(admin=True))
    return usage.json()["tenant"]["memories"] == 0 and await service.recall("Rome") == []


async def test_a_conversation_is_answered_message_by_message_and_recalled(service: Service) -> None:
    answer = await ingest(service, TIMED, BOT, session_id="call-17")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["session_id"], body["stored"], body["known"], body["failed"]) == ("call-17", 2, 0, 0)
    assert [message["status"] for message in body["messages"]] == ["stored", "stored"]
    assert all(len(message["id"]) == 32 for message in body["messages"])
    (entry, *_) = await service.recall("Where do I live?")
    assert (entry["content"], entry["session_id"]) == ("I live in Rome", "call-17")
    assert entry["occurred_at"] == "2026-01-31T09:30:00.000Z"


async def test_the_same_conversation_again_says_that_it_is_known(service: Service) -> None:
    first = (await ingest(service, TIMED, BOT)).json()
    again = (await ingest(service, USER, BOT)).json()
    assert again == {
        "session_id": first["session_id"],
        "status": "done",
        "stored": 0,
        "known": 2,
        "waiting": 0,
        "failed": 0,
        "messages": [{"id": message["id"], "status": "known"} for message in first["messages"]],
    }


async def test_the_operation_tells_how_it_went_to_its_own_agent_alone(service: Service) -> None:
    body = (await ingest(service, TIMED, BOT)).json()
    path = f"operations/{body['operation_id']}"
    told = await service.client.get(f"/profiles/bot/{path}", headers=service.credential())
    assert told.status_code == 200
    operation = told.json()
    assert operation.pop("accepted_at") <= operation.pop("ended_at") == operation.pop("finished_at")
    assert operation == {
        "id": body["operation_id"],
        "operation_id": body["operation_id"],
        "kind": "ingest",
        "status": "done",
        "agent_id": "bot",
        "session_id": body["session_id"],
        "sent": 2,
        "known": 0,
        "stored": 2,
    }
    assert_problem(await service.client.get(f"/profiles/other/{path}", headers=service.credential()), 404, "not_found")
    others = service.credential("globex")
    assert_problem(await service.client.get(f"/profiles/bot/{path}", headers=others), 404, "not_found")
    bound = service.credential(agent="other")
    assert_problem(await service.client.get(f"/profiles/bot/{path}", headers=bound), 403, "forbidden")
    assert_problem(await service.client.get(f"/profiles/bot/{path}"), 401, "unauthenticated")


async def test_a_credential_for_one_agent_ingests_for_that_one(service: Service) -> None:
    body = {"messages": [USER]}
    assert (await service.post("/profiles/bot/ingest", body, agent="bot")).status_code == 200
    assert_problem(await service.post("/profiles/other/ingest", body, agent="bot"), 403, "forbidden")
    assert_problem(await service.client.post("/profiles/bot/ingest", json=body), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("body", "status", "fields"),
    [
        ({}, 422, {"messages"}),
        ({"messages": []}, 422, {"messages"}),
        ({"messages": None}, 422, {"messages"}),
        ({"messages": {"0": USER}}, 422, {"messages"}),
        ({"messages": [USER] * 501}, 422, {"messages"}),
        ({"messages": [TIMED, "text"]}, 422, {"messages.1"}),
        ({"messages": [TIMED, 1]}, 422, {"messages.1"}),
        ({"messages": [None, TIMED]}, 422, {"messages.0"}),
        ({"messages": [TIMED, {"role": "user"}]}, 422, {"messages.1.content"}),
        ({"messages": [TIMED, {"role": "tool", "content": "x"}]}, 422, {"messages.1.role"}),
        ({"messages": [TIMED, USER | {"content": ""}]}, 422, {"messages.1.content"}),
        ({"messages": [TIMED, USER | {"content": "a\0b"}]}, 422, {"messages.1.content"}),
        ({"messages": [TIMED, USER | {"content": "x" * 32_769}]}, 413, {"messages.1.content"}),
        ({"messages": [TIMED, USER | {"content": "x" * 300_000}]}, 413, {"messages.1"}),
        ({"messages": [USER | {"occurred_at": "yesterday"}]}, 422, {"messages.0.occurred_at"}),
        ({"messages": [USER | {"occurred_at": 5}]}, 422, {"messages.0.occurred_at"}),
        ({"messages": [TIMED, USER | {"occurred_at": "2999-01-01T00:00:00Z"}]}, 422, {"messages.1.occurred_at"}),
        ({"messages": [USER | {"name": "Ann"}]}, 422, {"messages.0.name"}),
        ({"messages": [USER], "session_id": "x" * 65}, 422, {"session_id"}),
        ({"messages": [USER], "session_id": ""}, 422, {"session_id"}),
        ({"messages": [USER], "sessionId": "x"}, 422, {"sessionId"}),
        ({"messages": [USER | {"role": "tool"}] * 500}, 422, {f"messages.{number}.role" for number in range(20)}),
        ({"messages": [USER], **{f"f{number}": 1 for number in range(101)}}, 422, {"f99"}),
    ],
)
async def test_what_cannot_be_taken_is_named_and_nothing_is_written(
    shared_service: Service, body: Any, status: int, fields: set[str]
) -> None:
    answer = await shared_service.post("/profiles/bot/ingest", body)
    problem = assert_problem(answer, status, "content_too_large" if status == 413 else "invalid_request")
    assert named_fields(problem) == fields
    assert await nothing_is_written(shared_service)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"messages": [',
        b'{"messages": [{"role": "user", "content": "x"}',
        b'{"messages": [{"role": "user", "content": "x"}]',
        b'{"messages": [{"role": "user", "content": "x"}]} x',
        b'{"messages": [{"role": "user", "content": "x"},]}',
        b'{"messages": [{"role": "user", "content": "x}]}',
        b'{"messages" [1]}',
        b"{1: 2}",
        b'{"messages": [{"role": "user", "content": "\xff"}]}',
        b'{"messages": ' + b"[" * 5000,
    ],
)
async def test_what_is_no_json_object_is_refused(shared_service: Service, body: bytes) -> None:
    assert_problem(await send(shared_service, body), 400, "malformed_request")
    assert await nothing_is_written(shared_service)


async def test_a_field_that_comes_twice_is_refused(service: Service) -> None:
    message = json.dumps([USER]).encode()
    answer = await send(service, b'{"messages": ' + message + b', "messages": ' + message + b"}")
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"messages"}


async def test_a_field_that_comes_twice_is_refused_though_its_name_cannot_be_written_out(service: Service) -> None:
    answer = await send(service, b'{"\\ud800x": 1, "\\ud800x": 2, "messages": []}')
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"?x"}


async def test_blanks_between_parts_and_escapes_are_read(service: Service) -> None:
    body = '\n { "session_id" : "s" ,\t"messages":[ {"role":"user","content":"\\u00e9t\\u00e9 \\ud83d\\ude00"} ] }  '
    assert (await send(service, body.encode())).json()["stored"] == 1
    assert (await service.recall("summer"))[0]["content"] == "\u00e9t\u00e9 \U0001f600"


async def test_a_body_is_read_in_parts_of_any_size(service: Service) -> None:
    content = "\u00e9\U0001f600 " * 20
    text = json.dumps({"messages": [{"role": "user", "content": content}]}, ensure_ascii=False).encode()

    async def slowly() -> Any:
        for byte in text:
            yield bytes([byte])

    headers = service.credential() | {"Content-Type": "application/json"}
    answer = await service.client.post("/profiles/bot/ingest", content=slowly(), headers=headers)
    assert answer.json()["stored"] == 1
    assert (await service.recall(content))[0]["content"] == content


async def test_a_body_may_have_twenty_mebibytes_on_this_route_alone(service: Service) -> None:
    padding = b" " * (300 * 1024)
    body = b'{"messages": ' + json.dumps([USER]).encode() + padding + b"}"
    assert (await send(service, body)).json()["stored"] == 1
    headers = service.credential() | {"Content-Type": "application/json"}
    refused = await service.client.post("/profiles/bot/ingest/", content=body, headers=headers)
    assert refused.status_code in {404, 413}
    too_large = await send(service, b"{" + b" " * (20 * 1024 * 1024) + b"}")
    assert_problem(too_large, 413, "content_too_large")


async def test_another_media_type_and_query_parameters_are_refused(service: Service) -> None:
    answer = await send(service, b"{}", **{"Content-Type": "text/plain"})
    assert_problem(answer, 415, "unsupported_media_type")
    assert_problem(await service.post("/profiles/bot/ingest?a=1", {"messages": [USER]}), 422, "invalid_request")


def slow(seconds: float) -> Callable[[Backends], Backends]:
    class Slow(HashingEmbedder):
        async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
            if USER["content"] in texts:
                await asyncio.sleep(seconds)
            return await super().embed(texts, purpose, tenant_id=tenant_id)

    return lambda backends: with_changed(backends, embedder=Slow(), ingest_seconds=0.05)


async def test_what_takes_longer_is_answered_with_an_operation_and_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path, change=slow(0.3)) as service:
        answer = await ingest(service, TIMED, BOT, session_id="s")
        assert answer.status_code == 202
        body = answer.json()
        assert (body["status"], body["waiting"], body["known"]) == ("running", 2, 0)
        assert [message["status"] for message in body["messages"]] == ["waiting"] * 2
        location = answer.headers["location"]
        assert location == f"/profiles/bot/operations/{body['operation_id']}"
        while (told := (await service.client.get(location, headers=service.credential())).json())["status"] != "done":
            await asyncio.sleep(0.02)
        assert (told["id"], told["stored"], told["sent"]) == (body["operation_id"], 2, 2)
        assert len(await service.recall("Rome")) == 2
        later = (await ingest(service, TIMED, USER | {"content": "I moved"}, session_id="s")).json()
        assert later.keys() == body.keys(), "200 and 202 have the same fields"
        assert later["messages"][0] == {"id": body["messages"][0]["id"], "status": "known"}


async def test_what_a_service_leaves_undone_the_next_one_finishes(tmp_path: Path) -> None:
    async with serving(tmp_path, change=slow(60)) as service:
        location = (await ingest(service, TIMED, BOT, session_id="s")).headers["location"]
    async with serving(tmp_path) as service:
        while (told := (await service.client.get(location, headers=service.credential())).json())["status"] != "done":
            await asyncio.sleep(0.02)
        assert told["stored"] == 2
        assert len(await service.recall("Rome")) == 2


async def test_what_was_said_before_a_message_of_the_first_moment_of_the_calendar_is_told_with_that_moment(
    service: Service,
) -> None:
    first = "0001-01-01T00:00:00.000Z"
    messages = [{"role": "user", "content": "I live in Oslo"}, TIMED | {"occurred_at": first}]
    assert (await ingest(service, *messages)).json()["stored"] == 2
    assert {entry["occurred_at"] for entry in await service.recall("Where do I live?")} == {first}
    appended = await service.post("/working/bot/i/messages", {"messages": messages})
    assert appended.status_code == 201
    window = await service.client.get("/working/bot/i/window", headers=service.credential())
    assert [message["occurred_at"] for message in window.json()["messages"]] == [first, first]


async def test_a_dry_run_is_refused_under_a_run_that_is_not_there_as_the_ingestion_is(service: Service) -> None:
    body = {"messages": [USER], "run_id": "01M8QQTCXRV86AW2R8FMJRT8YF"}
    for path in ("/profiles/bot/ingest", "/profiles/bot/ingest?dry_run=true"):
        assert named_fields(assert_problem(await service.post(path, body), 404, "not_found")) == {"run_id"}
