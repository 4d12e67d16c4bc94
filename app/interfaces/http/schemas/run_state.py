"""Requests and answers of the routes for what a run keeps in working memory: its turn state and its log."""

import re
from dataclasses import replace
from typing import Annotated, Any, Self, TypeAlias

from fastapi import Path
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.working import WorkingKey
from app.interfaces.fields import Answer, Digits, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.working import BIG, HELD, VALUE, EntityTag, Given, TtlSeconds

RUN_ID = "01K2Z7A1B2C3D4E5F6G7H8J9KM"
_NUMBER = 1_790_000_000_002
_STATE: dict[str, Any] = {"run_id": RUN_ID, **{name: value for name, value in HELD.items() if name != "key"}}
_ENTRY: dict[str, Any] = {
    "number": _NUMBER,
    "entry": {"tool": "search", "ms": 120},
    "created_at": examples.MOMENT,
    "expires_at": examples.MOMENT,
}

RunId: TypeAlias = Annotated[str, Path(description="The run.", examples=[RUN_ID]), Within(limits.RUN_ID)]

_VERSION = re.compile(r"\d{1,16}", re.ASCII)


def _long_digits(value: object) -> object:
    """Accept the digits of a query parameter, as many as a version has."""
    if isinstance(value, str) and not _VERSION.fullmatch(value):
        raise ValueError("must be an integer")
    return value


class TurnStateWritten(Answer):
    """The turn state of a run that was set."""

    model_config = ConfigDict(json_schema_extra={"examples": [_STATE]})

    run_id: str = Field(validation_alias="key")
    etag: EntityTag
    version: int = Field(description="It rises with every write, and never comes back.", json_schema_extra=BIG)
    bytes: int = Field(description="What it counts in the budget of the instance that is named as the run.")
    expires_at: Timestamp

    @classmethod
    def of(cls, run_id: str, state: WorkingKey) -> Self:
        """Make it of what a run holds."""
        return cls.model_validate(replace(state, key=run_id))


class TurnStateAnswer(TurnStateWritten):
    """The turn state of a run."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_STATE, "value": VALUE}]})

    value: Given


class RunLogEntries(Request):
    """Entries for the log of a run."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"entries": [{"tool": "search", "ms": 120}]}]})

    entries: Annotated[
        list[Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": True})]],
        Field(
            min_length=1,
            max_length=limits.MAX_LOG_ENTRIES,
            description=f"Any JSON objects. A run's log holds at most {limits.LOG_BYTES} bytes of them.",
        ),
    ]
    ttl_seconds: TtlSeconds = limits.WORKING_TTL_SECONDS


class RunLogAppended(Answer):
    """What was appended to the log of a run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"appended": 1, "last": _NUMBER, "expires_at": examples.MOMENT}]}
    )

    appended: int
    last: int = Field(description="The number of the last entry.", json_schema_extra=BIG)
    expires_at: Timestamp


class RunLogEntry(Answer):
    """An entry of a run's log."""

    number: int = Field(description="It rises from entry to entry, not always by one.", json_schema_extra=BIG)
    entry: Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": True})]
    created_at: Timestamp
    expires_at: Timestamp


class RunLogAnswer(Answer):
    """A page of a run's log, oldest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"entries": [_ENTRY], "after": _NUMBER}]})

    entries: list[RunLogEntry]
    after: int | None = Field(None, description="Ask with this for the next page. Absent: there is no more.")


class RunLogQuery(Request):
    """Which entries of a run's log."""

    limit: Annotated[int, Digits, Within(limits.LIST_LIMIT), Field(examples=[100])] = limits.MAX_LOG_ENTRIES
    after: Annotated[
        int,
        BeforeValidator(_long_digits),
        Within(limits.LOG_NUMBER),
        Field(description="Only entries with a higher number.", json_schema_extra=BIG, examples=[_NUMBER]),
    ] = 0
