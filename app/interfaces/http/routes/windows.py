"""The routes of windows: the newest messages of an agent's instance."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from app.domain.errors import Erasing, QuotaExceeded
from app.interfaces.http.dependencies import Caller, CredentialFirst
from app.interfaces.http.failures import ACCESS, BODY, READS, WRITES
from app.interfaces.http.problems import responses
from app.interfaces.http.routes.working import WORKING
from app.interfaces.http.schemas.store import AgentId
from app.interfaces.http.schemas.windows import AppendAnswer, AppendRequest, WindowAnswer, WindowQuery
from app.interfaces.http.schemas.working import Instance

windows = APIRouter(tags=["working memory"], route_class=CredentialFirst)


@windows.post(
    f"{WORKING}/messages",
    name="append_messages",
    status_code=201,
    responses=responses(*ACCESS, *BODY, Erasing, QuotaExceeded, *WRITES),
)
async def append_messages(
    caller: Caller, agent_id: Annotated[AgentId, Path()], instance: Instance, request: AppendRequest
) -> AppendAnswer:
    """Append messages to the window of an instance. The same messages again change nothing.

    What the window does not keep falls out of it into the agent's long-term memory, and is summed up, after the answer.
    """
    messages = [message.to_message() for message in request.messages]
    done = await caller.agent(agent_id).windows.append(agent_id, instance, messages, ttl_seconds=request.ttl_seconds)
    return AppendAnswer.model_validate(done)


@windows.get(
    f"{WORKING}/window",
    name="window",
    response_model_exclude_none=True,
    responses=responses(*READS),
)
async def window(
    caller: Caller, agent_id: Annotated[AgentId, Path()], instance: Instance, query: Annotated[WindowQuery, Query()]
) -> WindowAnswer:
    """Return the newest messages of an instance that fit into so many tokens, oldest first.

    Beside them are summaries of what fell out of the window before, with the memories that it is now.
    """
    found = await caller.agent(agent_id).windows.window(agent_id, instance, max_tokens=query.max_tokens)
    return WindowAnswer.of(agent_id, found)
