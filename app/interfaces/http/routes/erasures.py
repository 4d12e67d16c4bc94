"""The routes that erase an agent or the whole tenant, and show an erasure's progress."""

from typing import Annotated

from fastapi import Query, Response

from app.domain.errors import FieldError, NotFound
from app.interfaces.fields import refused
from app.interfaces.http.dependencies import Administrator
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.operations import EraseTenantQuery, OperationAnswer, OperationId
from app.interfaces.http.schemas.store import AgentId
from app.storage.erasures import Erasure

erasures = Router("memory")


@erasures.delete(
    "/agents/{agent_id}",
    act="agent.erase",
    status_code=202,
    response_model=OperationAnswer,
    response_model_exclude_none=True,
)
async def erase_agent(caller: Administrator, agent_id: AgentId, response: Response) -> Erasure:
    """Begin to erase everything of an agent, as an administrator. An erasure under way is returned instead."""
    return _accepted(await caller.agent(agent_id).gateway.erase(agent_id), response)


@erasures.delete(
    "/tenant",
    act="tenant.erase",
    status_code=202,
    response_model=OperationAnswer,
    response_model_exclude_none=True,
)
async def erase_tenant(
    caller: Administrator, query: Annotated[EraseTenantQuery, Query()], response: Response
) -> Erasure:
    """Begin to erase everything of the tenant, as an administrator. An erasure under way is returned instead.

    `confirm` names the tenant once more, so that a credential that was taken by mistake erases nothing.
    """
    caller.principal.check_every_agent()
    if query.confirm != caller.principal.tenant_id:
        raise refused([FieldError("confirm", "must be the tenant that the credential names; nothing was erased")])
    services, _ = caller.tenant()
    return _accepted(await services.gateway.erase(None), response)


@erasures.get("/operations/{operation_id}", NotFound, response_model=OperationAnswer, response_model_exclude_none=True)
async def operation(caller: Administrator, operation_id: OperationId) -> Erasure:
    """Tell how far an erasure is; once it is done, with its receipt."""
    services, only_agent = caller.tenant()
    return await services.gateway.erasure(operation_id, only_agent=only_agent)


def _accepted(erasure: Erasure, response: Response) -> Erasure:
    response.headers["Location"] = f"/operations/{erasure.id}"
    return erasure
