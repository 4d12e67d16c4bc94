"""The routes by which a tenant looks after its own data: memories, usage and the settings of agents."""

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import Query

from app.domain.errors import InvalidCursor, NotFound, QuotaExceeded
from app.domain.memory import Memory
from app.domain.query import Filter
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import Administrator, ReadCaller
from app.interfaces.http.failures import WRITES
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.browse import (
    METADATA,
    AgentAnswer,
    AgentRequest,
    AgentsAnswer,
    AgentsQuery,
    ListAnswer,
    ListQuery,
    UsageQuery,
    UsagesAnswer,
)
from app.interfaces.http.schemas.memory import MemoryAnswer
from app.interfaces.http.schemas.store import AgentId, DeleteQuery, MemoryId
from app.storage.agents import AgentChange

data = Router("data")


@data.get("/memories", InvalidCursor, response_model_exclude_none=True, openapi_extra={"parameters": [METADATA]})
async def list_memories(caller: ReadCaller, query: Annotated[ListQuery, Query()]) -> ListAnswer:
    """List memories, newest first, as an administrator or with a credential for one agent alone."""
    services, agent_id = caller.tenant(query.agent_id)
    where, writer = query.to(Filter, metadata=query.metadata or {}), query.written_by
    listing = Listing(caller, None, query.cursor, agent_id=agent_id, where=where, written_by=writer)
    page = await services.browser.list(agent_id, where, limit=query.limit, after=listing.after, written_by=writer)
    return ListAnswer.model_validate({"memories": page.items, "cursor": listing.cursor(page.after)})


@data.get("/memories/{memory_id}", NotFound, response_model=MemoryAnswer, response_model_exclude_none=True)
async def get_memory(caller: ReadCaller, memory_id: MemoryId, query: Annotated[DeleteQuery, Query()]) -> Memory:
    """Return a memory, to an administrator or to a credential for its agent alone."""
    services, _ = caller.tenant(query.agent_id)
    return await services.browser.get(query.agent_id, memory_id)


@data.get("/usage", response_model_exclude_none=True)
async def usage(caller: ReadCaller, query: Annotated[UsageQuery, Query()]) -> UsagesAnswer:
    """Tell what is used and what the limits are, to an administrator or to a credential for one agent alone."""
    services, agent_id = caller.tenant(query.agent_id)
    if agent_id is not None:
        return UsagesAnswer.model_validate({"agents": [await services.browser.usage_of(agent_id)]})
    tenant, agents, kept = await services.browser.usage()
    models = await services.browser.model_usage()
    answer = {"tenant": tenant, "agents": agents, "kept": kept.counts, "models": models}
    return UsagesAnswer.model_validate(answer)


@data.get("/agents", InvalidCursor)
async def list_agents(caller: ReadCaller, query: Annotated[AgentsQuery, Query()]) -> AgentsAnswer:
    """List the agents by their ids, to an administrator; to a credential for one agent alone, that one.

    There is no call that makes an agent: it is there from its first store on.
    """
    services, only = caller.tenant()
    listing = Listing(caller, "agents", query.cursor, agent_id=only)
    page = await services.browser.agents(only, limit=query.limit, after=listing.after)
    return AgentsAnswer.model_validate({"agents": page.items, "cursor": listing.cursor(page.after)})


@data.get("/agents/{agent_id}")
async def get_agent(caller: Administrator, agent_id: AgentId) -> AgentAnswer:
    """Tell what an agent is set to, to an administrator."""
    services, _ = caller.tenant(agent_id)
    return AgentAnswer(agent_id=agent_id, **asdict(await services.browser.agent(agent_id)))


@data.put("/agents/{agent_id}", needs=(*WRITES, QuotaExceeded), act="agent.set")
async def set_agent(caller: Administrator, agent_id: AgentId, request: AgentRequest) -> AgentAnswer:
    """Set an agent, as an administrator. What the request leaves out stays as it was."""
    services, _ = caller.tenant(agent_id)
    settings = await services.browser.set_agent(agent_id, cast("AgentChange", request.model_dump(exclude_unset=True)))
    return AgentAnswer(agent_id=agent_id, **asdict(settings))
