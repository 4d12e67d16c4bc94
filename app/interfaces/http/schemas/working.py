"""Requests and answers of the routes for working memory: keys, turn state and the log of a run."""

from typing import Annotated, Any, TypeAlias

from fastapi import Path
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from starlette.convertors import StringConvertor, register_url_convertor

from app.domain import limits
from app.interfaces.fields import Answer, Number, Request, Timestamp, Within
from app.interfaces.http.preconditions import etag
from app.interfaces.http.schemas import examples
from app.interfaces.json_schemas import ANY_JSON_SCHEMA

INSTANCE = "worker-1"
VALUE: dict[str, Any] = {"step": 3, "todo": ["ask for the invoice"]}
HELD: dict[str, Any] = {
    "key": "plan",
    "etag": '"1790000000001"',
    "version": 1_790_000_000_001,
    "bytes": 46,
    "expires_at": examples.MOMENT,
}

BIG: dict[str, Any] = {"format": "int64"}


Instance: TypeAlias = Annotated[
    str,
    Path(description="One running copy of the agent.", examples=[INSTANCE]),
    Within(limits.INSTANCE),
]


class _KeyConvertor(StringConvertor):
    """A key in a path: what is said there of a window is none."""

    regex = "(?!(?:messages|window)$)[^/]+"


register_url_convertor("working_key", _KeyConvertor())
WorkingKey: TypeAlias = Annotated[str, Path(description="The key.", examples=["plan"]), Within(limits.WORKING_KEY)]
TtlSeconds: TypeAlias = Annotated[
    int,
    Number,
    Within(limits.WORKING_TTL),
    Field(description="How long it lives from now on, in seconds."),
]
AnyValue: TypeAlias = Annotated[
    Any,
    Within(limits.WORKING_VALUE),
    WithJsonSchema(
        {
            **ANY_JSON_SCHEMA,
            "description": (
                f"Any JSON, nested at most {limits.JSON_DEPTH} deep. All keys and values of the instance have at most "
                f"{limits.WORKING_BYTES} bytes."
            ),
        }
    ),
]
EntityTag: TypeAlias = Annotated[
    str, BeforeValidator(etag), Field(validation_alias="version", description="As the header `ETag` says it.")
]
Given: TypeAlias = Annotated[Any, WithJsonSchema({"description": "Any JSON."})]


class WorkingRequest(Request):
    """A value to keep for a while."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": VALUE, "ttl_seconds": 600}]})

    value: AnyValue
    ttl_seconds: TtlSeconds = limits.WORKING_TTL_SECONDS


class WorkingWritten(Answer):
    """A value that was set."""

    model_config = ConfigDict(json_schema_extra={"examples": [HELD]})

    key: str
    etag: EntityTag
    version: int = Field(description="It rises with every write, and never comes back.", json_schema_extra=BIG)
    bytes: int = Field(description="Of the key and of the value as JSON, in UTF-8.")
    expires_at: Timestamp


class WorkingValue(WorkingWritten):
    """What a key holds."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**HELD, "value": VALUE}]})

    value: Given


class WorkingBudget(Answer):
    """How much an instance holds, in bytes of keys and values."""

    used_bytes: int
    limit_bytes: int


class WorkingAnswer(Answer):
    """All keys of an instance, and its budget."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "keys": [{**HELD, "value": VALUE}],
                    "budget": {"used_bytes": 46, "limit_bytes": limits.WORKING_BYTES},
                }
            ]
        }
    )

    keys: list[WorkingValue]
    budget: WorkingBudget
