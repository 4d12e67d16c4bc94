"""The route that returns the definition of the tools."""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

import fastapi
from fastapi import Depends, Query
from pydantic import Field, WithJsonSchema

from app.domain.errors import Conflict, FieldError, InvalidRequest, Unavailable
from app.interfaces.fields import Request
from app.interfaces.http.dependencies import entry_of, no_repeats
from app.interfaces.http.failures import ACCESS, UPSTREAM
from app.interfaces.http.named_route import NamedRoute
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.browse import OptionalAgent
from app.interfaces.tools.calls import Toolbox
from app.interfaces.tools.definition import Tool
from app.interfaces.tools.manifests import Format, manifest, manifest_of
from app.interfaces.tools.sets import SETS
from app.storage.agents import DEFAULT_TOOLS, ToolSet

tools = Router("tools", route_class=NamedRoute)

_SET = {"type": "string", "enum": [*get_args(ToolSet)], "examples": [DEFAULT_TOOLS]}


class ToolsQuery(Request):
    """In which form to give them."""

    format: Annotated[
        Format,
        Field(
            description=(
                "`openai` for Chat Completions and what is compatible with it, `openai-responses`, `anthropic`, `mcp`, "
                "or `json-schema` with schemas of what goes in and comes out."
            ),
            examples=["openai"],
        ),
    ] = "json-schema"

    tools: Annotated[
        Annotated[ToolSet | None, WithJsonSchema(_SET)],
        Field(
            description="Which tools, where no agent is known: `recall_store`, as agents have at first, or `profile`."
        ),
    ] = None
    agent_id: Annotated[
        OptionalAgent, Field(description="Whose tools, with a credential that is for all of the tenant's agents.")
    ] = None


_EXAMPLE = {"content": {"application/json": {"example": manifest("openai")}}}


@tools.get(
    "/tools",
    needs=(InvalidRequest, *ACCESS, Conflict, Unavailable, *UPSTREAM),
    answers={200: _EXAMPLE},
    dependencies=[Depends(no_repeats)],
)
async def list_tools(http: fastapi.Request, query: Annotated[ToolsQuery, Query()]) -> list[dict[str, Any]]:
    """Give the definition of an agent's tools, ready to paste.

    It needs no credential. Where one names an agent, or `agent_id` does beside one, it gives the tools that this agent
    is set to: none where its long-term memory is switched off.
    """
    return manifest_of(await _tools(http, query), query.format)


async def _tools(http: fastapi.Request, query: ToolsQuery) -> Sequence[Tool]:
    """Return the tools of the agent that the credential or the query names, else those that are asked for.

    Raises:
        Conflict: others are asked for than the agent is given.
        Forbidden: the credential is for another agent.
        Unauthenticated, Unavailable: the credential is missing, does not hold or cannot be checked.
    """
    if "authorization" in http.headers or query.agent_id is not None:
        entry = await entry_of(http)
        if entry.principal.agent_id is not None or query.agent_id is not None:
            given = await Toolbox(entry, query.agent_id).listed()
            if query.tools is not None and any(tool not in SETS[query.tools] for tool in given):
                set_otherwise = FieldError("tools", "is not what the agent is set to; leave it out")
                raise Conflict("The agent is set to other tools.", errors=[set_otherwise])
            return given
    return SETS[query.tools or DEFAULT_TOOLS]
