"""Conversations ingested as Cloudflare's Agent Memory documents it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.domain import limits
from app.domain.moments import format_moment
from tests.services.compared import compare
from tests.services.scripted_reader import REPLACES, ScriptedReader
from tests.support.envelope_shape import NAMESPACES, assert_failure, named_fields, result_of
from tests.support.service import Service

PROFILE = f"{NAMESPACES}/my-app/profiles/ann"
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "We use npm for everything.", "timestamp": "2026-04-20"},
    {"role": "assistant", "content": "Understood, npm it is.", "timestamp": "2026-04-20T09:00:05.000Z"},
    {"role": "system", "content": "The user works on a web shop."},
    {"role": "user", "content": "I prefer dark mode.", "timestamp": None, "id": "7"},
]


@pytest.fixture
async def profiles(any_service: Service) -> Service:
    result_of(await any_service.post(NAMESPACES, {"name": "my-app"}, admin=True), 201)
    return any_service


async def ingest(service: Service, messages: list[dict[str, Any]], **options: Any) -> None:
    assert result_of(await service.post(f"{PROFILE}/ingest", {"messages": messages, **options})) is None


async def listed(service: Service, **query: str) -> list[dict[str, Any]]:
    answer = await service.client.get(f"{PROFILE}/memories", params=query, headers=service.credential(admin=True))
    memories: list[dict[str, Any]] = result_of(answer)
    return memories


async def test_each_message_becomes_a_memory_once_however_often_it_is_sent(profiles: Service) -> None:
    await ingest(profiles, SAID, sessionId="setup")
    once = await listed(profiles)
    assert {memory["summary"] for memory in once} == {message["content"] for message in SAID}
    assert {memory["sessionId"] for memory in once} == {"setup"}
    moved = [{**message, "timestamp": "2026-05-01T00:00:00Z"} for message in SAID]
    await ingest(profiles, moved, sessionId="setup")  # a time is no part of a message
    assert await listed(profiles) == once


async def test_without_a_session_the_same_messages_are_of_one_session(profiles: Service) -> None:
    for options in ({}, {"sessionId": None}, {}):
        await ingest(profiles, SAID, **options)
    memories = await listed(profiles)
    assert len(memories) == len(SAID)
    assert len({memory["sessionId"] for memory in memories}) == 1


async def test_a_correction_is_what_is_answered(profiles: Service) -> None:
    await ingest(profiles, [SAID[0], {"role": "user", "content": "We use pnpm now.", "timestamp": "2026-04-21"}])
    replaced = {(SAID[0]["content"], "We use pnpm now."): REPLACES}
    await compare(profiles.runtime.backends, ScriptedReader(replaced))
    answer = await profiles.post(f"{PROFILE}/recall", {"query": "What do we use now, npm or pnpm?"})
    recalled = result_of(answer)
    assert "pnpm" in recalled["answer"]
    assert recalled["candidates"][0]["summary"] == "We use pnpm now."
    assert SAID[0]["content"] not in [each["summary"] for each in recalled["candidates"]]


async def test_the_most_messages_are_taken(profiles: Service) -> None:
    await ingest(profiles, [{"role": "user", "content": f"Note number {number}."} for number in range(500)])
    memories = await listed(profiles, per_page="1000")
    assert len(memories) == limits.MAX_MESSAGES


@pytest.fixture(scope="module")
async def with_namespace(shared_service: Service) -> Service:
    result_of(await shared_service.post(NAMESPACES, {"name": "my-app"}, admin=True), 201)
    return shared_service


@pytest.fixture
async def untouched(with_namespace: Service) -> AsyncIterator[Service]:
    yield with_namespace
    # Nothing was written, not even the profile's name.
    listing = await with_namespace.client.get(f"{PROFILE}/memories", headers=with_namespace.credential(admin=True))
    assert_failure(listing, 404, 1003)


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [SAID[0], {**SAID[0], **fields}]}


FIRST = "/messages/1"
BAD: list[tuple[Any, int, set[str]]] = [
    ({"messages": [SAID[0]] * 501}, 400, {"/messages"}),
    ({"messages": []}, 400, {"/messages"}),
    ({}, 400, {"/messages"}),
    ({"messages": "hello"}, 400, {"/messages"}),
    (message(content=""), 400, {f"{FIRST}/content"}),
    (message(content=None), 400, {f"{FIRST}/content"}),
    (message(content="a\0b"), 400, {f"{FIRST}/content"}),
    (message(content="å" * 16385), 413, {f"{FIRST}/content"}),
    (message(role="tool"), 400, {f"{FIRST}/role"}),
    (message(role="tool", content=""), 400, {f"{FIRST}/role"}),
    (message(timestamp="yesterday"), 400, {f"{FIRST}/timestamp"}),
    (message(timestamp="2026-02-30"), 400, {f"{FIRST}/timestamp"}),
    (message(timestamp=1_790_000_000), 400, {f"{FIRST}/timestamp"}),
    (message(timestamp="2999-01-01T00:00:00Z"), 400, {f"{FIRST}/timestamp"}),
    ({"messages": SAID, "sessionId": "s" * 65}, 400, {"/sessionId"}),
    ({"messages": SAID, "sessionId": 7}, 400, {"/sessionId"}),
    ({"messages": SAID, "sessionId": ""}, 400, {"/sessionId"}),
]


@pytest.mark.parametrize(("body", "status", "fields"), BAD, ids=[f"{at}" for at in range(len(BAD))])
async def test_bad_input_is_refused_by_the_name_of_its_field_and_nothing_is_written(
    untouched: Service, body: Any, status: int, fields: set[str]
) -> None:
    errors = assert_failure(await untouched.post(f"{PROFILE}/ingest", body), status, 1000 + status)
    assert named_fields(errors) == fields


async def test_a_message_may_be_a_day_ahead_and_no_more(untouched: Service) -> None:
    ahead = format_moment(untouched.runtime.backends.clock() + 25 * 3600 * 1000)
    errors = assert_failure(await untouched.post(f"{PROFILE}/ingest", message(timestamp=ahead)), 400, 1400)
    assert named_fields(errors) == {f"{FIRST}/timestamp"}


async def test_a_body_over_20_mib_is_refused(untouched: Service) -> None:
    headers = untouched.credential() | {"Content-Type": "application/json"}
    body = b'{"messages": [' + b" " * (20 * 1024 * 1024) + b"]}"
    assert_failure(await untouched.client.post(f"{PROFILE}/ingest", content=body, headers=headers), 413, 1413)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"messages": [1', b'{"messages": []} x', b"\xff"])
async def test_what_is_no_json_object_is_refused(untouched: Service, content: bytes) -> None:
    headers = untouched.credential() | {"Content-Type": "application/json"}
    assert_failure(await untouched.client.post(f"{PROFILE}/ingest", content=content, headers=headers), 400, 1400)


async def test_in_a_namespace_that_is_not_there_nothing_is_ingested(untouched: Service) -> None:
    path = f"{NAMESPACES}/gone/profiles/ann/ingest"
    assert_failure(await untouched.post(path, {"messages": SAID}), 404, 1003)
