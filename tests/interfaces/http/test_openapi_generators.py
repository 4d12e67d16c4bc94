"""What generators of clients and of requests need of the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator

from app.domain.limits import MAX_NUMBER
from tests.support.service import Service


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture(scope="module")
async def document(shared_service: Service) -> dict[str, Any]:
    document: dict[str, Any] = (await shared_service.client.get("/openapi.json")).json()
    return document


def parts(part: Any) -> Iterator[dict[str, Any]]:
    """Every object within a part of the document, and the part itself."""
    if isinstance(part, dict):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from parts(each)


async def test_metadata_is_an_open_object_without_a_class_of_its_own(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert "JsonValue" not in schemas
    for name in ("StoreRequest", "RecallFilter", "EntryAnswer", "MemoryAnswer"):
        metadata = schemas[name]["properties"]["metadata"]
        assert (metadata["type"], metadata["additionalProperties"]) == ("object", True), name


async def test_no_boolean_is_a_constant(document: dict[str, Any]) -> None:
    assert document["components"]["schemas"]["StoreAnswer"]["properties"]["stored"]["type"] == "boolean"
    assert [part for part in parts(document) if isinstance(part.get("const"), bool)] == [
        part for part in parts(document["paths"]["/tools"]) if isinstance(part.get("const"), bool)
    ]


async def test_its_server_is_the_one_it_came_from(document: dict[str, Any]) -> None:
    assert [server["url"] for server in document["servers"]] == ["/"]


async def test_every_integer_without_bounds_is_one_of_64_bits(document: dict[str, Any]) -> None:
    schemas = [part["schema"] for part in parts(document["paths"]) if "schema" in part]
    integers = [part for part in parts([document["components"], schemas]) if part.get("type") == "integer"]
    bounded = [part for part in integers if "format" not in part]
    assert len(integers) > len(bounded) > 0
    assert all(part.keys() & {"minimum", "exclusiveMinimum"} for part in bounded)
    assert document["components"]["schemas"]["UsageAnswer"]["properties"]["bytes"]["format"] == "int64"


async def test_lines_are_bytes_that_every_generator_can_send_and_read(document: dict[str, Any]) -> None:
    lines, octets = "application/x-ndjson", "application/octet-stream"
    export, importing = document["paths"]["/export"]["get"], document["paths"]["/import"]["post"]
    bodies = importing["requestBody"], export["responses"]["200"], importing["responses"]["200"]
    assert [list(body["content"]) for body in bodies] == [[octets], [lines, octets], [lines, octets]]
    for body in bodies:
        assert all(each["schema"] == {"type": "string", "format": "binary"} for each in body["content"].values())


async def test_every_body_has_a_media_type_that_every_generator_can_send_and_read(document: dict[str, Any]) -> None:
    readable = {"application/json", "application/problem+json", "application/octet-stream", "text/plain"}
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    bodies = [body for each in operations for body in (each.get("requestBody", {}), *each["responses"].values())]
    contents = [set(body["content"]) for body in bodies if "content" in body]
    assert [content for content in contents if not readable & content] == []


async def test_no_schema_has_fields_and_alternatives_beside_each_other(document: dict[str, Any]) -> None:
    """The generators of TypeScript and Go make code of both that does not compile."""
    schemas = document["components"]["schemas"]
    assert [name for name, schema in schemas.items() if schema.keys() & {"oneOf", "anyOf", "allOf"}] == []


def nested(depth: int) -> Any:
    return {"k": [nested(depth - 2)]} if depth > 1 else {"k": 1} if depth else 1


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (MAX_NUMBER, True),
        (MAX_NUMBER + 1, False),
        (-MAX_NUMBER, True),
        (float(2**63 - 1024), True),
        (float(2**63), False),
        (1e19, False),
        (True, True),
        (None, True),
        ("text", True),
        ("a\0b", False),
        ([1, "a", None, {"k": [2.5]}], True),
        ([{"k": MAX_NUMBER + 1}], False),
        ([["a\0b"]], False),
        ({"a\0b": 1}, False),
        (nested(7), True),
        (nested(8), False),
    ],
)
async def test_the_schema_of_metadata_takes_what_a_store_takes(
    service: Service, document: dict[str, Any], value: Any, *, taken: bool
) -> None:
    body = {"agent_id": "bot", "content": "text", "metadata": {"key": value}}
    # Not by jsonschema_rs, which compares an integer with a bound that is a double as two doubles.
    schema = Draft202012Validator({"components": document["components"], "$ref": "#/components/schemas/StoreRequest"})
    assert schema.is_valid(body) is taken
    assert (await service.post("/store", body)).status_code == (201 if taken else 422)


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("2025-12-31T23:59:59Z", False),
        ("1999-01-01T00:00:00Z", False),
        ("2026-02-30T00:00:00Z", False),
        ("2999-12-31", False),
        ("2999-12-31T23:59:59", False),
        ("2999-12-31T23:59:59Z", True),
        ("2999-12-31t23:59:59.123+02:00", True),
        (None, True),
    ],
)
async def test_the_schema_of_an_expiry_takes_no_moment_of_a_past_year(
    service: Service, document: dict[str, Any], value: str | None, *, taken: bool
) -> None:
    body = {"agent_id": "bot", "content": "text", "expires_at": value}
    components = {"components": document["components"]}
    schema = jsonschema_rs.validator_for(
        {**components, "$ref": "#/components/schemas/StoreRequest"}, validate_formats=True
    )
    assert schema.is_valid(body) is taken
    assert (await service.post("/store", body)).status_code == (201 if taken else 422)


def deep(levels: int) -> Any:
    return {"k": deep(levels - 1)} if levels else 1


_FACT = {"subject": "user", "predicate": "lives in", "object": "Oslo"}
_CALL = {"tool": "search", "outcome": "ok", "ms": 1}
_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_ASSEMBLE = {"agent_id": "bot"}


@pytest.mark.parametrize(
    ("operation", "body", "taken"),
    [
        ("POST /recall", {"agent_id": "bot", "query": "q", "run_id": None}, True),
        ("POST /recall", {"agent_id": "bot", "query": "q", "run_id": "none"}, False),
        ("POST /recall", {"agent_id": "bot", "query": "q", "top_k": 21}, True),
        ("POST /recall", {"agent_id": "bot", "query": "q", "top_k": 20, "for_model": True}, True),
        ("POST /recall", {"agent_id": "bot", "query": "q", "top_k": 21, "for_model": True}, False),
        ("POST /facts", {**_FACT, "agent_id": "bot", "agent_type": None}, True),
        ("POST /facts", {**_FACT, "agent_id": None, "agent_type": "support"}, True),
        ("POST /facts", {**_FACT, "agent_id": None}, False),
        ("POST /facts", {**_FACT, "agent_id": "bot", "fact_id": None, "occurred_at": None}, True),
        ("POST /facts/recall", {"query": "q", "agent_id": "bot", "subject": None, "predicate": None}, True),
        ("POST /facts/recall", {"query": "q"}, False),
        ("POST /context/assemble", _ASSEMBLE, True),
        ("POST /context/assemble", {**_ASSEMBLE, "prefetch": True, "query": None}, False),
        ("POST /context/assemble", {**_ASSEMBLE, "prefetch": True, "query": "q"}, True),
        ("POST /context/assemble", {**_ASSEMBLE, "task_type": "t"}, False),
        ("POST /context/assemble", {**_ASSEMBLE, "task_type": None, "agent_type": None}, True),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input": None, "input_hash": None}]}, True),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input_hash": None}]}, False),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input": 1, "error": None, "tokens": None}]}, True),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input": 1, "ms": MAX_NUMBER}]}, True),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input": 1, "ms": float(2**63)}]}, False),
        (f"POST /runs/{_RUN}/audit", {"calls": [{**_CALL, "input": 1, "tokens": MAX_NUMBER + 1}]}, False),
        ("PUT /working/bot/worker-1/plan", {"value": deep(16)}, True),
        ("PUT /working/bot/worker-1/plan", {"value": MAX_NUMBER + 1}, False),
        ("PUT /configuration", {"values": deep(16)}, True),
    ],
)
async def test_the_schema_of_a_body_takes_what_its_operation_takes(
    service: Service, document: dict[str, Any], operation: str, body: dict[str, Any], *, taken: bool
) -> None:
    method, path = operation.split()
    run = {"agent_id": "bot", "agent_type": "t", "input": None, "run_id": _RUN}
    assert (await service.post("/runs", run)).status_code in {200, 201}
    documented = path.replace(_RUN, "{run_id}").replace("bot/worker-1/plan", "{agent_id}/{instance}/{key}")
    schema = document["paths"][documented][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    assert Draft202012Validator({"components": document["components"], **schema}).is_valid(body) is taken
    answer = await service.client.request(method, path, json=body, headers=service.credential(admin=True))
    assert answer.status_code in ({200, 201} if taken else {422}), answer.text


def nulls(document: dict[str, Any], schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value with each of its fields null in turn, and the name of the field."""
    for each in [schema, *schema.get("anyOf", ())]:
        part = document["components"]["schemas"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if part.get("type") == "array" and value:
            for name, item in nulls(document, part["items"], value[0]):
                yield f"0.{name}", [item, *value[1:]]
        for name, inner in part.get("properties", {}).items():
            yield name, {**value, name: None}
            for within, changed in nulls(document, inner, value.get(name)) if value.get(name) else ():
                yield f"{name}.{within}", {**value, name: changed}


async def test_null_is_taken_where_the_document_says_so_alone(service: Service, document: dict[str, Any]) -> None:
    headers = service.credential(admin=True)
    tried, wrong = 0, []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is None:
                continue
            name = body["schema"]["$ref"].rpartition("/")[2]
            validator = Draft202012Validator({"components": document["components"], **body["schema"]})
            for example in document["components"]["schemas"][name]["examples"]:
                for field, changed in nulls(document, body["schema"], example):
                    tried += 1
                    if not validator.is_valid(changed):
                        url = path.format_map(_Named())
                        answer = await service.client.request(method, url, json=changed, headers=headers)
                        if answer.status_code not in {400, 422}:
                            wrong.append(f"{method} {path}: {field}: {answer.status_code}")
    assert wrong == []
    assert tried > 150


class _Named(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return _RUN if key == "run_id" else "support" if key == "namespace_name" else "named"
