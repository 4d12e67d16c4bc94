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
