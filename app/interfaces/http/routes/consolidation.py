"""The routes that tell what the weekly consolidation has merged, or would, and take it back."""

from typing import Annotated

from fastapi import Query

from app.domain.consolidation import ConsolidationForecast, ConsolidationUndone
from app.domain.errors import NotFound
from app.interfaces.http.dependencies import Administrator
from app.interfaces.http.failures import MODEL
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.consolidation import (
    ConsolidationForecastAnswer,
    ConsolidationForecastWanted,
    ConsolidationsAnswer,
    ConsolidationsQuery,
    ConsolidationUndoneAnswer,
    ConsolidationUndoWanted,
)

consolidation = Router("data")


@consolidation.get("/consolidations", name="consolidations")
async def list_consolidations(
    caller: Administrator, query: Annotated[ConsolidationsQuery, Query()]
) -> ConsolidationsAnswer:
    """Tell of the last consolidations, newest first, as an administrator of all agents."""
    found = await caller.every_agent().consolidations.latest(query.limit)
    return ConsolidationsAnswer.model_validate({"consolidations": list(found)})


@consolidation.post(
    "/consolidations/dry-run",
    needs=MODEL,
    act="consolidation.forecast",
    name="consolidation_dry_run",
    response_model=ConsolidationForecastAnswer,
)
async def dry_run(caller: Administrator, request: ConsolidationForecastWanted) -> ConsolidationForecast:
    """Say what the next consolidation would merge of an agent's memories word for word, and change nothing."""
    return await caller.agent(request.agent_id).consolidations.dry_run(request.agent_id)


@consolidation.post(
    "/consolidations/undo",
    NotFound,
    act="consolidation.undo",
    name="undo_consolidation",
    response_model=ConsolidationUndoneAnswer,
)
async def undo(caller: Administrator, request: ConsolidationUndoWanted) -> ConsolidationUndone:
    """Have all that a consolidation has merged hold again, as an administrator of all agents; first a dry run.

    It is not merged again by a later one.
    """
    service = caller.every_agent().consolidations
    take_back = service.undo_dry_run if request.dry_run else service.undo
    return await take_back(request.consolidation_id)
