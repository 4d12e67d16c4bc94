"""Answers chat completions without a model: what the user said last, or the smallest JSON that fits a schema."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from memory_gateway_double.models.embedding import tokens


def completion(
    body: Mapping[str, Any], created: int, message: Mapping[str, Any], finish_reason: str, text: str
) -> dict[str, Any]:
    """Write a whole ``chat.completion`` around a message, the same for the same request."""
    return {
        "id": f"chatcmpl-{hashlib.sha256(orjson.dumps(body)).hexdigest()[:24]}",
        "object": "chat.completion",
        "created": created,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
        "usage": usage(body, text),
    }


def usage(body: Mapping[str, Any], text: str) -> dict[str, int]:
    """Count the tokens of the messages and of the answer."""
    prompted, answered = sum(tokens(_text(message)) for message in _messages(body)), tokens(text)
    return {"prompt_tokens": prompted, "completion_tokens": answered, "total_tokens": prompted + answered}


def prompt(body: Mapping[str, Any]) -> str:
    """Return the texts of all messages, each from a line of its own."""
    return "\n".join(map(_text, _messages(body)))


def echo(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what the user said last."""
    return next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")


def smallest(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the schema asks for
    """Return the smallest value that fits a JSON schema: empty texts and lists, zeros, the first of several choices."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf"):
        if schema.get(choice):
            return smallest(schema[choice][0])
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: smallest(properties.get(name) or {}) for name in schema.get("required") or []}
    if kind == "array":
        return [smallest(schema.get("items") or {})] * int(schema.get("minItems", 0))
    numbers = {"integer": int(schema.get("minimum", 0)), "number": schema.get("minimum", 0)}
    return {"string": "x" * int(schema.get("minLength", 0)), "boolean": False, "null": None, **numbers}.get(kind)


def unscripted(body: Mapping[str, Any]) -> str:
    """Answer what is asked for in no known stage."""
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        described = wanted.get("json_schema") or {}
        return orjson.dumps(smallest(described.get("schema") or described)).decode()
    if wanted.get("type") == "json_object":
        return orjson.dumps({"echo": echo(_messages(body))}).decode()
    return echo(_messages(body))


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages") or []
    return [message for message in messages if isinstance(message, Mapping)]


def _text(message: Mapping[str, Any]) -> str:
    """Return a message's text, whether it is given whole or in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
