"""The routes that ingest conversations into a profile, which is an agent by another name."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import ValidationError
from starlette.responses import JSONResponse

from app.domain.errors import (
    Erasing,
    FieldError,
    InvalidRequest,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    Unavailable,
)
from app.domain.limits import MAX_MESSAGES
from app.domain.messages import NewMessage
from app.interfaces.fields import invalid, refused
from app.interfaces.http.dependencies import Caller, CredentialFirst, no_query
from app.interfaces.http.failures import ACCESS, BODY, UPSTREAM, WRITES
from app.interfaces.http.long_body import members
from app.interfaces.http.middleware import INGEST_BYTES
from app.interfaces.http.problems import responses
from app.interfaces.http.schemas.ingest import IngestAnswer, IngestHead, IngestionAnswer, IngestMessage
from app.interfaces.http.schemas.operations import OperationId
from app.interfaces.http.schemas.store import AgentId

_MAX_NAMED = 20
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"At most {INGEST_BYTES} bytes. It is read message by message.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/IngestRequest"}}},
    }
}
_LOCATION = {"headers": {"Location": {"description": "Where to ask how far it is.", "schema": {"type": "string"}}}}

ingests = APIRouter(tags=["profiles"], route_class=CredentialFirst)


@ingests.post(
    "/profiles/{profile}/ingest",
    response_model=IngestAnswer,
    response_model_exclude_none=True,
    responses={
        202: {"model": IngestionAnswer, "description": "It goes on after this answer.", **_LOCATION},
        **responses(*ACCESS, *BODY, Erasing, LongTermDisabled, QuotaExceeded, *WRITES),
    },
    openapi_extra=_BODY,
)
async def ingest(caller: Caller, profile: Annotated[AgentId, Path()], request: Request) -> Response:
    """Take a conversation: each message becomes a memory. The same messages again change nothing, as the answer says.

    What takes longer than 20 seconds, or has to wait for a part of the service, is answered with the operation.
    """
    services = caller.agent(profile)
    async with services.backends.ingest_room(_announced(request)):
        messages, head = await _read(request)
        ingestion = await services.ingester.ingest(profile, messages, head.session_id)
    if ingestion.items:
        return JSONResponse(IngestAnswer.of(ingestion).model_dump(exclude_none=True))
    location = f"/profiles/{profile}/operations/{ingestion.id}"
    body = IngestionAnswer.of(ingestion).model_dump(exclude_none=True)
    return JSONResponse(body, status_code=202, headers={"Location": location})


@ingests.get(
    "/profiles/{profile}/operations/{operation_id}",
    dependencies=[Depends(no_query)],
    response_model_exclude_none=True,
    responses=responses(*ACCESS, NotFound, InvalidRequest, Unavailable, *UPSTREAM),
)
async def ingestion(
    caller: Caller, profile: Annotated[AgentId, Path()], operation_id: Annotated[OperationId, Path()]
) -> IngestionAnswer:
    """Tell how far an ingestion of the profile is."""
    found = await caller.agent(profile).ingester.ingestion(profile, operation_id)
    return IngestionAnswer.of(found)


def _announced(request: Request) -> int:
    """Return how many bytes the body has, as far as that is said."""
    length = request.headers.get("content-length", "")
    return min(int(length), INGEST_BYTES) if length.isdigit() else INGEST_BYTES


async def _read(request: Request) -> tuple[Sequence[NewMessage], IngestHead]:
    """Read a conversation; raises ``InvalidRequest`` and what is below it, which names each field that is wrong."""
    messages: list[NewMessage] = []
    beside: dict[str, Any] = {}
    errors: list[dict[str, Any]] = []
    given = False
    async for name, number, value in members(request, "messages"):
        given = given or name == "messages"
        if number is None:
            beside |= {} if name == "messages" and value == [] else {name: value}
            continue
        if number == MAX_MESSAGES:
            raise refused([FieldError("messages", f"has more than {MAX_MESSAGES} messages")])
        try:
            messages.append(IngestMessage.model_validate(value).to_message())
        except ValidationError as error:
            errors += _located(error, "messages", number)
            if len(errors) >= _MAX_NAMED:
                break
    if not given:
        errors.append({"type": "missing", "loc": ("body", "messages"), "msg": "Field required"})
    elif "messages" in beside:
        beside.pop("messages")
        errors.append({"type": "list_type", "loc": ("body", "messages"), "msg": "Input should be a valid list"})
    try:
        head = IngestHead.model_validate(beside)
    except ValidationError as error:
        errors += _located(error)
    if errors:
        raise invalid(errors)
    return messages, head


def _located(error: ValidationError, *path: str | int) -> list[dict[str, Any]]:
    return [{**each, "loc": ("body", *path, *each["loc"])} for each in error.errors()]
