"""The page of administrative acts: who did what to the tenant's data, and which attempts were refused."""

from typing import Any, Final

from app.domain.acts import ActFilter
from app.domain.errors import InvalidRequest
from app.interfaces.console.act_words import ACT_CHOICES, OUTCOME_WORDS
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.cursors import Listing

page: Final = ConsolePage(
    "acts",
    "Administrative acts",
    "What was done to the tenant's data beside storing and recalling, by whom, and which attempts were refused.",
    "Operation",
    "tenant",
)
FIELDS = ("act", "outcome", "credential", "after", "before")
_PAGE = 50


@page.get("", "admin")
async def listing(visit: Visit) -> View:
    """List the acts that pass the filter, newest first."""
    query = visit.query
    asked = {name: query[name] for name in FIELDS}
    shown: dict[str, Any] = {"asked": asked, "groups": ACT_CHOICES, "outcomes": OUTCOME_WORDS}
    shown["names"] = {"credential_id": "credential"}
    services = visit.entry.every_agent()
    try:
        where = ActFilter(
            act=query.get("act"),
            credential_id=query.get("credential"),
            outcome=query.get("outcome"),
            after=query.moment("after"),
            before=query.moment("before"),
        )
        of_page = Listing(visit.entry, "acts", query.get("cursor"), where=where)
        found = await services.acts.list(where, limit=_PAGE, after=of_page.after)
    except InvalidRequest as refusal:
        return View.of("acts.html", refusal.status, acts=[], cursor=None, refusal=refusal, **shown)
    return View.of("acts.html", acts=found.items, cursor=of_page.cursor(found.after), refusal=None, **shown)
