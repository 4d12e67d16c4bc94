"""The routes that take back what a credential has written, and what a run or a session has taught."""

from app.domain.errors import NotFound, QuotaExceeded
from app.domain.undoing import Selected, Undone
from app.interfaces.http.dependencies import Administrator
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.undoing import CredentialId, UndoAnswer, UndoTaughtAnswer, UndoWanted
from app.services.memories.undo import UndoReceipt

credentials = Router("data")


@credentials.delete(
    "/credentials/{credential_id}/memories", QuotaExceeded, act="credential.undo", response_model=UndoAnswer
)
async def undo(caller: Administrator, credential_id: CredentialId) -> UndoReceipt:
    """Revoke a credential and take back all that it has written, as an administrator of all agents."""
    caller.principal.check_every_agent()
    services, _ = caller.tenant()
    return await services.undo.run(credential_id)


@credentials.post(
    "/undo",
    NotFound,
    QuotaExceeded,
    act="taught.undo",
    response_model=UndoTaughtAnswer,
    response_model_exclude_none=True,
)
async def undo_learned(caller: Administrator, request: UndoWanted) -> Undone:
    """Take back what a run, a session or a credential has taught, as an administrator of all agents; first a dry run.

    What it had superseded holds again. Of a session the window goes too; runs, episodes and the rest of working memory
    stay.
    """
    selected = request.to(Selected)
    service = caller.every_agent().undo_taught
    return await (service.dry_run(selected) if request.dry_run else service.run(selected))
