"""The routes for namespaces, as Cloudflare's Agent Memory has them.

https://developers.cloudflare.com/agent-memory/api/http-api/#namespace-management
"""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query

from app.domain.errors import Conflict, InvalidCursor, InvalidRequest, NamespaceExists, NotFound, QuotaExceeded
from app.interfaces.cursors import Listing
from app.interfaces.http import envelope
from app.interfaces.http.dependencies import Administrator
from app.interfaces.http.envelope import CloudflareNothing
from app.interfaces.http.failures import ACCESS, UPSTREAM
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.namespaces import (
    AccountId,
    AgentMemoryNamespaceAnswer,
    AgentMemoryNamespaceEnvelope,
    AgentMemoryNamespaceRequest,
    AgentMemoryNamespacesPage,
    AgentMemoryNamespacesQuery,
    NamespaceName,
)
from app.interfaces.http.which_call import CLOUDFLARES
from app.runtime.entry import CallEntry
from app.services.profiles.namespaces import Namespaces
from app.storage.namespaces import Namespace

TAG = CLOUDFLARES
NAMESPACES = "/client/v4/accounts/{account_id}/agent-memory/namespaces"

namespaces = Router(TAG, describe=envelope.responses, any_query=True)


@namespaces.post(
    NAMESPACES,
    NamespaceExists,
    QuotaExceeded,
    act="namespace.create",
    name="agent_memory_namespace_create",
    status_code=201,
)
async def create(
    caller: Administrator, account_id: AccountId, request: AgentMemoryNamespaceRequest
) -> AgentMemoryNamespaceEnvelope:
    """Create a namespace, as an administrator of all agents."""
    return AgentMemoryNamespaceEnvelope(result=_answer(await _of(caller).create(request.name), account_id))


@namespaces.get(
    NAMESPACES, InvalidCursor, needs=(*ACCESS, InvalidRequest, *UPSTREAM), name="agent_memory_namespace_list"
)
async def list_(
    caller: Administrator, account_id: AccountId, query: Annotated[AgentMemoryNamespacesQuery, Query()]
) -> AgentMemoryNamespacesPage:
    """List namespaces, as an administrator of all agents."""
    order, direction = query.order, query.direction
    listing = Listing(caller, "namespaces", query.cursor, order=order, direction=direction)
    page = await _of(caller).list(limit=query.per_page, after=listing.after, order=order, direction=direction)
    namespaces = [_answer(namespace, account_id) for namespace in page.items]
    return AgentMemoryNamespacesPage.of(namespaces, cursor=listing.cursor(page.after), per_page=query.per_page)


@namespaces.get(
    f"{NAMESPACES}/{{namespace_name}}",
    NotFound,
    needs=(*ACCESS, InvalidRequest, *UPSTREAM),
    name="agent_memory_namespace_get",
)
async def get(
    caller: Administrator, account_id: AccountId, namespace_name: NamespaceName
) -> AgentMemoryNamespaceEnvelope:
    """Return a namespace, to an administrator of all agents."""
    return AgentMemoryNamespaceEnvelope(result=_answer(await _of(caller).get(namespace_name), account_id))


@namespaces.delete(
    f"{NAMESPACES}/{{namespace_name}}",
    NotFound,
    Conflict,
    act="namespace.delete",
    name="agent_memory_namespace_delete",
)
async def delete(caller: Administrator, account_id: AccountId, namespace_name: NamespaceName) -> CloudflareNothing:
    """Delete a namespace and begin to erase its profiles, as an administrator of all agents."""
    del account_id
    await _of(caller).delete(namespace_name)
    return CloudflareNothing()


def _of(caller: CallEntry) -> Namespaces:
    """Return the service; a credential for one agent alone has no part in namespaces."""
    caller.principal.check_every_agent()
    services, _ = caller.tenant()
    return services.namespaces


def _answer(namespace: Namespace, account_id: str) -> AgentMemoryNamespaceAnswer:
    return AgentMemoryNamespaceAnswer.model_validate({**asdict(namespace), "account_id": account_id})
