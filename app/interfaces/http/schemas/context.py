"""Requests and answers of the routes of shared context and of a tenant's configuration."""

import json
from typing import Annotated, Any, TypeAlias

from fastapi import Path
from pydantic import AliasPath, BeforeValidator, ConfigDict, Field, WithJsonSchema
from starlette.convertors import PathConvertor, register_url_convertor

from app.domain import limits
from app.interfaces.fields import Answer, Digits, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.optional import OptionalCount, old_name
from app.interfaces.json_schemas import ANY_OBJECT_SCHEMA

NAME = "house-style"
_CONTENT = "# House style\n\nWrite to customers in Swedish."
_VERSION: dict[str, Any] = {
    "name": NAME,
    "version": 3,
    "sha256": "1d94a1d4ee5e1e1ab5a3f3cbb3e8d25e3a4f43f3a5b83d1ed0c9c8d2a1e44d11",
    "bytes": 45,
    "media_type": "text/markdown",
    "updated_at": examples.MOMENT,
}
_VALUES: dict[str, Any] = {"language": "sv", "limits": {"refund": 100}}
_CONFIGURED: dict[str, Any] = {key: _VERSION[key] for key in ("version", "sha256", "bytes", "updated_at")}


class _NameConvertor(PathConvertor):
    """A name in a path, also one that is none for its slashes; the versions of a document and the assembly are none."""

    regex = r"(?![^/]+/versions$|assemble$)[\s\S]*"


register_url_convertor("context_name", _NameConvertor())
ContextName: TypeAlias = Annotated[str, Path(description="The document.", examples=[NAME]), Within(limits.CONTEXT_NAME)]


class ContextQuery(Request):
    """Which version to read."""

    version: Annotated[
        Annotated[int, Digits, Within(limits.CONTEXT_VERSION)] | None,
        WithJsonSchema({"type": "integer", **limits.CONTEXT_VERSION.schema, "examples": [1]}),
        Field(description="An older version, of the last 20; absent: the document as it is."),
    ] = None


class PutContextRequest(Request):
    """A document that all agents of the tenant read."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": _CONTENT}]})

    content: Annotated[
        str,
        Field(description=f"At most {limits.CONTEXT_BYTES} bytes in UTF-8."),
        Within(limits.CONTEXT_CONTENT),
    ]
    media_type: Annotated[str, Within(limits.MEDIA_TYPE)] = "text/markdown"


class ContextVersionAnswer(Answer):
    """A version of a document."""

    model_config = ConfigDict(json_schema_extra={"examples": [_VERSION]})

    name: str
    version: int = Field(description="It rises with each change; a version of a name never comes back.")
    sha256: str = Field(description="Of the content in UTF-8, in hexadecimal digits.")
    bytes: int = Field(validation_alias=AliasPath("size"), description="Bytes of the content in UTF-8.")
    size: OptionalCount = old_name("bytes")
    media_type: str
    updated_at: Timestamp


class ContextAnswer(ContextVersionAnswer):
    """A document."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_VERSION, "content": _CONTENT}]})

    content: str


class ContextVersionsAnswer(Answer):
    """The versions of a document that are kept, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"versions": [_VERSION]}]})

    versions: list[ContextVersionAnswer]


class ContextListAnswer(Answer):
    """The documents of a tenant, by their names."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"documents": [_VERSION]}]})

    documents: list[ContextVersionAnswer]


class PutConfigurationRequest(Request):
    """A tenant's configuration."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"values": _VALUES}]})

    values: Annotated[
        dict[str, Any],
        Within(limits.CONFIGURATION),
        WithJsonSchema(
            {
                **ANY_OBJECT_SCHEMA,
                "description": f"At most {limits.CONFIGURATION_BYTES} bytes as JSON, nested at most "
                f"{limits.JSON_DEPTH} deep.",
            }
        ),
    ]


class ConfiguredAnswer(Answer):
    """A version of a tenant's configuration."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CONFIGURED]})

    version: int = Field(description="It rises with each change.")
    sha256: str = Field(description="Of the values as compact JSON in UTF-8, in hexadecimal digits.")
    bytes: int = Field(validation_alias=AliasPath("size"), description="Bytes of the values as compact JSON.")
    size: OptionalCount = old_name("bytes")
    updated_at: Timestamp


class ConfigurationAnswer(ConfiguredAnswer):
    """A tenant's configuration."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_CONFIGURED, "values": _VALUES}]})

    values: Annotated[dict[str, Any], BeforeValidator(json.loads), Field(validation_alias="content")]
