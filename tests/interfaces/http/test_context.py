"""Shared context and a tenant's configuration over HTTP."""

import json
from typing import Any

import httpx
import pytest

from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def put(service: Service, path: str, body: Any, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await service.client.put(path, json=body, headers=service.credential(admin=True) | named)


async def get(service: Service, path: str, agent: str | None = "bot") -> httpx.Response:
    return await service.client.get(path, headers=service.credential(agent=agent))


async def test_a_document_is_written_by_administrators_and_read_by_all_agents(service: Service) -> None:
    written = await put(service, "/context/style", {"content": "Write å"})
    assert (written.status_code, written.headers["etag"]) == (200, '"1"')
    version = written.json()
    assert {**version, "sha256": "", "updated_at": ""} == {
        "name": "style",
        "version": 1,
        "sha256": "",
        "bytes": 8,
        "size": 8,
        "media_type": "text/markdown",
        "updated_at": "",
    }
    read = await get(service, "/context/style")
    assert read.json() == {**version, "content": "Write å"}
    assert (read.headers["etag"], read.headers["age"]) == ('"1"', "0")
    assert read.headers["cache-control"] == "private, max-age=30"
    assert (await put(service, "/context/style", {"content": "New"}, If_Match='"1"')).json()["version"] == 2
    assert (await get(service, "/context/style")).json()["content"] == "New"
    assert (await get(service, "/context/style?version=1")).json()["content"] == "Write å"
    assert [each["version"] for each in (await get(service, "/context/style/versions")).json()["versions"]] == [2, 1]
    (listed,) = (await get(service, "/context")).json()["documents"]
    assert (listed["name"], listed["version"], listed["size"]) == ("style", 2, 3)
    for _ in range(2):
        assert (
            await service.client.delete("/context/style", headers=service.credential(admin=True))
        ).status_code == 204
    assert_problem(await get(service, "/context/style"), 404, "not_found")
    assert (await put(service, "/context/style", {"content": "New"}, If_None_Match="*")).json()["version"] == 3


async def test_the_conditions_decide_whether_a_document_is_changed(service: Service) -> None:
    for path, body in (("/context/a", {"content": "x"}), ("/configuration", {"values": {"x": 1}})):
        assert_problem(await put(service, path, body, If_Match="*"), 412, "precondition_failed")
        assert (await put(service, path, body, If_None_Match="*")).headers["etag"] == '"1"'
        for asked in ('"2"', 'W/"1"', '"*"', '""'):
            assert_problem(await put(service, path, body, If_Match=asked), 412, "precondition_failed")
        assert_problem(await put(service, path, body, If_None_Match="*"), 412, "precondition_failed")
        assert (await put(service, path, body, If_Match='"7", "1"')).headers["etag"] == '"1"'
        assert_problem(await put(service, path, body, If_Match="1"), 422, "invalid_request")
        assert_problem(await put(service, path, body, If_None_Match='"1"'), 422, "invalid_request")


async def test_the_configuration_is_read_as_it_was_written(service: Service) -> None:
    assert_problem(await get(service, "/configuration"), 404, "not_found")
    values = {"a": None, "b": {"c": [1, 2.5, "å"]}}
    written = (await put(service, "/configuration", {"values": values})).json()
    read = await get(service, "/configuration")
    assert read.json() == {**written, "values": values}
    assert (read.headers["etag"], read.headers["age"]) == ('"1"', "0")
    await put(service, "/configuration", {"values": {}})
    assert (await get(service, "/configuration")).json()["values"] == {}
    assert (await get(service, "/configuration?version=1")).json()["values"] == values
    assert (await get(service, "/context")).json() == {"documents": []}


async def test_only_an_administrator_for_all_agents_may_write(shared_service: Service) -> None:
    bound = shared_service.credential(agent="bot", admin=True)
    for headers in (shared_service.credential(), bound):
        for path, body in (("/context/a", {"content": "x"}), ("/configuration", {"values": {}})):
            assert_problem(await shared_service.client.put(path, json=body, headers=headers), 403, "forbidden")
        assert_problem(await shared_service.client.delete("/context/a", headers=headers), 403, "forbidden")


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "a b", "å", "x" * 65, "%2Fconfiguration"])
async def test_a_name_that_is_none_is_named(shared_service: Service, name: str) -> None:
    headers = shared_service.credential(admin=True)
    for answer in (
        await shared_service.client.put(f"/context/{name}", json={"content": "x"}, headers=headers),
        await shared_service.client.get(f"/context/{name}", headers=headers),
        await shared_service.client.get(f"/context/{name}/versions", headers=headers),
        await shared_service.client.delete(f"/context/{name}", headers=headers),
    ):
        assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"name"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/context/a", {}, "content"),
        ("/context/a", {"content": "x" * 100_001}, "content"),
        ("/context/a", {"content": "\0"}, "content"),
        ("/context/a", {"content": "\ud800"}, "content"),
        ("/context/a", {"content": "x", "media_type": "text"}, "media_type"),
        ("/configuration", {"values": []}, "values"),
        ("/configuration", {"values": {"a": "x" * 65_536}}, "values"),
        ("/configuration", {"values": {"a": "\0"}}, "values"),
        ("/configuration", {"values": {"a": float("nan")}}, "values"),
        ("/configuration?version=1", {"values": {}}, "version"),
    ],
)
async def test_a_field_that_is_wrong_is_named(shared_service: Service, path: str, body: Any, field: str) -> None:
    headers = shared_service.credential(admin=True) | {"Content-Type": "application/json"}
    answer = await shared_service.client.put(path, content=json.dumps(body), headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


async def test_what_is_as_large_as_may_be_is_kept_whole(service: Service) -> None:
    content = '"' * 100_000
    assert (await put(service, "/context/large", {"content": content})).json()["size"] == 100_000
    assert (await get(service, "/context/large")).json()["content"] == content
