"""Remembers in a cookie which agent a person has looked at last, so that it is not asked for again.

The cookie is no secret and proves nothing: the services check its agent as they check one that a request names.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.status import HTTP_400_BAD_REQUEST

from app.domain import limits
from app.services.access.credentials import Principal

COOKIE: Final = "__Host-memory-gateway-agent"
_BETWEEN = "|"
"""Stands between the tenant and the agent: the id of neither has it."""


def read(request: Request, principal: Principal) -> str | None:
    """Return the agent that the browser has seen last of the principal's tenant; None: none, or it is no id."""
    tenant_id, _, agent_id = request.cookies.get(COOKIE, "").partition(_BETWEEN)
    good = tenant_id == principal.tenant_id and limits.AGENT_ID.violation(agent_id) is None
    return agent_id if good else None


def remember(request: Request, response: Response, principal: Principal, agent_id: str | None) -> None:
    """Note in the browser the agent that a page was about, unless the credential is for one agent alone."""
    if principal.agent_id is not None or agent_id is None or response.status_code >= HTTP_400_BAD_REQUEST:
        return
    if agent_id != read(request, principal) and limits.AGENT_ID.violation(agent_id) is None:
        response.set_cookie(
            COOKIE,
            f"{principal.tenant_id}{_BETWEEN}{agent_id}",
            path="/",
            secure=True,
            httponly=True,
            samesite="strict",
        )


def forget(response: Response) -> None:
    """Take the cookie from the browser."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")
