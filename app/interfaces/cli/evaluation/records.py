"""Reads a published file: a JSON list, JSON lines or one JSON object, and where in the file each record stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from app.interfaces.cli.evaluation.dataset import DataInvalid, in_form

_PARQUET = b"PAR1"


class PublishedForm(BaseModel):
    """A record of a published file, as far as it is read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def of(cls, record: object, place: str) -> Self:
        """Read a record; raises ``DataInvalid``, which names the place and the field."""
        with in_form(place):
            return cls.model_validate(record)


def records(file: Path) -> Iterator[tuple[str, Any]]:
    """Give each record with its place: ``file[2]`` of a list, ``file:3`` of lines, ``file`` of one object.

    Raises:
        DataInvalid: the file is no JSON, has no record, or is a Parquet file.
    """
    content = file.read_bytes()
    if content.startswith(_PARQUET):
        raise DataInvalid(f"{file.name} is a Parquet file: make JSON lines of it first (docs/evaluate.md)")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataInvalid(f"{file.name} is not UTF-8: {error.reason}") from error
    if not text.strip():
        raise DataInvalid(f"{file.name} is empty")
    if text.lstrip().startswith("[") or not _is_json(text.lstrip().split("\n", 1)[0]):
        whole = _parsed(text, file.name)
        if whole == []:
            raise DataInvalid(f"{file.name} has no record")
        listed = enumerate(whole) if isinstance(whole, list) else ()
        yield from [(f"{file.name}[{at}]", each) for at, each in listed] or [(file.name, whole)]
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{file.name}:{number}"
            yield place, _parsed(line, place)


def kind_of(record: object) -> object:
    """Return what rows of several kinds say of theirs; None of another record."""
    return record.get("kind") if isinstance(record, dict) else None


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _parsed(text: str, place: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataInvalid(f"{place}: no JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
