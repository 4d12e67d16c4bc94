"""Requests and answers of the routes about credentials."""

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field

from app.domain import limits
from app.interfaces.fields import Answer, Timestamp, Within
from app.interfaces.http.schemas import examples

CredentialId: TypeAlias = Annotated[
    str,
    Field(description="Its claim `jti`.", json_schema_extra={"examples": [examples.CREDENTIAL_ID]}),
    Within(limits.CREDENTIAL_ID),
]


class UndoAnswer(Answer):
    """The receipt: what was taken back. The credential is revoked."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.UNDONE]})

    credential_id: str
    memories: int = Field(description="Memories that it had written, deleted.")
    changed: int = Field(
        description="Memories of others that lost the metadata keys that it had brought, or that it had forgotten."
    )
    outcomes: int = Field(description="Outcomes of workflows that it had reported: they count no more.")
    more: bool = Field(description="Whether there is more, since one call has an end: call again.")
    finished_at: Timestamp
