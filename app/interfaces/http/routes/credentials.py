"""The routes that list, mint and revoke credentials, and take back what one, a run or a session has brought in."""

from typing import Annotated

from fastapi import Query, Response

from app.domain.errors import InvalidCursor, NotFound, QuotaExceeded
from app.domain.undoing import Selected, Undone
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import Administrator
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.credentials import (
    CredentialsAnswer,
    CredentialsQuery,
    MintedAnswer,
    MintRequest,
    RevokedAnswer,
)
from app.interfaces.http.schemas.undoing import CredentialId, UndoAnswer, UndoTaughtAnswer, UndoWanted
from app.services.memories.undo import UndoReceipt
from app.storage.credentials import CredentialFilter

credentials = Router("data")


@credentials.get("/credentials", InvalidCursor, name="credentials")
async def list_credentials(caller: Administrator, query: Annotated[CredentialsQuery, Query()]) -> CredentialsAnswer:
    """List the tenant's credentials, newest first, as an administrator of all agents; no token is among them.

    A credential is listed from when it was minted, or where that was elsewhere, from soon after its first use.
    """
    where = CredentialFilter(query.agent_id, query.minted_by)
    listing = Listing(caller, "credentials", query.cursor, agent_id=where.agent_id, minted_by=where.minted_by)
    page = await caller.every_agent().credentials.list(where, limit=query.limit, after=listing.after)
    return CredentialsAnswer.model_validate({"credentials": page.items, "cursor": listing.cursor(page.after)})


@credentials.post("/credentials", QuotaExceeded, act="credential.mint", status_code=201)
async def mint_credential(caller: Administrator, request: MintRequest, response: Response) -> MintedAnswer:
    """Mint a credential, as an administrator of all agents. The answer shows its token, and nothing else ever does.

    It reaches no further than the credential that asks for it: neither in its scopes nor in its speakers and its rate.
    """
    minted = await caller.every_agent().credentials.mint(caller.principal, request.wanted())
    response.headers["Cache-Control"] = "no-store"
    return MintedAnswer.model_validate(minted)


@credentials.delete("/credentials/{credential_id}", QuotaExceeded, act="credential.revoke", status_code=200)
async def revoke_credential(caller: Administrator, credential_id: CredentialId) -> RevokedAnswer:
    """Revoke a credential, as an administrator of all agents. Within 30 seconds every replica refuses it.

    What it has written stays; `DELETE /credentials/{credential_id}/memories` takes that back too.
    """
    revoked = await caller.every_agent().credentials.revoke(credential_id)
    told = {"id": credential_id, "revoked_at": revoked.revoked_at, "recorded": revoked.recorded}
    return RevokedAnswer.model_validate(told)


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
    if selected.agent_id is not None:
        caller.principal.check_agent(selected.agent_id)
    service = caller.every_agent().undo_taught
    return await (service.dry_run(selected) if request.dry_run else service.run(selected))
