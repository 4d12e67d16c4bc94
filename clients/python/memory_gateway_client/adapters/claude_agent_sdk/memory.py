"""The hooks: before the turn what was remembered is told, and what the user and the agent say is kept."""

import logging
from collections import OrderedDict
from typing import Any, cast

from claude_agent_sdk import (
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    PreCompactHookInput,
    StopHookInput,
    UserPromptSubmitHookInput,
)
from claude_agent_sdk.types import HookEvent

from memory_gateway_client import AsyncMemoryClient, MemoryClient, MemoryGatewayError
from memory_gateway_client.adapters.asking import Asking, OnOutage
from memory_gateway_client.adapters.conversations import Said, remember
from memory_gateway_client.adapters.naming import session_name
from memory_gateway_client.adapters.recalling import MIN_SCORE, TOP_K, Recalling
from memory_gateway_client.adapters.texts import quoted, unavailable

_MOST_SESSIONS = 1000
"""Of which it is known what they were told already; of others a memory may be told again."""


class AgentMemory:
    """Gives an agent a memory that arrives by itself: ``ClaudeAgentOptions(hooks=AgentMemory(client).hooks())``.

    One may serve many sessions at once. A failure of the service ends no turn: the model is told of it.
    """

    def __init__(
        self,
        client: MemoryClient | AsyncMemoryClient,
        *,
        agent_id: str | None = None,
        top_k: int = TOP_K,
        min_score: float = MIN_SCORE,
        keep: bool = True,
        on_outage: OnOutage | None = None,
        strict: bool = False,
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks. Its ``timeout`` bounds how long a turn waits for its memories.
            agent_id: Whose memories they are; None: of the client's agent.
            top_k: The most memories of a turn, 1 to 19. None is told twice in a session, but after a
                compaction.
            min_score: The least score of one, 0 to 1.
            keep: Whether what is said is kept; False: it is only recalled.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a failure blocks the turn.

        Raises:
            ValueError: no agent is named.
        """
        agent = agent_id or client.agent_id
        if agent is None:
            raise ValueError("No agent: say agent_id=, or give the client one.")
        self._agent_id = agent
        self._asking = Asking(client, logging.getLogger(__name__), on_outage=on_outage, strict=strict)
        self._recalling = Recalling(self._asking, top_k=top_k, min_score=min_score)
        self._keep = keep
        self._strict = strict
        self._told: OrderedDict[str, set[str]] = OrderedDict()

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """Return the hooks; put those of your own beside them into the same lists."""
        fails = {"on_failure": "block"} if self._strict else {}
        hooks: dict[HookEvent, list[HookMatcher]] = {
            "UserPromptSubmit": [_matcher(self._prompted, **fails)],
            "Stop": [_matcher(self._stopped)],
            "PreCompact": [_matcher(self._compacted)],
        }
        return hooks

    async def _prompted(self, given: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        prompt = cast("UserPromptSubmitHookInput", given)
        session, said = prompt["session_id"], prompt["prompt"]
        found = await self._recalling.entries(said, self._agent_id)
        if isinstance(found, MemoryGatewayError):
            told = unavailable(found)
        else:
            known = self._known(session)
            told = quoted(entry for entry in found if entry.id not in known)
            known.update(entry.id for entry in found)
        await self._remember("user", said, session)
        if not told:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": told}}

    async def _stopped(self, given: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        stop = cast("StopHookInput", given)
        await self._remember("assistant", stop.get("last_assistant_message") or "", stop["session_id"])
        return {}

    async def _compacted(self, given: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        """Forget what the session was told: after a compaction its model does not know the words any more."""
        self._told.pop(cast("PreCompactHookInput", given)["session_id"], None)
        return {}

    async def _remember(self, role: Any, said: str, session_id: str) -> None:  # noqa: ANN401 - one of two words
        if self._keep:
            session = session_name(session_id)
            await remember(self._asking, [Said(role, said)], agent_id=self._agent_id, session_id=session)

    def _known(self, session_id: str) -> set[str]:
        """Return the ids of the memories that the session was told."""
        known = self._told.setdefault(session_id, set())
        self._told.move_to_end(session_id)
        if len(self._told) > _MOST_SESSIONS:
            self._told.popitem(last=False)
        return known


def _matcher(hook: Any, **fails: Any) -> HookMatcher:  # noqa: ANN401 - of the framework
    return HookMatcher(hooks=[hook], **fails)
