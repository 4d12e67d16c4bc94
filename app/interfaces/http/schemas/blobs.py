"""Requests and answers about blobs."""

from typing import Annotated, Any, TypeAlias

from pydantic import AliasPath, ConfigDict, Field

from app.domain import limits
from app.interfaces.fields import Answer, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit
from app.interfaces.http.schemas.optional import OptionalCount, TextWithin, old_name

BLOB: dict[str, Any] = {
    "blob_id": examples.MEMORY_ID,
    "sha256": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    "bytes": 11,
    "media_type": "text/plain",
    "created_at": examples.MOMENT,
}

BlobId: TypeAlias = Annotated[str, Field(json_schema_extra={"examples": [examples.MEMORY_ID]}), Within(limits.BLOB_ID)]
BlobOwner: TypeAlias = Annotated[
    str | None,
    TextWithin(limits.AGENT_ID, examples.AGENT_ID),
    Field(description="The agent whose blob it is; absent: the tenant's own, which all of its agents may read."),
]


class BlobQuery(Request):
    """Whose blob."""

    agent_id: BlobOwner = None


class BlobListQuery(BlobQuery):
    """Which blobs to list."""

    limit: Annotated[ListLimit, Field(description="The most blobs of one answer.")] = 20
    cursor: ListCursor = None


class BlobAnswer(Answer):
    """A blob without its bytes."""

    model_config = ConfigDict(json_schema_extra={"examples": [BLOB]})

    blob_id: str = Field(validation_alias="id")
    sha256: str = Field(description="Of its bytes, in hexadecimal digits.")
    bytes: int = Field(validation_alias=AliasPath("size"), description="In bytes.")
    size: OptionalCount = old_name("bytes")
    media_type: str = Field(description="As its sender said.")
    created_at: Timestamp


class BlobListAnswer(Answer):
    """Blobs, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"blobs": [BLOB]}]})

    blobs: list[BlobAnswer]
    cursor: str | None = Field(None, description="For the next page; absent at the end.")
