"""Calls the tools for one tenant and one agent, through its services."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from app.domain.errors import Forbidden, InvalidRequest, MemoryGatewayError, NotFound, TenantMoved
from app.domain.json_types import Json
from app.domain.limits import WINDOW_TOKENS, is_id
from app.interfaces.tools import profile_calls, recall_store_calls
from app.interfaces.tools.arguments import Ask
from app.interfaces.tools.definition import Tool
from app.interfaces.tools.sets import DEFAULT, SET_OF, SETS, TOOLS
from app.runtime.entry import CallEntry
from app.runtime.tenant_services import TenantServices
from app.services.access.scopes import AccessScope
from app.services.assembly.assembler import AssembledContext, ContextWanted
from app.storage.agents import AgentSettings
from app.storage.tool_calls import ToolNotGiven

_T = TypeVar("_T")

_READERS = recall_store_calls.READERS | profile_calls.READERS


class Toolbox:
    """The tools of one caller: the tenant and the agent are bound here, and no argument names another.

    The agent is the credential's; where the credential is valid for all of the tenant's agents, it is the one that the
    request names.
    """

    def __init__(self, entry: CallEntry, agent_id: str | None, run_id: str | None = None) -> None:
        """Take the entry, and the agent and the run that the request names beside the credential, if any."""
        self._entry = entry
        self.principal = entry.principal
        self._named = agent_id
        self._run_id = run_id
        self._note = entry.note
        self.lacking: Forbidden | None = None
        """The refusal of a call for a scope that the credential lacks; None where there was none."""

    @property
    def sensitive_content(self) -> str:
        """What was found of content that should not be kept, and what was done about it; empty: nothing."""
        return self._note.sensitive_content

    async def listed(self) -> Sequence[Tool]:
        """Return the agent's tools of those that the credential may call: the usual ones if no agent is known.

        There are none if the agent's long-term memory is switched off.

        Raises:
            Forbidden: the credential is for another agent.
            Unavailable: the agent's settings cannot be read.
        """
        if self._named is None and self.principal.agent_id is None:
            return self._callable(DEFAULT)
        with self._noting():
            settings = await self._settings()
        return self._callable(SETS[settings.tools]) if settings.long_term_enabled else ()

    async def call(self, name: str, arguments: Mapping[str, Any], run_id: str | None = None) -> dict[str, Json]:
        """Call a tool and return its answer, which its output schema describes.

        ``run_id`` is the run that the call is made under; None: the one that the request names, if any.

        Raises:
            NotFound: there is no such tool, or the agent is given others, or it has no such run to store under.
            MemoryGatewayError: as the tool's service raises; or the arguments are wrong, the credential is for another
                agent or lacks a scope of the tool, or no agent is known (``Forbidden``).
        """
        with self._noting():
            if name not in _READERS:
                raise await self._not_given()
            self._note.tool = name
            self._check_scopes(name)
            return await self._call(name, arguments, run_id or self._run_id)

    async def _call(self, name: str, arguments: Mapping[str, Any], run_id: str | None) -> dict[str, Json]:
        try:
            ask = _READERS[name](arguments)
        except InvalidRequest:
            if not await self._has(name):
                raise await self._not_given() from None
            raise
        agent_id = self._agent()
        try:
            return await _where_it_lives(partial(self._ask, ask, name, agent_id, run_id))
        except ToolNotGiven as error:
            raise await self._not_given() from error

    async def _ask(self, ask: Ask, name: str, agent_id: str, run_id: str | None) -> dict[str, Json]:
        """Call a tool under a run, whose log tells of it."""
        services = (await self._services(agent_id, *TOOLS[name].scopes)).of_run(run_id)
        started, outcome = perf_counter(), "error"
        try:
            answer = await ask(services.of_call(agent_id, SET_OF[name]), agent_id)
            outcome = "ok"
        finally:
            ms = round((perf_counter() - started) * 1000, 3)
            entry: dict[str, Json] = {"event": "tool_call", "tool": name, "outcome": outcome, "ms": ms}
            services.backends.audit.note(agent_id, run_id, entry)
        return answer

    async def context(self, instance: str) -> AssembledContext:
        """Assemble the context of one instance of the agent.

        Raises:
            MemoryGatewayError: as the assembler raises; or the credential is for another agent, or no agent is known
                (``Forbidden``).
        """
        bound = self.principal.agent_id
        with self._noting():
            agent_id = self._agent()
            wanted = ContextWanted(agent_id, WINDOW_TOKENS, instance=instance, only_agent=bound)

            async def assembled() -> AssembledContext:
                return await (await self._services(agent_id, "read")).assembler.assemble(wanted)

            return await _where_it_lives(assembled)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note the error in which a message ends, of which the status of its answer tells nothing."""
        try:
            yield
        except Exception as error:
            self._entry.refused(error)
            self._note.code = error.code if isinstance(error, MemoryGatewayError) else MemoryGatewayError.code
            raise

    async def _services(self, agent_id: str, *scopes: AccessScope) -> TenantServices:
        """Return the tenant's services, of the shard where it lives by now; raises ``Forbidden`` without the scopes."""
        return (await self._entry.within(*scopes).where_it_lives()).agent(agent_id)

    def _check_scopes(self, name: str) -> None:
        try:
            self.principal.check_scopes(TOOLS[name].scopes)
        except Forbidden as error:
            self.lacking = error
            raise

    def _callable(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return those of the tools that the credential has the scopes for."""
        return [tool for tool in tools if self.principal.scopes.issuperset(tool.scopes)]

    async def _has(self, name: str) -> bool:
        """Tell whether the agent is given a tool; without an agent any is there to be called."""
        if self._named is None and self.principal.agent_id is None:
            return True
        return SET_OF[name] == (await self._settings()).tools

    async def _not_given(self) -> NotFound:
        given = ", ".join(tool.name for tool in await self.listed())
        return NotFound(f"There is no tool of this name. There are: {given or 'none'}.")

    async def _settings(self) -> AgentSettings:
        agent_id = self._agent()

        async def read() -> AgentSettings:
            return await (await self._services(agent_id)).browser.agent(agent_id)

        return await _where_it_lives(read)

    def _agent(self) -> str:
        agent_id = self.principal.agent_id if self._named is None else self._named
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
        self.principal.check_agent(agent_id)
        return agent_id


async def _where_it_lives(ask: Callable[[], Awaitable[_T]]) -> _T:
    """Ask, and ask once more where the tenant was found to have moved."""
    try:
        return await ask()
    except TenantMoved as moved:
        if not moved.repeatable:
            raise
    return await ask()
