"""Calls the tools for one tenant and one agent, through the gateway."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.author import Source
from app.domain.errors import Forbidden, InvalidRequest, NotFound
from app.domain.json_types import Json
from app.domain.limits import is_id
from app.domain.moments import format_day, format_moment
from app.domain.query import Entry
from app.interfaces.tools.arguments import RecallArguments, StoreArguments
from app.interfaces.tools.definition import NOTICE, RECALL_MEMORY, STORE_MEMORY, TOOLS, Tool
from app.runtime.runtime import Runtime
from app.services.credentials import Principal
from app.services.gateway import LongTermMemoryGateway
from app.services.recall import Recall


class Toolbox:
    """The tools of one caller: the tenant and the agent are bound here, and no argument names another.

    The agent is the credential's; where the credential is valid for all of the tenant's agents, it is the one that the
    request names.
    """

    def __init__(self, runtime: Runtime, principal: Principal, agent_id: str | None) -> None:
        """Bind the principal, and the agent that the request names beside the credential, if any."""
        self._runtime = runtime
        self._principal = principal
        self._named = agent_id

    async def listed(self) -> Sequence[Tool]:
        """Return the agent's tools: none if its long-term memory is switched off, all if no agent is known.

        Raises:
            Forbidden: the credential is for another agent.
            Unavailable: the agent's settings cannot be read.
        """
        if self._named is None and self._principal.agent_id is None:
            return TOOLS
        settings = await self._runtime.services(self._principal.tenant_id).browser.agent(self._agent())
        return TOOLS if settings.long_term_enabled else ()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Json]:
        """Call a tool and return its answer, which its output schema describes.

        Raises:
            NotFound: there is no such tool.
            MemoryGatewayError: as the gateway's ``store`` and ``recall`` raise; or the arguments are wrong, the
                credential is for another agent, or no agent is known (``Forbidden``).
        """
        if name == RECALL_MEMORY.name:
            query = RecallArguments.read(arguments).to_query()
            gateway, agent_id = self._bound()
            return _answer(await gateway.recall(agent_id, query))
        if name == STORE_MEMORY.name:
            memory = StoreArguments.read(arguments).to_memory()
            gateway, agent_id = self._bound()
            kept: list[Json] = []
            await gateway.store(agent_id, memory, keep=kept.extend)
            return {"stored": True, "kept": kept} if kept else {"stored": True}
        raise NotFound(f"There is no tool of this name. There are: {', '.join(tool.name for tool in TOOLS)}.")

    def _bound(self) -> tuple[LongTermMemoryGateway, str]:
        agent_id = self._agent()
        services = self._runtime.services(self._principal.tenant_id, self._principal.author("mcp"))
        return services.gateway, agent_id

    def _agent(self) -> str:
        agent_id = self._principal.agent_id if self._named is None else self._named
        if agent_id is None:
            raise Forbidden(
                "No agent is known: the credential names none in its claim `agent`, and neither does the header "
                "X-Agent-Id (HTTP) or the option --agent (stdio)."
            )
        if not is_id(agent_id):
            raise InvalidRequest(
                "The agent, from the header X-Agent-Id (HTTP) or the option --agent (stdio), must be 1 to 64 of the "
                "characters A-Z a-z 0-9 . _ : -."
            )
        self._principal.check_agent(agent_id)
        return agent_id


def _answer(recall: Recall) -> dict[str, Json]:
    entries: list[Json] = [_shown(entry) for entry in recall.entries]
    answer: dict[str, Json] = {"notice": NOTICE, "entries": entries, "confidence": recall.confidence}
    return answer | ({"degraded": list(recall.degraded)} if recall.degraded else {})


def _shown(entry: Entry) -> dict[str, Json]:
    """Return an entry as a model reads it; the day comes before the content, which may be long."""
    return {
        "id": entry.id,
        "date": format_day(entry.happened_at),
        "content": entry.content,
        "metadata": dict(entry.metadata),
        "score": entry.score,
        "created_at": format_moment(entry.created_at),
        **({} if entry.occurred_at is None else {"occurred_at": format_moment(entry.occurred_at)}),
        **({} if entry.session_id is None else {"session_id": entry.session_id}),
        "source": _source(entry.source),
    }


def _source(source: Source | None) -> Json:
    """Say in few words who wrote a memory: the channel, and the credential where there was one."""
    if source is None:
        return "unknown"
    return source.channel if source.credential_id is None else f"{source.channel} {source.credential_id}"
