"""The routes of windows: the newest messages of an agent's instance."""

from typing import Annotated

from fastapi import Path, Query

from app.domain.errors import Erasing, QuotaExceeded, SensitiveContent
from app.interfaces.http.dependencies import ReadCaller, WriteCaller
from app.interfaces.http.router import Router
from app.interfaces.http.routes.working import WORKING
from app.interfaces.http.schemas.store import AgentId
from app.interfaces.http.schemas.windows import AppendAnswer, AppendRequest, WindowAnswer, WindowQuery
from app.interfaces.http.schemas.working import Instance

windows = Router("working memory")


@windows.post(f"{WORKING}/messages", Erasing, SensitiveContent, QuotaExceeded, status_code=201)
async def append_messages(
    caller: WriteCaller, agent_id: Annotated[AgentId, Path()], instance: Instance, request: AppendRequest
) -> AppendAnswer:
    """Append messages to the window of an instance. The same messages again change nothing.

    What the window does not keep falls out of it into the agent's long-term memory, and is summed up, after the answer.
    """
    messages = [message.to_message() for message in request.messages]
    done = await caller.agent(agent_id).windows.append(agent_id, instance, messages, ttl_seconds=request.ttl_seconds)
    return AppendAnswer.model_validate(done)


@windows.get(f"{WORKING}/window", response_model_exclude_none=True)
async def window(
    caller: ReadCaller, agent_id: Annotated[AgentId, Path()], instance: Instance, query: Annotated[WindowQuery, Query()]
) -> WindowAnswer:
    """Return the newest messages of an instance that fit into so many tokens, oldest first.

    Beside them are summaries of what fell out of the window before, with the memories that it is now.
    """
    found = await caller.agent(agent_id).windows.window(agent_id, instance, max_tokens=query.max_tokens)
    return WindowAnswer.of(agent_id, found)
