"""Requests and answers of the routes for administrative acts."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from app.domain import limits
from app.interfaces.fields import Answer, Request, Timestamp
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.audit import OBJECT
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, next_cursor
from app.interfaces.http.schemas.optional import (
    OptionalEndMs,
    OptionalMs,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_none,
)

ACT: dict[str, Any] = {
    "number": 7,
    "id": examples.MEMORY_ID,
    "act": "agent.erase",
    "outcome": "done",
    "channel": "http",
    "credential_id": examples.CREDENTIAL_ID,
    "request_id": "709a63a769b71784720db39aedab3274",
    "subject": {"agent_id": examples.AGENT_ID},
    "counts": {},
    "attempts": 1,
    "begun_at": examples.MOMENT,
    "ended_at": examples.MOMENT,
    "signature": "0" * 64,
}


class ActsQuery(Request):
    """Which acts to list. All conditions must hold."""

    act: Annotated[
        str | None,
        TextWithin(limits.ACT, "agent.erase"),
        Field(description="Only of this name, such as `agent.erase`."),
    ] = None
    credential_id: Annotated[
        str | None,
        TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID),
        Field(description="Only what the credential with this id has done, or tried."),
    ] = None
    outcome: Annotated[
        str | None,
        TextWithin(limits.ACT, "refused"),
        Field(description="Only what ended so: `begun` (it has not ended), `done`, `failed`, `refused`."),
    ] = None
    after: Annotated[OptionalMs, Field(description="Begun later than this.")] = None
    before: Annotated[OptionalEndMs, Field(description="Begun earlier than this.")] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class ActAnswer(Answer):
    """An administrative act, or the attempts of a credential in a day that were refused."""

    number: int = Field(description="The rows of a tenant are numbered without gaps.")
    id: str
    act: str
    outcome: str = Field(description="`begun`: it has not ended, or was killed. `done`, `failed`, `refused`.")
    code: OptionalText = absent_if_none("Of the error in which it ended.")
    channel: str
    credential_id: OptionalText = absent_if_none("Absent: a command, or it is not known.")
    operator: OptionalText = absent_if_none("Who ran a command, as the operating system names them.")
    request_id: OptionalText = absent_if_none()
    subject: Annotated[dict[str, Any], OBJECT] = Field(
        description="The ids that it names. Null: what was named has not the form of an id, and is not kept."
    )
    counts: Annotated[dict[str, Any], OBJECT] = Field(description="How many things it concerned.")
    attempts: int = Field(description="How many attempts were refused; 1 for an act.")
    begun_at: Timestamp
    ended_at: OptionalTimestamp = absent_if_none("Of attempts that were refused: the last.")
    signature: OptionalText = absent_if_none("Absent until it has ended. `memory-gateway acts verify` checks it.")


class ActsAnswer(Answer):
    """Administrative acts, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"acts": [ACT]}]})

    acts: list[ActAnswer]
    cursor: OptionalText = next_cursor()
