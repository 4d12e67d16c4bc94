"""The routes of runs and of the episodes that happened in them."""

from typing import Annotated

from fastapi import Path, Query

from app.domain.episodes import EpisodesWanted, NewEpisode, NewRun, RunsWanted
from app.domain.errors import (
    BlobGone,
    Conflict,
    Erasing,
    InvalidCursor,
    NotFound,
    QuotaExceeded,
    RunEnded,
    SensitiveContent,
)
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import QuotaWarning, ReadCaller, ReadWriteCaller, WriteCaller
from app.interfaces.http.failures import WRITES
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.episodic import (
    NEAR_LIMIT,
    AppendedAnswer,
    AppendEpisodesRequest,
    CompleteRunRequest,
    EpisodesAnswer,
    EpisodesQuery,
    FailRunRequest,
    RunAnswer,
    RunId,
    RunsAnswer,
    RunsQuery,
    StartedRunAnswer,
    StartRunRequest,
)
from app.services.tenant.writing import Added

_WRITES = (*WRITES, Erasing, SensitiveContent)
episodic = Router("episodes")


@episodic.post("/runs", *_WRITES, NotFound, Conflict, RunEnded, QuotaExceeded, needs=(), status_code=201)
async def start_run(caller: ReadWriteCaller, request: StartRunRequest) -> StartedRunAnswer:
    """Begin a run, and be given the last episodes of its agent type. With its id the same run again is the same run.

    With `parent_run_id` it is a part of another run's task: its keys and its state end with it, and the log of its
    parent has its result.
    """
    services = caller.agent(request.agent_id)
    begun = await services.episodic.begin(request.to(NewRun), only_agent=caller.principal.agent_id)
    return StartedRunAnswer.model_validate(begun)


@episodic.get("/runs", InvalidCursor)
async def runs(caller: ReadCaller, query: Annotated[RunsQuery, Query()]) -> RunsAnswer:
    """List runs, newest first. In place of an input or output over 100,000 bytes they have a pointer to its blob."""
    services, agent_id = caller.shared(query.agent_id)
    wanted = query.to(RunsWanted, agent_id=agent_id)
    listing = Listing(caller, "runs", query.cursor, wanted=wanted)
    page = await services.episodic.runs(wanted, limit=query.limit, after=listing.after)
    return RunsAnswer.model_validate({"runs": page.items, "cursor": listing.cursor(page.after)})


@episodic.get("/runs/{run_id}", NotFound, BlobGone)
async def get_run(caller: ReadCaller, run_id: Annotated[RunId, Path()]) -> RunAnswer:
    """Return a run, with an input and output of any size. Where the object store has lost one, the answer is 410."""
    services, agent_id = caller.shared()
    return RunAnswer.model_validate(await services.episodic.run(run_id, only_agent=agent_id))


@episodic.post(
    "/runs/{run_id}/episodes",
    *_WRITES,
    NotFound,
    Conflict,
    RunEnded,
    QuotaExceeded,
    needs=(),
    answers={201: NEAR_LIMIT},
    status_code=201,
    response_model=AppendedAnswer,
)
async def append_episode(
    caller: WriteCaller, run_id: Annotated[RunId, Path()], request: AppendEpisodesRequest, warn: QuotaWarning
) -> Added:
    """Write what has happened in a run: all of it, or nothing. An episode whose id the run has stays as it is."""
    services, agent_id = caller.shared()
    episodes = [episode.to(NewEpisode) for episode in request.episodes]
    return await services.episodic.append(run_id, episodes, only_agent=agent_id, warn=warn)


@episodic.post("/runs/{run_id}/complete", *_WRITES, NotFound, RunEnded, QuotaExceeded, needs=())
async def complete_run(
    caller: ReadWriteCaller, run_id: Annotated[RunId, Path()], request: CompleteRunRequest
) -> RunAnswer:
    """End a run with what it has come to. The same again is answered the same."""
    services, agent_id = caller.shared()
    return RunAnswer.model_validate(await services.episodic.complete(run_id, request.output, only_agent=agent_id))


@episodic.post("/runs/{run_id}/fail", *_WRITES, NotFound, RunEnded, QuotaExceeded, needs=())
async def fail_run(caller: ReadWriteCaller, run_id: Annotated[RunId, Path()], request: FailRunRequest) -> RunAnswer:
    """End a run with what has gone wrong. The same again is answered the same."""
    services, agent_id = caller.shared()
    return RunAnswer.model_validate(await services.episodic.fail(run_id, request.error, only_agent=agent_id))


@episodic.get("/episodes", InvalidCursor)
async def episodes(caller: ReadCaller, query: Annotated[EpisodesQuery, Query()]) -> EpisodesAnswer:
    """List episodes, newest first: with an agent type those of all agents of this type that the credential reaches."""
    services, agent_id = caller.shared(query.agent_id)
    wanted = query.to(EpisodesWanted, agent_id=agent_id)
    listing = Listing(caller, "episodes", query.cursor, wanted=wanted)
    page = await services.episodic.episodes(wanted, limit=query.limit, after=listing.after)
    return EpisodesAnswer.model_validate({"episodes": page.items, "cursor": listing.cursor(page.after)})
