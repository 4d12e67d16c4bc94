"""Writes the operations: a function of each, which makes the call that a client sends."""

from collections.abc import Iterator
from dataclasses import replace

from client_generator import names
from client_generator.answers import HEAD, Types
from client_generator.document import Operation, Parameter, kind_of, named, nullable, told, without_null
from client_generator.text import docstring

_IMPORTS = """\
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import EllipsisType, NoneType
from typing import Any

from memory_gateway_client.agents import agent_of_session, agent_or_every, fact_owner, one_agent, owner
from memory_gateway_client.request import (
    Call, Line, Lines, asked, conditions_of, given, items, lines_of, media, named, once, partly, renamed, segment,
)
from memory_gateway_client.ulids import new_ulid
"""
_REFUSALS = {404: "NotFound", 409: "Conflict", 410: "NotFound", 412: "PreconditionFailed"}
_LISTS = ("header", "path")


def method_of(operation: Operation) -> str:
    """Return the name of the operation's method."""
    return names.METHODS.get(operation.id, operation.id)


class Writer:
    """Writes the function of one operation."""

    def __init__(self, operation: Operation) -> None:
        """Find what its caller may say, and in which order."""
        self._operation = operation
        self._agent = names.AGENTS.get(operation.id, names.OWN)
        said = list(operation.parameters)
        if operation.body not in (None, "application/json"):
            said.append(Parameter("lines" if operation.id in names.LINES else "content", "content", {}, required=True))
            if operation.id not in names.LINES:
                kind = {"type": "string", "default": operation.body}
                said.append(Parameter("media_type", "media", kind, required=False))
        self._said = sorted(
            said, key=lambda each: _LISTS[::-1].index(each.place) if each.place in _LISTS else len(_LISTS)
        )
        self._said.sort(key=lambda each: each.place != "path")
        by_place = names.POSITIONAL.get(operation.id, ())
        self._first = [each for each in self._said if self._must(each) or each.said in by_place]

    def _must(self, parameter: Parameter) -> bool:
        by_itself = parameter.said == "agent_id" and self._agent != "agent_id"
        return parameter.required and not by_itself

    def function(self) -> str:
        """Return the function."""
        operation = self._operation
        rest = [each for each in self._said if each not in self._first]
        flags = [flag for flag in names.FLAGS if f"{flag}={flag}" in self._agent]
        keywords = [self._parameter(each) for each in rest] + [f"{flag}: bool = False" for flag in flags]
        old = names.RENAMED.get(operation.id, {})
        keywords += [self._parameter(replace(self._of(new), name=name)) for name, new in old.items()]
        parameters = ["_own: str | None", "/", *(self._parameter(each) for each in self._first)]
        parameters += ["*", *keywords] if keywords else []
        told_of = {each.said: self._text(each) for each in [*self._first, *rest]}
        told_of |= {flag: names.FLAGS[flag] for flag in flags}
        told_of |= {name: f"The old name of ``{new}``." for name, new in old.items()}
        raised: dict[str, str] = {}
        for status, codes in operation.refusals.items():
            if status in _REFUSALS and codes:
                raised[_REFUSALS[status]] = ", ".join(f"``{code}``" for code in codes) + "."
        text = docstring(operation.text, {"Args": told_of, "Raises": dict(sorted(raised.items()))})
        head = f"def {method_of(operation)}({', '.join(parameters)},) -> Call[{self._answer()}]:"
        return f"{head}\n{text}\n    return {self._call()}\n\n"

    def _of(self, name: str) -> Parameter:
        return next(each for each in self._said if each.said == name)

    def _parameter(self, parameter: Parameter) -> str:
        kind = names.KINDS.get((self._operation.id, parameter.said)) or kind_of(parameter.schema, sent=True)
        if parameter.place == "content":
            kind = "Lines" if parameter.name == "lines" else "bytes"
        said = f"{parameter.said}: {kind}"
        if self._must(parameter):
            return said + (" | None" if nullable(parameter.schema) and kind != "Any" else "")
        if self._operation.partial and parameter.place == "body":
            return f"{said} | EllipsisType{' | None' if nullable(parameter.schema) else ''} = ..."
        usual = parameter.schema.get("default")
        if kind == "bool" and not nullable(parameter.schema):
            return f"{said} = {usual in (True, 'true')}"
        if parameter.place == "media":
            return f"{said} = {usual!r}"
        return f"{said} = None" if kind == "Any" else f"{said} | None = None"

    def _text(self, parameter: Parameter) -> str:
        usual = names.DESCRIBED.get(parameter.said)
        if usual and parameter.said in names.PREFERRED and self._agent != "agent_id":
            return usual
        fallback = usual or f"Which {parameter.said.replace('_', ' ').removesuffix(' id')}."
        return told(parameter.schema, parameter.text) or fallback

    def _answer(self) -> str:
        if self._operation.id in names.LINES:
            return "Line"
        return "None" if self._operation.answer is None else kind_of(self._operation.answer)

    def _value(self, parameter: Parameter) -> str:
        name, schema = parameter.said, without_null(parameter.schema)
        new = {value: key for key, value in names.RENAMED.get(self._operation.id, {}).items()}
        if name == "agent_id" and parameter.place != "path":
            return self._agent
        if (self._operation.id, name) in names.VALUES:
            return names.VALUES[self._operation.id, name]
        if name in new:
            return f'renamed("{new[name]}", {new[name]}, "{name}", {name})'
        if schema.get("type") == "array":
            value = f"items({name})" if named(schema["items"]) else name
            return value if value == name or self._must(parameter) else f"None if {name} is None else {value}"
        if kind_of(schema) == "bool" and not nullable(parameter.schema) and schema.get("default") in (False, "false"):
            return f"{name} or None"
        return name

    def _given(self, place: str, with_what: str = "given") -> str:
        fields = [f"{each.name}={self._value(each)}" for each in self._said if each.place == place and not _any(each)]
        nested: dict[str, list[Parameter]] = {}
        for each in self._said:
            if each.place.startswith(f"{place}."):
                nested.setdefault(each.place.removeprefix(f"{place}."), []).append(each)
        for name, several in nested.items():
            inner = ", ".join(f"{each.name}={self._value(each)}" for each in several)
            fields.append(f"{name}=given({inner}) or None")
        always = ", ".join(f'"{each.name}": {each.said}' for each in self._said if each.place == place and _any(each))
        made = f"{with_what}({', '.join(fields)})" if fields else ""
        return " | ".join(part for part in (f"{{{always}}}" if always else "", made) if part)

    def _call(self) -> str:
        operation, path = self._operation, self._operation.path
        for each in self._said:
            if each.place == "path":
                value = self._agent if each.said == "agent_id" else each.said
                value = f"str({value})" if kind_of(each.schema) == "int" else value
                path = path.replace(f"{{{each.name}}}", f"{{segment({value})}}")
        answer = "NoneType" if self._answer() == "None" else self._answer()
        arguments = [f'"{operation.verb}"', f'f"{path}"' if "{" in path else f'"{path}"', answer]
        if asked := self._given("query", "asked"):
            arguments.append(f"query={asked}")
        if body := self._given("body", "partly" if operation.partial else "given"):
            arguments.append(f"body={body}")
        arguments += self._content()
        first, *also = operation.statuses
        arguments += [f"status={first}"] if first != 200 else []  # noqa: PLR2004
        arguments += [f"also={tuple(also)}"] if also else []
        if operation.id in names.LINES:
            arguments.append(f"lines_until={names.LINES[operation.id]}")
        if operation.id in names.ONCE:
            arguments.append("repeatable=False")
        return f"Call({', '.join(arguments)},)"

    def _content(self) -> Iterator[str]:
        said = {each.said for each in self._said}
        if "lines" in said:
            yield "content=lines_of(lines)"
            yield 'headers={"Content-Type": "application/x-ndjson"}'
        elif "media_type" in said and "content" in said and self._of("content").place == "content":
            yield "content=content"
            yield "headers=media(media_type)"
        if "if_match" in said:
            yield "headers=conditions_of(if_match, if_none_match)"
            yield "repeatable=if_match is None and if_none_match is None"
        if "idempotency_key" in said:
            yield "headers=once(idempotency_key)"


def modules(types: Types) -> Iterator[tuple[str, str]]:
    """Give each module's name and text, and those of the package."""
    groups: dict[str, list[Operation]] = {}
    for operation in types.document.operations:
        groups.setdefault(operation.group, []).append(operation)
    for group, operations in groups.items():
        head = HEAD.format(title=f"Operations: {group.replace('_', ' ')}.")
        functions = "\n".join(Writer(each).function() for each in operations)
        here = [name for name in types.place if name in functions]
        imported = f"from memory_gateway_client.types import {', '.join(sorted(here))}\n" if here else ""
        yield group, f"{head}{_IMPORTS}{imported}\n\n{functions}"
    title = "Every operation of the service, as a method of both clients."
    imports = (
        "from memory_gateway_client.methods import Method, Streamed\nfrom memory_gateway_client.operations import (\n"
    )
    imports += "".join(f"    {group} as _{group},\n" for group in sorted(groups)) + ")\n"
    lines = []
    for group, operations in groups.items():
        for each in operations:
            kind = "Streamed" if each.id in names.LINES else "Method"
            lines.append(f"    {method_of(each)} = {kind}(_{group}.{method_of(each)})")
    lines += [f"    {alias} = {method}" for alias, method in names.ALIASES.items()]
    body = 'class Operations:\n    """The operations, by their names."""\n\n' + "\n".join(lines)
    yield "__init__", f"{HEAD.format(title=title)}{imports}\n\n{body}\n"


def _any(parameter: Parameter) -> bool:
    """Whether null is a value like any other, so that it is sent."""
    return parameter.place == "body" and parameter.required and kind_of(parameter.schema) == "Any"
