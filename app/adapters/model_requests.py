"""Writes requests to servers of language models, in the form that each model takes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from app.domain.json_types import Json, to_json
from app.ports.language_model import Schema

THINKING_TOKENS = 4096
"""Tokens that a model which reasons before it answers may use beyond those of its answer."""

Format = Literal["json_schema", "json_object", "text"]
_WEAKER: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "text"}
_OF_FORMAT = re.compile(r"response_format|json_schema|json_object|json[ _-]?mode|structured|grammar|guided|schema")
_UNTOLD = {"minLength", "maxLength", "pattern"}
"""Rules of a schema that not every server takes: OpenAI no lengths, llama.cpp none above 2,000 and few patterns."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parts of a request that a model takes, and how it uses its tokens, as far as that is known."""

    format: Format = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    thinks: bool = False

    def without(self, complaint: str) -> "Dialect | None":
        """Return the dialect to try after a refusal; None where the complaint is about nothing that can be left out."""
        about = complaint.lower()
        if "max_completion_tokens" in about:
            other = self.limit == "max_tokens"
            return replace(self, limit="max_completion_tokens" if other else "max_tokens")
        if "temperature" in about and self.temperature:
            return replace(self, temperature=False)
        if _OF_FORMAT.search(about) and self.format in _WEAKER:
            return replace(self, format=_WEAKER[self.format])
        return None


def request_body(
    model: str | None,
    messages: Sequence[Mapping[str, str]],
    schema: Schema[Any] | None,
    max_tokens: int,
    dialect: Dialect,
    *,
    bare_schema: bool,
) -> bytes:
    """Return the body of a request for an answer of the schema's form; without a schema any answer will do.

    ``bare_schema``: the server wants the schema itself, where others want it with its name.
    """
    body: dict[str, Json] = {} if model is None else {"model": model}
    body[dialect.limit] = max_tokens + (THINKING_TOKENS if dialect.thinks else 0)
    if dialect.temperature:
        body["temperature"] = 0
    if schema is not None and dialect.format == "json_schema":
        named: dict[str, Json] = {"name": schema.name, "strict": True, "schema": _portable(schema.json_schema)}
        bare: dict[str, Json] = {"title": schema.name, **_portable(schema.json_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": bare if bare_schema else named}
    elif schema is not None:
        messages = _with_schema(messages, schema)
        if dialect.format == "json_object":
            body["response_format"] = {"type": "json_object"}
    body["messages"] = [dict(message) for message in messages]
    return to_json(body).encode("utf-8", "replace")


def _with_schema(messages: Sequence[Mapping[str, str]], schema: Schema[Any]) -> Sequence[Mapping[str, str]]:
    """Put the schema behind the rules, which the system message holds."""
    wanted = to_json({"title": schema.name, **schema.json_schema})
    rule = f"Answer with one JSON object and nothing before or after it. It fits this JSON Schema:\n{wanted}"
    first, *others = messages
    if first["role"] != "system":
        return [{"role": "system", "content": rule}, *messages]
    return [{"role": "system", "content": f"{first['content']}\n\n{rule}"}, *others]


def _portable(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Put rules that not every server takes into the description; an answer is checked against all rules."""
    portable: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "properties":
            fields = cast("Mapping[str, Mapping[str, Json]]", value)
            portable[key] = {name: _portable(field) for name, field in fields.items()}
        elif key == "items":
            portable[key] = _portable(cast("Mapping[str, Json]", value))
        elif key == "anyOf":
            portable[key] = [_portable(choice) for choice in cast("Sequence[Mapping[str, Json]]", value)]
        elif key == "const":
            portable["enum"] = [value]
        elif key not in _UNTOLD:
            portable[key] = value
    told = [portable.pop("description", None), _length(schema), _pattern(schema)]
    if any(told):
        portable["description"] = " ".join(str(each) for each in told if each)
    return portable


def _length(schema: Mapping[str, Json]) -> str | None:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if most is None:
        return None if least is None else f"At least {least} characters."
    return f"{least} to {most} characters." if least else f"At most {most} characters."


def _pattern(schema: Mapping[str, Json]) -> str | None:
    return f"Matches {schema['pattern']}." if "pattern" in schema else None
