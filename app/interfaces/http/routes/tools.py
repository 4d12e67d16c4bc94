"""The route that returns the definition of the tools."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from app.domain.errors import InvalidRequest
from app.interfaces.fields import Request
from app.interfaces.http.dependencies import no_repeats
from app.interfaces.http.problems import responses
from app.interfaces.tools.manifests import Format, manifest

tools = APIRouter(tags=["tools"])


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


_EXAMPLE = {"content": {"application/json": {"example": manifest("openai")}}}


@tools.get("/tools", dependencies=[Depends(no_repeats)], responses={200: _EXAMPLE, **responses(InvalidRequest)})
async def list_tools(query: Annotated[ToolsQuery, Query()]) -> list[dict[str, Any]]:
    """Give the definition of the agents' tools, ready to paste. It is the same for everyone and needs no credential."""
    return manifest(query.format)
