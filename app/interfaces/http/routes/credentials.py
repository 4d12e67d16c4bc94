"""The routes that take back what a credential has written, and what a run or a session has taught."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from app.domain.errors import NotFound, QuotaExceeded
from app.domain.undoing import Undone
from app.interfaces.http.dependencies import Administrator, CredentialFirst, no_query
from app.interfaces.http.failures import ACCESS, BODY, WRITES
from app.interfaces.http.problems import responses
from app.interfaces.http.schemas.credentials import CredentialId, UndoAnswer
from app.interfaces.http.schemas.undoing import UndoTaughtAnswer, UndoWanted
from app.services.memories.undo import UndoReceipt

credentials = APIRouter(tags=["data"], route_class=CredentialFirst)


@credentials.delete(
    "/credentials/{credential_id}/memories",
    dependencies=[Depends(no_query)],
    response_model=UndoAnswer,
    responses=responses(*ACCESS, QuotaExceeded, *WRITES),
)
async def undo(caller: Administrator, credential_id: Annotated[CredentialId, Path()]) -> UndoReceipt:
    """Revoke a credential and take back all that it has written, as an administrator of all agents."""
    caller.principal.check_every_agent()
    services, _ = caller.tenant()
    return await services.undo.run(credential_id)


@credentials.post(
    "/undo",
    name="undo_learned",
    response_model=UndoTaughtAnswer,
    response_model_exclude_none=True,
    responses=responses(*ACCESS, *BODY, NotFound, QuotaExceeded, *WRITES),
)
async def undo_learned(caller: Administrator, request: UndoWanted) -> Undone:
    """Take back what a run, a session or a credential has taught, as an administrator of all agents; first a dry run.

    What it had superseded holds again. Of a session the window goes too; runs, episodes and the rest of working memory
    stay.
    """
    selected = request.selected()
    service = caller.every_agent().undo_taught
    return await (service.dry_run(selected) if request.dry_run else service.run(selected))
