"""The route that takes back what a credential has written."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from app.domain.errors import QuotaExceeded
from app.interfaces.http.dependencies import Administrator, CredentialFirst, no_query
from app.interfaces.http.failures import ACCESS, WRITES
from app.interfaces.http.problems import responses
from app.interfaces.http.schemas.credentials import CredentialId, UndoAnswer
from app.services.undo import UndoReceipt

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
