"""Reads the OpenAPI document: its operations, and the Python types of its schemas."""

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from client_generator import names

Schema = Mapping[str, Any]
_REF = "#/components/schemas/"
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_FORMATS = {"date-time": "datetime", "binary": "bytes"}
_LONGEST_RANGE = 1_000_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that a caller may say.

    Attributes:
        name: As it is sent.
        place: ``path``, ``query``, ``header``, ``body`` or, for a field of a nested object, ``body.`` and its name.
    """

    name: str
    place: str
    schema: Schema
    required: bool
    text: str = ""

    @property
    def said(self) -> str:
        """How its caller says it: a profile is an agent, for which the client has one name."""
        return "agent_id" if self.name == "profile" else python_name(self.name)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the service.

    Attributes:
        body: The media type of what is sent.
        answer: The schema of an answer.
        partial: Whether it changes what is said alone: null says something too, so that ``...`` stands for what is not.
    """

    id: str
    verb: str
    path: str
    group: str
    text: str
    parameters: tuple[Parameter, ...]
    body: str | None
    answer: Schema | None
    statuses: tuple[int, ...]
    partial: bool
    refusals: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


class Document:
    """The document, as the generator needs it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Keep what is in it."""
        self.schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self.operations = tuple(self._operations(document["paths"]))

    def _operations(self, paths: Mapping[str, Any]) -> Iterator[Operation]:
        for path, verbs in paths.items():
            for verb, said in verbs.items():
                if said.get("deprecated"):
                    continue
                body = next(iter(said.get("requestBody", {}).get("content", {})), None)
                successes = {int(each): it for each, it in said["responses"].items() if int(each) < 300}  # noqa: PLR2004
                contents = next(iter(successes.values())).get("content", {})
                yield Operation(
                    id=said["operationId"],
                    verb=verb.upper(),
                    path=path,
                    group=re.sub(r"\W+", "_", said["tags"][0].split(",")[0]),
                    text=said["description"],
                    parameters=tuple(self._parameters(said, body)),
                    body=body,
                    answer=next((each["schema"] for each in contents.values()), None),
                    statuses=tuple(successes),
                    partial=body == "application/json" and "minProperties" in self._body(said),
                    refusals={
                        int(status): tuple(re.findall(r"\(`(\w+)`\)", it["description"]))
                        for status, it in said["responses"].items()
                    },
                )

    def _parameters(self, said: Mapping[str, Any], body: str | None) -> Iterator[Parameter]:
        for each in said.get("parameters", []):
            if not each.get("deprecated"):
                schema = each.get("schema") or next(iter(each["content"].values()))["schema"]
                yield Parameter(
                    each["name"], each["in"], schema, each.get("required", False), each.get("description", "")
                )
        if body == "application/json":
            yield from self._fields(self._body(said), "body")

    def _body(self, said: Mapping[str, Any]) -> Schema:
        return self.resolved(said["requestBody"]["content"]["application/json"]["schema"])

    def _fields(self, schema: Schema, place: str) -> Iterator[Parameter]:
        for name, each in schema["properties"].items():
            inner = self.resolved(without_null(each))
            if each.get("deprecated"):
                continue
            if "properties" in inner:
                for nested in self._fields(inner, f"{place}.{name}"):
                    yield Parameter(nested.name, nested.place, nested.schema, required=False, text=nested.text)
            else:
                required = name in schema.get("required", [])
                yield Parameter(name, place, each, required, each.get("description", ""))

    def resolved(self, schema: Schema) -> Schema:
        """Return the schema that a reference stands for, else the schema itself."""
        name = named(schema)
        return schema if name is None else self.schemas[name]


def named(schema: Schema) -> str | None:
    """Return the name of the schema that this one refers to."""
    reference: str = schema.get("$ref", "")
    return reference.removeprefix(_REF) or None


def without_null(schema: Schema) -> Schema:
    """Return what a value may be beside null; what stands beside the two belongs to it."""
    if "anyOf" not in schema:
        return schema
    (one,) = (each for each in schema["anyOf"] if each != {"type": "null"})
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **one}


def nullable(schema: Schema) -> bool:
    """Whether null is a value of it."""
    return {"type": "null"} in schema.get("anyOf", [])


def class_of(schema_name: str) -> str:
    """Return the name of the class of a schema."""
    return names.ANSWERS.get(schema_name, schema_name.removesuffix("Answer"))


def kind_of(schema: Schema, *, sent: bool = False) -> str:
    """Return the Python type of a value, as it is answered or as it is ``sent``; what it is beside null."""
    schema = without_null(schema)
    name = named(schema)
    if name is not None:
        return class_of(name)
    if schema.get("type") == "array":
        item = kind_of(schema["items"], sent=sent)
        if not sent:
            return f"tuple[{item}, ...]"
        return f"Sequence[{item} | Mapping[str, Any]]" if named(schema["items"]) else f"Sequence[{item}]"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties")
        values = _PLAIN.get(of.get("type", ""), "Any") if isinstance(of, Mapping) else "Any"
        return f"Mapping[str, {values}]" if sent else f"dict[str, {values}]"
    plain = _PLAIN.get(schema.get("type", ""), "Any")
    return "bool" if schema.get("enum") == ["true", "false"] else _FORMATS.get(schema.get("format", ""), plain)


def told(schema: Schema, text: str) -> str:
    """Return what is said of a value, with its range, what it may be, and what it is where it is left out."""
    one, parts = without_null(schema), [text.strip()]
    least, most = one.get("minimum"), one.get("maximum")
    if one.get("type") == "integer" and least is not None and most is not None and most <= _LONGEST_RANGE:
        parts.append(f"From {least:,.0f} to {most:,.0f}.")
    values = [value for value in one.get("enum", []) if f"`{value}`" not in text]
    if values and values != ["true", "false"]:
        parts.append("One of " + ", ".join(f"`{value}`" for value in one["enum"]) + ".")
    usual = schema.get("default")
    if usual not in (None, "") and not isinstance(usual, bool | list) and usual not in ("true", "false"):
        parts.append(f"Left out: `{usual}`.")
    return " ".join(part for part in parts if part)


def python_name(name: str) -> str:
    """Return the name as one of Python."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return f"{name}_" if keyword.iskeyword(name) else name
