"""The routes for namespaces, as Cloudflare's Agent Memory has them.

https://developers.cloudflare.com/agent-memory/api/http-api/#namespace-management
"""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from app.domain.errors import Conflict, InvalidCursor, InvalidRequest, NamespaceExists, NotFound, QuotaExceeded
from app.interfaces.http.dependencies import Access, Administrator, CredentialFirst
from app.interfaces.http.envelope import CloudflareNothing, responses
from app.interfaces.http.failures import ACCESS, BODY, UPSTREAM, WRITES
from app.interfaces.http.schemas.namespaces import (
    AccountId,
    AgentMemoryNamespaceAnswer,
    AgentMemoryNamespaceEnvelope,
    AgentMemoryNamespaceRequest,
    AgentMemoryNamespacesPage,
    AgentMemoryNamespacesQuery,
    NamespaceName,
)
from app.services.profiles.namespaces import Namespaces
from app.storage.namespaces import Namespace

TAG = "agent memory, as Cloudflare has it"
NAMESPACES = "/client/v4/accounts/{account_id}/agent-memory/namespaces"
_READS = (*ACCESS, InvalidRequest, *UPSTREAM)

namespaces = APIRouter(tags=[TAG], route_class=CredentialFirst)


@namespaces.post(
    NAMESPACES,
    name="agent_memory_namespace_create",
    status_code=201,
    responses=responses(*ACCESS, *BODY, NamespaceExists, QuotaExceeded, *WRITES),
)
async def create(
    caller: Administrator, account_id: AccountId, request: AgentMemoryNamespaceRequest
) -> AgentMemoryNamespaceEnvelope:
    """Create a namespace, as an administrator of all agents."""
    return AgentMemoryNamespaceEnvelope(result=_answer(await _of(caller).create(request.name), account_id))


@namespaces.get(
    NAMESPACES,
    name="agent_memory_namespace_list",
    responses=responses(*_READS, InvalidCursor),
)
async def list_(
    caller: Administrator, account_id: AccountId, query: Annotated[AgentMemoryNamespacesQuery, Query()]
) -> AgentMemoryNamespacesPage:
    """List namespaces, as an administrator of all agents."""
    order, direction = query.order, query.direction
    listing = caller.listing("namespaces", query.cursor, order=order, direction=direction)
    page = await _of(caller).list(limit=query.per_page, after=listing.after_id, order=order, direction=direction)
    namespaces = [_answer(namespace, account_id) for namespace in page.namespaces]
    return AgentMemoryNamespacesPage.of(namespaces, cursor=listing.cursor(page.after), per_page=query.per_page)


@namespaces.get(
    f"{NAMESPACES}/{{namespace_name}}",
    name="agent_memory_namespace_get",
    responses=responses(*_READS, NotFound),
)
async def get(
    caller: Administrator, account_id: AccountId, namespace_name: NamespaceName
) -> AgentMemoryNamespaceEnvelope:
    """Return a namespace, to an administrator of all agents."""
    return AgentMemoryNamespaceEnvelope(result=_answer(await _of(caller).get(namespace_name), account_id))


@namespaces.delete(
    f"{NAMESPACES}/{{namespace_name}}",
    name="agent_memory_namespace_delete",
    responses=responses(*ACCESS, NotFound, Conflict, *WRITES),
)
async def delete(caller: Administrator, account_id: AccountId, namespace_name: NamespaceName) -> CloudflareNothing:
    """Delete a namespace and begin to erase its profiles, as an administrator of all agents."""
    del account_id
    await _of(caller).delete(namespace_name)
    return CloudflareNothing()


def _of(caller: Access) -> Namespaces:
    """Return the service; a credential for one agent alone has no part in namespaces."""
    caller.principal.check_every_agent()
    services, _ = caller.tenant()
    return services.namespaces


def _answer(namespace: Namespace, account_id: str) -> AgentMemoryNamespaceAnswer:
    return AgentMemoryNamespaceAnswer.model_validate({**asdict(namespace), "account_id": account_id})
