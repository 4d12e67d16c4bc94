"""Every mistake of a caller: a 4xx that names the field, and nothing written."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.cost import best
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service

STORE = {"agent_id": "bot", "content": "text"}
RECALL = {"agent_id": "bot", "query": "text"}


def nested(depth: int) -> Any:
    return {"k": nested(depth - 1)} if depth > 1 else {}


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture(autouse=True)
async def _nothing_is_written(service: Service) -> AsyncIterator[None]:
    yield
    for tenant in ("acme", "other"):
        assert await service.recall("text", tenant=tenant) == []
    assert len(service.runtime.backends.acknowledgements) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", "  \t\n\u2003"),
        ("content", None),
        ("content", 5),
        ("content", ["text"]),
        ("content", "with \0 in it"),
        ("metadata", None),
        ("metadata", []),
        ("metadata", "{}"),
        ("metadata", {"k": "x" * 10240}),
        ("metadata", {"k": "å" * 5200}),
        ("metadata", nested(9)),
        ("metadata", {"k": [[[[[[[[1]]]]]]]]}),
        ("metadata", {"a\0b": 1}),
        ("metadata", {"k": 2**63}),
        ("metadata", {"k": [-(2**63)]}),
        ("metadata", {"k": 1e19}),
        ("metadata", {"k": {"a\0b": 1}}),
        ("metadata", {"k": ["a\0b"]}),
        ("agent_id", ""),
        ("agent_id", "a" * 65),
        ("agent_id", "with space"),
        ("agent_id", "agé"),
        ("agent_id", "a\n"),
        ("agent_id", "a/b"),
        ("agent_id", None),
        ("agent_id", 1),
        ("session_id", ""),
        ("session_id", " "),
        ("session_id", "s" * 257),
        ("session_id", "å" * 129),
        ("session_id", "a\0"),
        ("session_id", 7),
        ("occurred_at", "yesterday"),
        ("occurred_at", "2026-01-01"),
        ("occurred_at", "2026-01-01T00:00:00"),
        ("occurred_at", "2026-02-30T00:00:00Z"),
        ("occurred_at", "2026-01-01T24:00:00Z"),
        ("occurred_at", "9999-12-31T23:59:60Z"),
        ("occurred_at", "9999-12-31T23:59:59-12:00"),
        ("occurred_at", "0001-01-01T00:00:00+14:00"),
        ("expires_at", "9999-12-31T23:59:59-12:00"),
        ("occurred_at", 1767225600),
        ("tenant", "other"),
        ("tenant_id", "other"),
        ("id", "01K2Z4M1V7Q8T3B5N6C7D8E9FA"),
    ],
)
async def test_store_refuses_a_field_and_names_it(service: Service, field: str, value: Any) -> None:
    answer = await service.post("/store", STORE | {field: value})
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("query", "", "query"),
        ("query", " \n", "query"),
        ("query", "a\0b", "query"),
        ("query", None, "query"),
        ("top_k", 0, "top_k"),
        ("top_k", 51, "top_k"),
        ("top_k", -1, "top_k"),
        ("top_k", "5", "top_k"),
        ("top_k", 5.5, "top_k"),
        ("top_k", True, "top_k"),
        ("top_k", None, "top_k"),
        ("agent_id", "b" * 65, "agent_id"),
        ("tenant", "other", "tenant"),
        ("filter", [], "filter"),
        ("filter", {"tenant_id": "other"}, "filter.tenant_id"),
        ("filter", {"created_after": "2026"}, "filter.created_after"),
        ("filter", {"created_before": 5}, "filter.created_before"),
        ("filter", {"created_before": "9999-12-31T23:59:60Z"}, "filter.created_before"),
        ("filter", {"metadata": {"k": [1]}}, "filter.metadata"),
        ("filter", {"metadata": {"k": {}}}, "filter.metadata"),
        ("filter", {"metadata": {"k": 2**63}}, "filter.metadata"),
        ("filter", {"metadata": {"a\0": 1}}, "filter.metadata"),
        ("filter", {"metadata": {"k": "x" * 10240}}, "filter.metadata"),
    ],
)
async def test_recall_refuses_a_field_and_names_it(service: Service, field: str, value: Any, named: str) -> None:
    answer = await service.post("/recall", RECALL | {field: value})
    problem = assert_problem(answer, 422, "invalid_request")
    assert named_fields(problem) == {named}


@pytest.mark.parametrize("field", ["agent_id", "content"])
async def test_store_names_a_field_that_is_missing(service: Service, field: str) -> None:
    answer = await service.post("/store", {name: value for name, value in STORE.items() if name != field})
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


async def test_several_wrong_fields_are_all_named(service: Service) -> None:
    answer = await service.post("/store", {"agent_id": "a b", "content": " ", "metadata": {"\0": 1}})
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"agent_id", "content", "metadata"}


@pytest.mark.parametrize("content", ["x" * 32769, "å" * 16385, "\U0001f980" * 8193])
async def test_content_over_32_kib_in_utf_8_is_too_large(service: Service, content: str) -> None:
    answer = await service.post("/store", STORE | {"content": content})
    assert named_fields(assert_problem(answer, 413, "content_too_large")) == {"content"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/store", '{"agent_id": "bot", "content": "\\ud800"}', "content"),
        ("/store", '{"agent_id": "bot", "content": "a\\udfff b"}', "content"),
        ("/store", '{"agent_id": "bot", "content": "text", "metadata": {"\\ud800": 1}}', "metadata"),
        ("/store", '{"agent_id": "bot", "content": "text", "metadata": {"k": ["\\ud800"]}}', "metadata"),
        ("/store", '{"agent_id": "bot", "content": "text", "metadata": {"k": NaN}}', "metadata"),
        ("/store", '{"agent_id": "bot", "content": "text", "metadata": {"k": -1e999}}', "metadata"),
        ("/recall", '{"agent_id": "bot", "query": "\\ud83e"}', "query"),
        ("/recall", '{"agent_id": "bot", "query": "text", "filter": {"metadata": {"k": Infinity}}}', "filter.metadata"),
    ],
)
async def test_what_json_allows_and_utf_8_or_sql_does_not_is_refused(
    service: Service, path: str, body: str, field: str
) -> None:
    headers = {"Content-Type": "application/json"} | service.credential()
    answer = await service.client.post(path, content=body, headers=headers)
    problem = assert_problem(answer, 422, "invalid_request")
    assert all(name.startswith(field) for name in named_fields(problem)), problem


@pytest.mark.parametrize(
    "body",
    ["{", "not json", '{"agent_id": "bot", "content": "text"', "[" * 200_000, b"\xff\xfe", '{"a": ' + "9" * 5000 + "}"],
)
async def test_a_body_that_is_not_json_is_malformed(service: Service, body: str | bytes) -> None:
    headers = {"Content-Type": "application/json"} | service.credential()
    assert_problem(await service.client.post("/store", content=body, headers=headers), 400, "malformed_request")


async def test_of_very_many_wrong_fields_the_first_are_named(service: Service) -> None:
    answer = await service.post("/store", STORE | {f"field{n}": 1 for n in range(90)})
    problem = assert_problem(answer, 422, "invalid_request")
    assert len(problem["errors"]) == 20
    assert problem["detail"].endswith("; and 70 more")


async def test_a_body_of_very_many_fields_is_refused_for_their_number(service: Service) -> None:
    answer = await service.post("/store", STORE | {f"field{n}": 1 for n in range(10_000)})
    problem = assert_problem(answer, 422, "invalid_request")
    assert problem["errors"] == [{"field": "body", "message": "has 10002 fields, at most 7 exist"}]


@pytest.mark.parametrize(
    "body",
    [
        STORE | {"metadata": {"a": [1] * 80_000}},
        STORE | {"metadata": {"a": [[[1]]] * 35_000}},
        STORE | {"metadata": {f"k{n}": n for n in range(15_000)}},
        STORE | {f"field{n}": n for n in range(12_000)},
    ],
    ids=["numbers", "lists", "keys", "fields"],
)
async def test_a_large_body_of_small_parts_costs_little(service: Service, body: dict[str, Any]) -> None:
    whole = json.dumps(body)
    headers = {"Content-Type": "application/json"} | service.credential()
    started = time.process_time()
    assert_problem(await service.client.post("/store", content=whole, headers=headers), 422, "invalid_request")
    # What it takes to read the JSON, several times over: a busy machine does not count, but its caches are shared.
    assert time.process_time() - started < 0.1 + 5 * best(lambda: json.loads(whole))


async def test_a_filter_has_few_keys(service: Service) -> None:
    wanted = {f"k{n}": n for n in range(17)}
    answer = await service.post("/recall", RECALL | {"filter": {"metadata": wanted}})
    problem = assert_problem(answer, 422, "invalid_request")
    assert problem["errors"] == [{"field": "filter.metadata", "message": "has 17 keys, at most 16 are allowed"}]
    wanted.popitem()
    assert (await service.post("/recall", RECALL | {"filter": {"metadata": wanted}})).status_code == 200


@pytest.mark.parametrize("body", ["[]", "null", '"text"', "5", ""])
async def test_a_body_that_is_no_object_is_refused(service: Service, body: str) -> None:
    headers = {"Content-Type": "application/json"} | service.credential()
    answer = await service.client.post("/store", content=body, headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"body"}


@pytest.mark.parametrize("path", ["/store", "/recall"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_another_content_type_is_refused(service: Service, path: str, content_type: str) -> None:
    headers = {"Content-Type": content_type} | service.credential()
    answer = await service.client.post(path, content=json.dumps(STORE), headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")


async def test_a_content_type_with_a_charset_is_taken(service: Service) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"} | service.credential()
    answer = await service.client.post("/recall", content=json.dumps(RECALL), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/store", "/recall"])
async def test_a_body_announced_over_1_mib_is_refused(service: Service, path: str) -> None:
    headers = {"Content-Type": "application/json"} | service.credential()
    answer = await service.client.post(path, content=b" " * (1024 * 1024 + 1), headers=headers)
    assert_problem(answer, 413, "content_too_large")


async def test_a_body_over_1_mib_is_refused_while_it_streams(service: Service) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * 1024 * 1024:
            sent += 65536
            yield b" " * 65536

    headers = {"Content-Type": "application/json"} | service.credential()
    answer = await service.client.post("/store", content=endless(), headers=headers)
    assert_problem(answer, 413, "content_too_large")
    assert sent <= 1024 * 1024 + 2 * 65536


@pytest.mark.parametrize("path", ["/store?tenant=other", "/recall?tenant_id=other", "/store?x", "/readyz?tenant=a"])
async def test_a_query_parameter_that_is_not_taken_is_refused(service: Service, path: str) -> None:
    method = "GET" if path.startswith("/readyz") else "POST"
    answer = await service.client.request(
        method, path, json=STORE if method == "POST" else None, headers=service.credential()
    )
    (field,) = named_fields(assert_problem(answer, 422, "invalid_request"))
    assert f"?{field}" in path


async def test_a_path_with_a_slash_too_many_is_unknown(service: Service) -> None:
    assert_problem(await service.post("/store/", STORE), 404, "no_such_path")


async def test_an_unknown_path_or_method_is_a_problem_too(service: Service) -> None:
    assert_problem(await service.client.get("/memory"), 404, "no_such_path")
    answer = await service.client.get("/store")
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "path", ["/memories?limit=1&limit=2", "/export?agent_id=a&agent_id=b", "/usage?agent_id=&agent_id="]
)
async def test_a_query_parameter_that_comes_twice_is_refused(service: Service, path: str) -> None:
    answer = await service.client.get(path, headers=service.credential(admin=True))
    (name,) = named_fields(assert_problem(answer, 422, "invalid_request"))
    assert name in path


@pytest.mark.parametrize("path", ["/tools?format=mcp&format=openai", "/readyz?details=&details="])
async def test_nor_is_it_taken_where_no_credential_is_needed(service: Service, path: str) -> None:
    assert_problem(await service.client.get(path), 422, "invalid_request")


async def test_of_many_wrong_parameters_some_are_named(service: Service) -> None:
    query = "&".join(f"a{number}=&a{number}=" for number in range(1000))
    problem = assert_problem(await service.client.get(f"/tools?{query}"), 422, "invalid_request")
    assert len(problem["errors"]) == 20
    problem = assert_problem(await service.client.get(f"/healthz?{query}"), 422, "invalid_request")
    assert len(problem["errors"]) == 20


async def test_a_parameter_that_is_missing_is_named_with_its_place(service: Service) -> None:
    answer = await service.client.delete("/memories/01K2Z4M1V7Q8T3B5N6C7D8E9FA", headers=service.credential(admin=True))
    problem = assert_problem(answer, 422, "invalid_request")
    assert problem["detail"] == "agent_id: is required in the query, as in ?agent_id=..."
