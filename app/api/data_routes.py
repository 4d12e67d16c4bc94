"""The routes by which a tenant looks after its own data: listing, usage, what an agent is set to."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from app.api.cursors import Cursors, Listing
from app.api.data_schemas import (
    METADATA,
    AgentAnswer,
    AgentRequest,
    ListAnswer,
    ListQuery,
    MemoryAnswer,
    UsageQuery,
    UsagesAnswer,
    agent_answer,
    agent_usage_answer,
    memory_answer,
    usage_answer,
)
from app.api.dependencies import Administrator, Caller, CredentialFirst, no_query
from app.api.failures import ACCESS, BODY, UPSTREAM, WRITES
from app.api.problems import responses
from app.api.schemas import AgentId, DeleteQuery, MemoryId
from app.errors import InvalidCursor, InvalidRequest, NotFound, Unavailable

_READS = (*ACCESS, InvalidRequest, Unavailable, *UPSTREAM)

data = APIRouter(tags=["data"], route_class=CredentialFirst)


@data.get(
    "/memories",
    response_model_exclude_none=True,
    responses=responses(*_READS, InvalidCursor),
    openapi_extra={"parameters": [METADATA]},
)
async def list_memories(caller: Caller, query: Annotated[ListQuery, Query()]) -> ListAnswer:
    """List memories, newest first, as an administrator or with a credential for one agent alone."""
    holdings, agent_id = caller.holdings(query.agent_id)
    where, now = query.where(), caller.runtime.ports.clock()
    cursors = Cursors(caller.runtime.credentials, Listing(caller.principal.tenant_id, agent_id, where))
    after = None if query.cursor is None else cursors.read(query.cursor, now=now)
    page = await holdings.list(agent_id, where, limit=query.limit, after=after)
    return ListAnswer(
        memories=[memory_answer(memory) for memory in page.memories],
        cursor=None if page.after is None else cursors.write(page.after, now=now),
    )


@data.get("/memories/{memory_id}", response_model_exclude_none=True, responses=responses(*_READS, NotFound))
async def get_memory(
    caller: Caller, memory_id: Annotated[MemoryId, Path()], query: Annotated[DeleteQuery, Query()]
) -> MemoryAnswer:
    """Return a memory, to an administrator or to a credential for its agent alone."""
    holdings, _ = caller.holdings(query.agent_id)
    return memory_answer(await holdings.get(query.agent_id, memory_id))


@data.get("/usage", response_model_exclude_none=True, responses=responses(*_READS))
async def usage(caller: Caller, query: Annotated[UsageQuery, Query()]) -> UsagesAnswer:
    """Tell what is used and what the limits are, to an administrator or to a credential for one agent alone."""
    holdings, agent_id = caller.holdings(query.agent_id)
    if agent_id is not None:
        return UsagesAnswer(agents=[agent_usage_answer(await holdings.usage_of(agent_id))])
    tenant, agents = await holdings.usage()
    return UsagesAnswer(tenant=usage_answer(tenant), agents=[agent_usage_answer(agent) for agent in agents])


@data.get("/agents/{agent_id}", dependencies=[Depends(no_query)], responses=responses(*_READS))
async def get_agent(caller: Administrator, agent_id: Annotated[AgentId, Path()]) -> AgentAnswer:
    """Tell what an agent is set to, to an administrator."""
    holdings, _ = caller.holdings(agent_id)
    return agent_answer(agent_id, await holdings.agent(agent_id))


@data.put("/agents/{agent_id}", responses=responses(*ACCESS, *BODY, *WRITES))
async def set_agent(caller: Administrator, agent_id: Annotated[AgentId, Path()], request: AgentRequest) -> AgentAnswer:
    """Set an agent, as an administrator. What the request leaves out stays as it was."""
    holdings, _ = caller.holdings(agent_id)
    return agent_answer(agent_id, await holdings.set_agent(agent_id, request.change()))
