"""The client is of this service: its operations, parameters and answers are those of the OpenAPI document."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import pytest

from client_generator import names
from memory_gateway_client import MemoryClient, operations, types
from memory_gateway_client.request import Call
from tests.support.service import serving

FUNCTIONS = {
    name: function
    for module in iter_modules(operations.__path__, f"{operations.__name__}.")
    for name, function in inspect.getmembers(import_module(module.name), inspect.isfunction)
    if function.__module__ == module.name
}
OPERATIONS = {
    {method: name for name, method in names.METHODS.items()}.get(each, each): FUNCTIONS[each] for each in FUNCTIONS
}
"""The functions of the client by the ids of their operations."""
ANSWERS = {kind for kind in vars(types).values() if is_dataclass(kind)}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
TIME, SENT_TIME = datetime(2026, 1, 2, 3, 4, 5, 6000, timezone(timedelta(hours=2))), "2026-01-02T01:04:05.006000+00:00"
EXAMPLES: Mapping[str, Any] = {
    "account_id": "acc",
    "archive_id": "ar",
    "blob_id": "b",
    "details": True,
    "direction": "asc",
    "exclude_superseded": True,
    "format": "openai",
    "item_id": "it",
    "kind": "memory",
    "lines": [{"a": 1}, "written\n", b""],
    "namespace_name": "ns",
    "order": "created_at",
    "per_page": 7,
    "profile_name": "p",
    "since": TIME,
    "reference_date": "2026-01-02",
    "response_length": "short",
    "thinking_level": "low",
    "type": "fact",
    "until": TIME,
    "vectors": True,
    "act": "agent.erase",
    "after": TIME,
    "agent_id": "a",
    "agent_type": "t",
    "before": TIME,
    "calls": [{"call_id": "c", "tool": "t", "input": None, "outcome": "ok", "ms": 1}],
    "context": ["house-style"],
    "prefetch": True,
    "collapse": True,
    "confidence": 0.5,
    "confirm": "acme",
    "consolidation_id": "c",
    "content": "c",
    "created_after": TIME,
    "created_before": TIME,
    "credential_id": "c-1",
    "cursor": "next",
    "dry_run": False,
    "entries": [{"n": 1}],
    "discount": 0.9,
    "enabled": False,
    "event": "recall",
    "expires_at": TIME,
    "episodes": [{"episode_id": "e", "type": "t", "content": "c"}],
    "error": "e",
    "explain": True,
    "fact_id": "f",
    "for_model": True,
    "group_by": "session",
    "handed_over": {"of": 1},
    "history": True,
    "instance": "i",
    "key": "k",
    "if_match": '"1"',
    "if_none_match": "*",
    "idempotency_key": "k",
    "input": {"any": None},
    "learned_from_run_id": "r",
    "limit": 7,
    "long_term_enabled": False,
    "max_tokens": 8,
    "memory_id": "m",
    "media_type": "text/plain",
    "metadata": {"of": 1},
    "messages": [{"role": "user", "content": "c"}],
    "name": "house-style",
    "min_score": 0.0,
    "minted_by": "c-1",
    "object": "Oslo",
    "occurred_at": TIME,
    "operation_id": "o",
    "outcome": "refused",
    "output": ["any"],
    "parent_run_id": "r",
    "predicate": "lives in",
    "query": "q",
    "recency_days": 1.5,
    "reference_time": TIME,
    "as_of": TIME,
    "requests_per_minute": 60,
    "retention_days": 9,
    "run_id": "r",
    "scopes": ["read"],
    "session_id": "s",
    "single": True,
    "speakers": ["Ann"],
    "started_after": TIME,
    "started_before": TIME,
    "status": "running",
    "strict": False,
    "subject": "user",
    "tools": "profile",
    "top_k": 1,
    "ttl_seconds": 60,
    "value": [1],
    "score": 0.5,
    "seed": 0,
    "spec": {"of": 1},
    "task_type": "answer",
    "workflow_id": "w",
    "values": {"any": None},
    "version": 3,
    "written_by": "c-1",
}
OTHERWISE: Mapping[tuple[str, str], Any] = {
    ("put_blob", "content"): b"c",
    ("recall_profile", "reference_date"): TIME,
    ("run_log", "after"): 7,
    ("ingest", "dry_run"): True,
}
"""What an operation has as an example of a parameter that others have of another type."""
NOT_SENT = {"every_agent", "shared"}
"""Parameters that say what is left out of the request."""


@pytest.fixture(scope="module")
async def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    async with serving(tmp_path_factory.mktemp("data")) as service:
        return (await service.client.get("/openapi.json")).json()


def described(document: Any) -> Iterator[tuple[str, str, str, Any]]:
    """Give the name, method, path and description of each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            # A profile is an agent: the client has one name for both.
            yield operation["operationId"], method.upper(), path.replace("{profile}", "{agent_id}"), operation


def parameters(name: str) -> dict[str, inspect.Parameter]:
    own, *said = inspect.signature(OPERATIONS[name]).parameters.values()
    assert own.name == "_own"
    return {each.name: each for each in said}


def example(name: str, parameter: str) -> Any:
    return OTHERWISE.get((name, parameter), EXAMPLES[parameter])


def call_of(name: str) -> Call[Any]:
    said = {each.name: example(name, each.name) for each in parameters(name).values() if each.default is each.empty}
    call: Call[Any] = OPERATIONS[name]("bot", **said)
    return call


def resolved(document: Any, schema: Any) -> Any:
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return document["components"]["schemas"][name] if name else schema


def sent(document: Any, operation: Any) -> Iterator[tuple[str, bool]]:
    """Give each field that a request may carry, and whether it must; those of a nested object in its place."""
    for parameter in operation.get("parameters", []):
        if not parameter.get("deprecated"):
            name = said(parameter["name"])
            yield "agent_id" if name == "profile" else name, parameter["required"]
    contents = operation.get("requestBody", {}).get("content", {})
    if "application/json" in contents:
        body = resolved(document, contents["application/json"]["schema"])
        for name, schema in body["properties"].items():
            if schema.get("deprecated"):
                continue
            nested = [resolved(document, each) for each in schema.get("anyOf", [])]
            inner = next((each["properties"] for each in nested if "properties" in each), None)
            if inner is None:
                yield said(name), name in body.get("required", [])
            else:
                yield from ((each, False) for each in inner)
    elif operation["operationId"] in names.LINES and contents:
        yield "lines", True
    elif contents:
        yield from (("content", True), ("media_type", False))


def said(name: str) -> str:
    """Return how a caller says a field: a header, and Cloudflare's names, are written as Python writes names."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").lower()


async def test_every_operation_of_the_service_is_a_method(document: Any) -> None:
    ids = {operation["operationId"] for _, _, _, operation in described(document)}
    assert ids == OPERATIONS.keys()
    methods = {name for name in dir(MemoryClient) if not name.startswith("_")}
    assert methods == FUNCTIONS.keys() | names.ALIASES.keys() | {"call_tool", "close"}


async def test_every_field_of_a_request_is_a_parameter_and_the_other_way_round(document: Any) -> None:
    for name, _, _, operation in described(document):
        fields_ = dict(sent(document, operation))
        old = names.RENAMED.get(name, {}).keys()
        assert parameters(name).keys() - NOT_SENT - old == fields_.keys(), name
        for field, required in fields_.items():
            has_default = parameters(name)[field].default is not inspect.Parameter.empty
            assert has_default is (not required or (field == "agent_id" and name != "erase_agent")), (name, field)


async def test_every_parameter_is_sent_as_the_field_of_its_name(document: Any) -> None:
    for name, _, path, operation in described(document):
        given = {
            each: example(name, each)
            for each in parameters(name).keys() - NOT_SENT - names.RENAMED.get(name, {}).keys()
        }
        call = OPERATIONS[name]("bot", **given)
        body = {said(field): value for field, value in (call.body or {}).items()}
        headers = {said(header): value for header, value in call.headers.items()}
        headers |= {"media_type": headers.pop("content_type")} if isinstance(call.content, bytes) else {}
        carried = body.pop("filter", {}) | body | dict(call.query) | headers
        carried |= {"content": call.content} if isinstance(call.content, bytes) else {}
        wanted = {each: SENT_TIME if value is TIME else value for each, value in given.items()}
        if wanted.pop("lines", None) is not None:
            assert list(call.content) == [b'{"a": 1}\n', b"written\n", b"\n"]
            assert carried.pop("content_type") == "application/x-ndjson"
        in_path = {each: wanted.pop(each) for each in list(wanted) if f"{{{each}}}" in path}
        assert call.path == path.format(**in_path)
        asked = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
        for each in asked & wanted.keys():  # a query is text
            wanted[each] = wanted[each] if isinstance(wanted[each], str) else json.dumps(wanted[each])
        assert carried == wanted, name


async def test_every_call_goes_where_the_document_says_and_expects_what_it_promises(document: Any) -> None:
    for name, method, path, operation in described(document):
        call = call_of(name)
        agent_id = "a" if name == "erase_agent" else "bot"
        concrete = path.format(**{**EXAMPLES, "agent_id": agent_id})
        assert (call.method, call.path) == (method, concrete)
        successes = [int(status) for status in operation["responses"] if int(status) < 300]
        assert [call.status, *call.also] == successes


async def test_every_answer_is_read_with_the_members_and_types_of_the_document(document: Any) -> None:
    seen: set[type] = set()
    for name, _, _, operation in described(document):
        call = call_of(name)
        content = operation["responses"][str(call.status)].get("content")
        if content is None:
            assert call.answer is NoneType, name
        elif "application/json" not in content:
            (schema,) = {json.dumps(each["schema"], sort_keys=True) for each in content.values()}
            binary = json.loads(schema).get("format") == "binary"
            assert call.answer is (bytes if binary else str) or call.lines_until is not None, name
        else:
            compare(document, call.answer, content["application/json"]["schema"], name, seen)
    assert seen == ANSWERS


def compare(document: Any, kind: Any, schema: Any, at: str, seen: set[type]) -> None:
    """Fail where the schema is not that of the kind."""
    schema = resolved(document, schema)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        one, null = schema.get("anyOf", (schema, None))
        assert null == {"type": "null"}, at
        assert arguments[1:] == (NoneType,), at
        compare(document, arguments[0], one, at, seen)
    elif is_dataclass(kind):
        seen.add(kind)  # type: ignore[arg-type]  # a class, no instance
        members(document, kind, schema, at, seen)
    elif origin is tuple:
        assert schema["type"] == "array", at
        compare(document, arguments[0], schema["items"], at, seen)
    elif origin is dict:
        values = {"type": JSON_TYPES[arguments[1]]} if arguments[1] in JSON_TYPES else True
        assert (schema["type"], schema["additionalProperties"]) == ("object", values), at
    elif kind is Any:
        assert not schema.keys() & {"type", "anyOf", "$ref", "format"}, at
    elif kind is datetime:
        assert (schema["type"], schema["format"]) == ("string", "date-time"), at
    else:
        assert schema["type"] == JSON_TYPES[kind], at
        assert schema.get("format") in {None, "int64"}, at


def members(document: Any, kind: Any, schema: Any, at: str, seen: set[type]) -> None:
    here = {field.name.rstrip("_"): field for field in fields(kind)}
    there = {said(name): each for name, each in schema["properties"].items()}
    assert here.keys() == there.keys(), at
    required = {said(name) for name in schema.get("required", [])}
    assert {name for name, field in here.items() if field.default is MISSING} == required, at
    for name, field in here.items():
        of_member: Any = there[name]
        wanted: Any = field.type
        if field.default is not MISSING:  # what may be missing may be null, and is then the default
            of_member = without_null(of_member)
            wanted = get_args(wanted)[0] if get_origin(wanted) is UnionType else wanted
        compare(document, wanted, of_member, f"{at}.{name}", seen)


def without_null(schema: Any) -> Any:
    """Return what a member may be beside null; a time keeps its format, which stands beside the two."""
    if "anyOf" not in schema:
        return schema
    one, null = schema["anyOf"]
    assert null == {"type": "null"}
    return one | ({"format": schema["format"]} if "format" in schema else {})
