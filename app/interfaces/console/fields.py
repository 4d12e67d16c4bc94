"""The fields of a form or of a query, as the pages read them: texts, without the white space around them."""

import json
import re
from collections.abc import Mapping
from typing import cast
from urllib.parse import parse_qsl

from starlette.requests import Request

from app.domain.errors import FieldError, MalformedRequest, UnsupportedMediaType
from app.domain.json_types import Scalar
from app.domain.moments import format_moment, milliseconds, parse_moment_or_day
from app.interfaces.fields import refused

_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 60
_MAX_DIGITS = 15
_SHOWN = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::(\d{2}))?(?: ?UTC)?", re.ASCII)
"""A moment as pages show it, and as a field for a day and a time sends it."""
_NO_MOMENT = "must be a day of the calendar, as 2026-01-31, or a moment, as 2026-01-31 09:30:00 (UTC)"


class FormFields:
    """FormFields by their names. One that is left empty counts as not given."""

    def __init__(self, given: Mapping[str, str]) -> None:
        """Take the texts; a browser ends lines with CR LF, and a memory with LF."""
        self._given = {name: text.replace("\r\n", "\n").strip() for name, text in given.items()}

    @classmethod
    def of_query(cls, request: Request) -> "FormFields":
        """Return the fields of a request's query; of those that come twice, the last."""
        return cls(dict(request.query_params.multi_items()))

    @classmethod
    async def of_form(cls, request: Request) -> "FormFields":
        """Return the fields of a form that was sent.

        Raises:
            UnsupportedMediaType, MalformedRequest: the body is no form.
            ContentTooLarge: the body is too large.
        """
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != _FORM:
            raise UnsupportedMediaType(f"Send the form as Content-Type: {_FORM}.")
        try:
            body = (await request.body()).decode("ascii")
            fields = parse_qsl(body, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
        except ValueError as error:
            raise MalformedRequest("The form cannot be read.") from error
        return cls(dict(fields))

    def __getitem__(self, name: str) -> str:
        """Return a field's text, the empty one where it is not given."""
        return self._given.get(name, "")

    def get(self, name: str) -> str | None:
        """Return a field's text; None where it is not given."""
        return self._given.get(name) or None

    def required(self, name: str) -> str:
        """Return a field's text; raises ``InvalidRequest`` where it is not given."""
        text = self[name]
        if not text:
            raise refused([FieldError(name, "is missing")])
        return text

    def number(self, name: str, usual: int) -> int:
        """Return a field's whole number; raises ``InvalidRequest`` where it is none."""
        text = self[name]
        if not text:
            return usual
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            raise refused([FieldError(name, "must be a whole number")])
        return int(text)

    def share(self, name: str, usual: float) -> float:
        """Return a field's number; raises ``InvalidRequest`` where it is none."""
        try:
            return float(self[name]) if self[name] else usual
        except ValueError as error:
            raise refused([FieldError(name, "must be a number")]) from error

    def moment(self, name: str, *, to_its_end: bool = False) -> int | None:
        """Return a field's day or moment, in ms since the epoch; None where it is not given.

        A moment has the form of the pages, in UTC and with seconds or without, or that of RFC 3339. With ``to_its_end``
        one of the pages' form is the end of that second or minute, so that what the page shows for it is within.

        Raises:
            InvalidRequest: it has another form.
        """
        text = self[name]
        if not text:
            return None
        match = _SHOWN.fullmatch(text)
        try:
            if match is None:
                return milliseconds(parse_moment_or_day(text))
            day, minute, second = match.groups()
            begin = milliseconds(parse_moment_or_day(f"{day}T{minute}:{second or '00'}Z"))
        except ValueError as error:
            raise refused([FieldError(name, _NO_MOMENT)]) from error
        return begin + ((59_999 if second is None else 999) if to_its_end else 0)

    def pairs(self, name: str) -> dict[str, Scalar]:
        """Return the lines ``key=value`` of a field: a number, ``true``, ``false`` and ``null`` are what JSON says.

        Raises:
            InvalidRequest: a line has another form.
        """
        pairs: dict[str, Scalar] = {}
        for line in filter(None, map(str.strip, self[name].splitlines())):
            key, equals, value = line.partition("=")
            if not equals or not key.strip():
                raise refused([FieldError(name, "must be lines as key=value")])
            pairs[key.strip()] = _scalar(value.strip())
        return pairs


def shown_moment(milliseconds_: int) -> str:
    """Return a moment as pages show it: to the second, in UTC; ``FormFields.moment`` reads it."""
    return format_moment(milliseconds_)[:19].replace("T", " ")


def pairs_text(pairs: Mapping[str, Scalar]) -> str:
    """Return lines from which ``FormFields.pairs`` reads these pairs."""
    plain = {key: value for key, value in pairs.items() if isinstance(value, str) and _scalar(value) == value}
    return "\n".join(f"{key}={plain[key] if key in plain else json.dumps(value)}" for key, value in pairs.items())


def _scalar(text: str) -> Scalar:
    """Return what JSON says that a text is, where it is no list or object; else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, list | dict) else cast("Scalar", value)
