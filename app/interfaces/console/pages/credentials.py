"""The page of the tenant's credentials, where one is revoked."""

from typing import Any, Final

from app.domain.errors import InvalidRequest
from app.interfaces.console.page import ConsolePage, See, View, Visit
from app.interfaces.cursors import Listing
from app.storage.credentials import CredentialFilter

page: Final = ConsolePage(
    "credentials",
    "Credentials",
    "Who may call the service for this tenant, since when, and when each was last used. No token is shown.",
    "Operation",
    "tenant",
)
_PAGE = 50
_DONE = {"revoked": "The credential is revoked. Within 30 seconds every replica refuses it."}


@page.get("", "admin")
async def listing(visit: Visit) -> View:
    """List the credentials, newest first."""
    query = visit.query
    asked = {name: query[name] for name in ("agent_id", "minted_by")}
    shown: dict[str, Any] = {"asked": asked, "done": _DONE.get(query["done"]), "now": visit.entry.now()}
    services = visit.entry.every_agent()
    try:
        where = CredentialFilter(query.get("agent_id"), query.get("minted_by"))
        conditions = {"agent_id": where.agent_id, "minted_by": where.minted_by}
        of_page = Listing(visit.entry, "credentials", query.get("cursor"), **conditions)
        found = await services.credentials.list(where, limit=_PAGE, after=of_page.after)
    except InvalidRequest as refusal:
        return View.of("credentials.html", refusal.status, credentials=[], cursor=None, refusal=refusal, **shown)
    cursor = of_page.cursor(found.after)
    return View.of("credentials.html", credentials=found.items, cursor=cursor, refusal=None, **shown)


@page.get("/{credential_id}/revoke", "admin")
async def ask(visit: Visit) -> View:
    """Ask whether a credential is meant, before it is revoked."""
    visit.entry.every_agent()
    return View.of("revoke.html", credential_id=visit.path["credential_id"], own=visit.principal.credential_id)


@page.post("/{credential_id}/revoke", "admin", act="credential.revoke")
async def revoke(visit: Visit) -> See:
    """Revoke a credential."""
    await visit.entry.every_agent().credentials.revoke(visit.path["credential_id"])
    return See.at("/credentials", done="revoked")
