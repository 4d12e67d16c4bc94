"""Calls ``remember``, ``recall``, ``forget`` and ``list``, through the agent's profile."""

import re
from collections.abc import Mapping
from typing import Any

from app.domain.claim import MemoryType
from app.domain.errors import NotFound
from app.domain.json_types import Json
from app.domain.limits import MEMORY_ID_FORM
from app.domain.query import Query
from app.interfaces.tools import profile_answers as answers
from app.interfaces.tools.arguments import (
    Ask,
    ForgetArguments,
    ListArguments,
    Reader,
    RecallQuestion,
    RememberArguments,
)
from app.interfaces.tools.profile_tools import FORGET, LIST, RECALL, REMEMBER
from app.runtime.tenant_services import TenantServices

_SHOWN = 20
_LIKELY = 0.2
"""The score from which on a memory may be on the subject (docs/retrieval.md)."""
_POSSIBLE, _CLEAR = 0.3, 0.7
"""Words mean a memory clearly whose score is so high, where no other has the lower one. Both are of one memory alone,
whatever else is there: so the same words, once they have forgotten one, do not go on to the next."""

_ID = re.compile(rf"\A\W*(?:id\W+)?({MEMORY_ID_FORM})\W*", re.IGNORECASE)
_KINDS: Mapping[str, MemoryType] = {
    **dict.fromkeys(("fact", "facts"), "fact"),
    **dict.fromkeys(("instruction", "instructions", "rule", "rules"), "instruction"),
    **dict.fromkeys(("event", "events"), "event"),
    **dict.fromkeys(("task", "tasks", "todo", "todos", "to-do", "to-dos"), "task"),
}


def _remember(arguments: Mapping[str, Any]) -> Ask:
    content = RememberArguments.read(arguments).content

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        return answers.remembered(await services.profiles.remember(agent_id, content))

    return ask


def _recall(arguments: Mapping[str, Any]) -> Ask:
    query = RecallQuestion.read(arguments).query

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        return answers.recalled(await services.profiles.recall(agent_id, query), _LIKELY)

    return ask


def _forget(arguments: Mapping[str, Any]) -> Ask:
    memory = ForgetArguments.read(arguments).memory
    named = _ID.fullmatch(memory)

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        if named is None:
            return await _forget_meant(services, agent_id, memory)
        return await _forget_named(services, agent_id, named[1].upper())

    return ask


def _list(arguments: Mapping[str, Any]) -> Ask:
    about = ListArguments.read(arguments).about

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        if about is None:
            return await _newest(services, agent_id, None, "of what is remembered")
        kind = _KINDS.get(about.strip().strip(".").lower())
        if kind is not None:
            return await _newest(services, agent_id, kind, f"of the {kind}s")
        return await _about(services, agent_id, about)

    return ask


READERS: dict[str, Reader] = {
    REMEMBER.name: _remember,
    RECALL.name: _recall,
    FORGET.name: _forget,
    LIST.name: _list,
}


async def _forget_named(services: TenantServices, agent_id: str, memory_id: str) -> dict[str, Json]:
    try:
        return answers.forgotten(await services.profiles.forget(agent_id, memory_id))
    except NotFound:
        return answers.kept("there is no memory with this id.")


async def _forget_meant(services: TenantServices, agent_id: str, words: str) -> dict[str, Json]:
    """Forget the one memory that the words clearly mean; where there is another that may be meant, forget nothing."""
    found = await services.gateway.recall(agent_id, Query(words, _SHOWN, for_model=True))
    likely = [entry for entry in found.entries if entry.score >= _LIKELY]
    lines = [answers.line_of_entry(entry) for entry in likely]
    if found.degraded:
        return answers.kept("name the memory by its id.", lines, found.degraded)
    if not likely:
        return answers.kept(f"no memory is meant. {answers.NOTHING}")
    possible = [entry for entry in likely if entry.score >= _POSSIBLE]
    if len(possible) > 1:
        return answers.kept("more than one memory may be meant. Name one by its id:", lines)
    if likely[0].score < _CLEAR or not lines[0].is_whole or likely[0].id in found.formers:
        # What is found in place of what it has replaced is not what the words say.
        return answers.kept("no memory is clearly meant. If one of these is, name it by its id:", lines)
    return await _forget_named(services, agent_id, likely[0].id)


async def _newest(services: TenantServices, agent_id: str, kind: MemoryType | None, what: str) -> dict[str, Json]:
    page = await services.profiles.list(agent_id, limit=_SHOWN, after=None, type=kind)
    if not page.items:
        return answers.answer("Nothing is remembered yet." if kind is None else f"No {kind}s are remembered.")
    lines = [answers.line_of_memory(memory) for memory in page.items]
    return answers.listed(lines, f"The newest {what}:", more=page.after is not None)


async def _about(services: TenantServices, agent_id: str, words: str) -> dict[str, Json]:
    found = await services.gateway.recall(agent_id, Query(words, _SHOWN, for_model=True, collapse="restatements"))
    lines = [answers.line_of_entry(entry) for entry in found.entries if entry.score >= _LIKELY]
    if not lines:
        return answers.nothing(found.degraded)
    return answers.listed(lines, "What is remembered about that, best first:", degraded=found.degraded)
