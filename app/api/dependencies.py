"""What a route asks for by type: who is calling, and that tenant's gateway."""

from typing import Annotated

import structlog
from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.auth import Principal
from app.errors import FieldError, InvalidRequest, Unauthenticated, UnsupportedMediaType
from app.gateway import LongTermMemoryGateway
from app.runtime import Runtime

_bearer = HTTPBearer(
    auto_error=False, bearerFormat="JWT", description="A credential from `memory-gateway token`: it names the tenant."
)


async def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _principal(
    runtime: Annotated[Runtime, Depends(_runtime)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    if bearer is None:
        raise Unauthenticated("Send a credential: Authorization: Bearer <token>.")
    principal = runtime.credentials.verify(bearer.credentials)
    structlog.contextvars.bind_contextvars(tenant=principal.tenant_id)
    return principal


async def _administrator(principal: Annotated[Principal, Depends(_principal)]) -> Principal:
    principal.check_admin()
    return principal


async def _gateway(
    runtime: Annotated[Runtime, Depends(_runtime)], principal: Annotated[Principal, Depends(_principal)]
) -> LongTermMemoryGateway:
    return runtime.gateway(principal.tenant_id)


async def no_query(request: Request) -> None:
    """Refuse query parameters on a route that takes none."""
    if request.query_params:
        names = sorted(set(request.query_params))
        errors = [FieldError(name, "is not a parameter of this request") for name in names]
        raise InvalidRequest("This request takes no query parameters.", errors=errors)


async def json_only(request: Request, _: Annotated[Principal, Depends(_principal)]) -> None:
    """Refuse, once the caller is known, a body that is not sent as JSON, and query parameters."""
    media_type = request.headers.get("content-type", "").split(";")[0]
    if media_type.strip().lower() != "application/json":
        raise UnsupportedMediaType("Send the body as Content-Type: application/json.")
    await no_query(request)


RuntimeOf = Annotated[Runtime, Depends(_runtime)]
Caller = Annotated[Principal, Depends(_principal)]
"""Anyone with a credential of the scope ``memory``."""
Administrator = Annotated[Principal, Depends(_administrator)]
"""Anyone with a credential of the scope ``memory admin``."""
Gateway = Annotated[LongTermMemoryGateway, Depends(_gateway)]
"""A fresh gateway, bound to the caller's tenant."""
