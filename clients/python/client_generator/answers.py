"""Writes the types: a dataclass of each schema that is answered, a TypedDict of each that is sent in a list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from client_generator.document import (
    Document,
    Schema,
    class_of,
    kind_of,
    named,
    nullable,
    python_name,
    told,
    without_null,
)
from client_generator.text import docstring

HEAD = '"""{title}\n\nMade of the OpenAPI document by `make client`: what is changed here is lost.\n"""\n\n'


@dataclass(slots=True)
class Types:
    """The classes of all schemas, by the group whose operations use them first."""

    document: Document
    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    place: dict[str, str] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write all classes, those before that others have as members."""
        for operation in self.document.operations:
            for parameter in operation.parameters:
                schema = without_null(parameter.schema)
                if schema.get("type") == "array" and (name := named(schema["items"])):
                    self._write(name, operation.group, sent=True)
            if operation.answer is not None:
                for name in _references(operation.answer):
                    self._write(name, operation.group, sent=False)

    def _write(self, schema_name: str, group: str, *, sent: bool) -> None:
        name = class_of(schema_name)
        if name in self.place:
            return
        schema = self.document.schemas[schema_name]
        needs = [each for value in schema["properties"].values() for each in _references(value)]
        for each in needs:
            self._write(each, group, sent=sent)
        if name in self.place:
            raise ValueError(f"{schema_name} holds itself.")
        self.place[name] = group
        self.used.setdefault(group, set()).update(class_of(each) for each in needs)
        self.groups.setdefault(group, {})[name] = _typed_dict(name, schema) if sent else _dataclass(name, schema)

    def modules(self) -> Iterator[tuple[str, str]]:
        """Give each module's name and text, and those of the package."""
        for group, classes in self.groups.items():
            lines = [HEAD.format(title=f"Types of {group.replace('_', ' ')}."), _IMPORTS, self.imports(group)]
            yield group, "\n".join([*lines, *classes.values()])
        title = "What the service answers, and what it is sent in lists. What a newer service adds is not read."
        exported = "".join(
            f"from memory_gateway_client.types.{group} import {', '.join(sorted(classes))}\n"
            for group, classes in sorted(self.groups.items())
        )
        everything = ", ".join(f'"{name}"' for name in sorted(self.place))
        yield "__init__", f"{HEAD.format(title=title)}{exported}\n__all__ = [{everything},]\n"

    def imports(self, group: str) -> str:
        """Return the lines that import what the group has of others."""
        lines: dict[str, set[str]] = {}
        for name in self.used[group]:
            if self.place[name] != group:
                lines.setdefault(self.place[name], set()).add(name)
        return "".join(
            f"from memory_gateway_client.types.{place} import {', '.join(sorted(classes))}\n"
            for place, classes in sorted(lines.items())
        )


_IMPORTS = """\
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict
"""
"""All that a module may need: what it does not is taken out afterwards."""


def _references(schema: Schema) -> Iterator[str]:
    schema = without_null(schema)
    if name := named(schema):
        yield name
    elif schema.get("type") == "array":
        yield from _references(schema["items"])


def _dataclass(name: str, schema: Schema) -> str:
    required = [each for each in schema["properties"] if each in schema.get("required", [])]
    others = [each for each in schema["properties"] if each not in required]
    fields = [
        *(_field(each, schema["properties"][each]) for each in required),
        *(_field(each, schema["properties"][each], left_out=True) for each in others),
    ]
    text = docstring(schema["description"], {"Attributes": _told(schema)})
    return "\n".join(["\n@dataclass(frozen=True, slots=True)", f"class {name}:", text, "", *fields, ""])


def _field(name: str, schema: Schema, *, left_out: bool = False) -> str:
    kind, usual = kind_of(schema), schema.get("default")
    if usual is None and without_null(schema).get("type") == "array":
        usual = ()
    if (nullable(schema) and not (left_out and usual is not None)) or (left_out and usual is None):
        kind = kind if kind == "Any" else f"{kind} | None"
    return f"    {python_name(name)}: {kind}" + (f" = {usual!r}" if left_out else "")


def _typed_dict(name: str, schema: Schema) -> str:
    fields = []
    for each, value in schema["properties"].items():
        kind = kind_of(value, sent=True) + (" | None" if nullable(value) and kind_of(value) != "Any" else "")
        fields.append(f"    {each}: {f'Required[{kind}]' if each in schema.get('required', []) else kind}")
    text = docstring(schema["description"], {"Attributes": _told(schema)})
    return "\n".join([f"\nclass {name}(TypedDict, total=False):", text, "", *fields, ""])


def _told(schema: Schema) -> Mapping[str, str]:
    texts = {
        python_name(name): told(value, value.get("description", "")) for name, value in schema["properties"].items()
    }
    return {name: text for name, text in texts.items() if text}
