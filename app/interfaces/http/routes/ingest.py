"""The routes that ingest conversations into a profile, which is an agent by another name."""

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel
from starlette.responses import JSONResponse

from app.domain.errors import (
    Erasing,
    NotFound,
    OperationRunning,
)
from app.interfaces.http.conversations import conversation_body, read_conversation
from app.interfaces.http.dependencies import BodylessWriteCaller, DryRunCaller, ReadCaller
from app.interfaces.http.failures import RECALL, STORE
from app.interfaces.http.long_body import announced
from app.interfaces.http.middleware import INGEST_BYTES
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.ingest import IngestAnswer, IngestHead, IngestionAnswer, IngestMessage
from app.interfaces.http.schemas.operations import OperationId
from app.interfaces.http.schemas.store import AgentId
from app.services.ingest.dry_run import MAX_PASSES, SECONDS
from app.storage.ingestions import Ingestion

_DRY_RUN = (
    f"Show what would become of the messages and what a language model would learn, and write nothing. What it would "
    f"take more than {MAX_PASSES} passes to read is refused; what it has not answered within {SECONDS:.0f} seconds has "
    "failed. What it costs counts."
)
_LOCATION = {"headers": {"Location": {"description": "Where to ask how far it is.", "schema": {"type": "string"}}}}

ingests = Router("profiles")


@ingests.post(
    "/profiles/{profile}/ingest",
    *STORE,
    answers={
        202: {"model": IngestAnswer, "description": "Some messages wait: it goes on after this answer.", **_LOCATION}
    },
    response_model=IngestAnswer,
    response_model_exclude_none=True,
    openapi_extra=conversation_body("IngestRequest"),
)
async def ingest(
    caller: DryRunCaller,
    profile: AgentId,
    request: Request,
    dry_run: Annotated[bool, Query(description=_DRY_RUN, examples=[True])] = False,  # noqa: FBT002 - FastAPI calls by keyword
) -> Response:
    """Take a conversation: each message becomes a memory. The same messages again change nothing, as the answer says.

    What takes longer than 20 seconds, or has to wait for a part of the service, is answered with 202 and the same
    fields: the operation tells when the messages that wait are memories. What a language model learns of the messages,
    where one is set, comes after the answer: the operation tells it.
    """
    services = caller.agent(profile)
    async with services.backends.admission.conversation(announced(request, INGEST_BYTES)):
        messages, head = await read_conversation(request, IngestMessage, IngestHead)
        ingester = services.of_run(head.run_id).ingester
        if dry_run:
            shown = await ingester.dry_run(profile, messages, head.session_id)
            return JSONResponse(IngestAnswer.of_dry_run(shown).model_dump(exclude_none=True))
        ingestion = await ingester.ingest(profile, messages, head.session_id)
    return _answered(IngestAnswer.of(ingestion), ingestion, goes_on=ingestion.waits)


@ingests.get("/profiles/{profile}/operations/{operation_id}", NotFound, response_model_exclude_none=True)
async def ingestion(caller: ReadCaller, profile: AgentId, operation_id: OperationId) -> IngestionAnswer:
    """Tell how far an ingestion of the profile is, and what a language model has learned of its messages."""
    ingester = caller.agent(profile).ingester
    found = await ingester.ingestion(profile, operation_id)
    return IngestionAnswer.of(found, await ingester.learning(found))


@ingests.post(
    "/profiles/{profile}/operations/{operation_id}/retry",
    NotFound,
    OperationRunning,
    Erasing,
    *RECALL,
    body=(),
    answers={202: {"model": IngestionAnswer, "description": "It goes on after this answer.", **_LOCATION}},
    response_model=IngestionAnswer,
    response_model_exclude_none=True,
)
async def retry(caller: BodylessWriteCaller, profile: AgentId, operation_id: OperationId) -> Response:
    """Learn again what a language model has failed to learn of an ingestion; where nothing has failed, do nothing.

    Messages that were not stored have to be sent again. What the undo of its run has ended stays ended.
    """
    ingester = caller.agent(profile).ingester
    found = await ingester.retry(profile, operation_id)
    answer = IngestionAnswer.of(found, await ingester.learning(found))
    return _answered(answer, found, goes_on=found.finished_at is None)


def _answered(answer: BaseModel, ingestion: Ingestion, *, goes_on: bool) -> Response:
    """Answer with 202 and where to ask on, where an ingestion goes on after the answer."""
    body = answer.model_dump(exclude_none=True)
    if not goes_on:
        return JSONResponse(body)
    location = f"/profiles/{ingestion.agent_id}/operations/{ingestion.id}"
    return JSONResponse(body, status_code=202, headers={"Location": location})
