"""The pages that list an agent's memories, and show one: what it replaced, who wrote it, what was done to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from app.domain.audit import AuditFilter
from app.domain.claim import MemoryType
from app.domain.comparing import STATED, Comparison
from app.domain.errors import Forbidden, InvalidRequest, NotFound
from app.domain.profile_answers import MemoryDetail, Version
from app.domain.query import Filter
from app.interfaces.console.absence import absence
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, See, View, Visit
from app.interfaces.console.sources import sources_of
from app.interfaces.cursors import Listing

page: Final = ConsolePage(
    "memories", "Memories", "All memories of the agent, newest first, also those that hold no longer.", "Memory"
)
FIELDS = ("words", "type", "created_after", "created_before", "metadata", "written_by")
_PAGE = 25
_EVENTS = 50
_DONE = {
    "forgotten": "The memory is forgotten: no recall finds it. You can take that back below.",
    "remembered": "The memory is remembered again.",
    "corrected": "Stored. This memory holds now, and the one that it corrects is recalled no more.",
    "taken_back": "The correction is taken back: this memory holds again.",
}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another version of what a memory states; ``probability`` is that of a reader's relation, else None: certain."""

    version: Version
    probability: float | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The other versions of what a memory states, each once: those before it, and those after it."""

    replaced: list[Neighbour]
    replaced_by: list[Neighbour]

    @classmethod
    def of(cls, detail: MemoryDetail, relations: Sequence[Comparison]) -> "Neighbours":
        """Return the neighbours of a memory, whose relations to others say which a reader has found."""
        read = {(each.older_id, each.newer_id): each.probability for each in relations if each.version != STATED}
        own = (detail.memory.occurred_at or detail.memory.created_at, detail.memory.id)
        keyed = sorted(detail.versions, key=lambda version: not version.key.startswith("~"))  # a key is certain
        others = {version.memory_id: version for version in keyed if version.memory_id != own[1]}
        before, after = list[Neighbour](), list[Neighbour]()
        for each in others.values():
            is_before = (each.happened_at, each.memory_id) < own
            pair = (each.memory_id, own[1]) if is_before else (own[1], each.memory_id)
            found = Neighbour(each, read.get(pair) if each.key.startswith("~") else None)
            (before if is_before else after).append(found)
        return cls(before, after)


@page.get()
async def listing(visit: Visit) -> View:
    """List the memories that pass the filter."""
    agent, query = visit.agent, visit.query
    asked = {name: query[name] for name in FIELDS}
    shown: dict[str, Any] = {
        "asked": asked,
        "memories": [],
        "replaced": {},
        "cursor": None,
        "refusal": None,
        "filtered": False,
    }
    services, agent_id = visit.entry.tenant(agent)
    try:
        if asked["words"]:
            newest = await services.lookup.with_words(agent, asked["words"], "words")
            replaced = await services.lookup.replacements(agent, [memory.id for memory in newest])
            return View("memories.html", shown | {"memories": newest, "replaced": replaced, "filtered": True})
        where, writer = _filter(query), query.get("written_by")
        of_page = Listing(visit.entry, None, query.get("cursor"), agent_id=agent_id, where=where, written_by=writer)
        found = await services.browser.list(agent_id, where, limit=_PAGE, after=of_page.after, written_by=writer)
    except InvalidRequest as refusal:
        return View("memories.html", shown | {"refusal": refusal}, refusal.status)
    return View(
        "memories.html",
        shown
        | {
            "memories": found.items,
            "replaced": await services.lookup.replacements(agent, [memory.id for memory in found.items]),
            "cursor": of_page.cursor(found.after),
            "filtered": bool(where) or writer is not None,
        },
    )


@page.get("/{memory_id}")
async def one(visit: Visit) -> View:
    """Show a memory, or what became of one that the agent has no longer."""
    try:
        return await _shown(visit)
    except NotFound as missing:
        memory_id = visit.path["memory_id"]
        gone = await absence(visit, visit.agent, memory_id)
        return View.of("gone.html", missing.status, memory_id=memory_id, **gone)


@page.post("/{memory_id}/correct", "read", "write")
async def correct(visit: Visit) -> View | See:
    """Store what holds in place of a memory."""
    agent, memory_id, form = visit.agent, visit.path["memory_id"], visit.form
    try:
        at = form.number("at", visit.entry.now())
        content = form.required("content")
        new_id = await visit.entry.agent(agent).corrections.correct(agent, memory_id, content, at)
    except InvalidRequest as refusal:
        return await _shown(visit, refusal, form["content"])
    return See.at(f"/memories/{new_id}", agent=agent, done="corrected")


@page.post("/{memory_id}/take-back", "read", "write")
async def take_back(visit: Visit) -> See:
    """Take a correction back, and show the memory that holds again."""
    agent = visit.agent
    old_id = await visit.entry.agent(agent).corrections.take_back(agent, visit.path["memory_id"])
    return See.at(f"/memories/{old_id}", agent=agent, done="taken_back")


@page.get("/{memory_id}/forget")
async def ask_to_forget(visit: Visit) -> View:
    """Say what forgetting a memory does, before it is done."""
    agent, memory_id = visit.agent, visit.path["memory_id"]
    detail = await visit.entry.agent(agent).profiles.get(agent, memory_id)
    return View.of("forget.html", memory=detail.memory)


@page.post("/{memory_id}/forget", "read", "write")
async def forget(visit: Visit) -> See:
    """Forget a memory, until that is taken back."""
    agent, memory_id = visit.agent, visit.path["memory_id"]
    await visit.entry.agent(agent).profiles.forget(agent, memory_id)
    return See.at(f"/memories/{memory_id}", agent=agent, done="forgotten")


@page.post("/{memory_id}/remember", "read", "write")
async def remember(visit: Visit) -> See:
    """Take back that a memory was forgotten."""
    agent, memory_id = visit.agent, visit.path["memory_id"]
    await visit.entry.agent(agent).profiles.unforget(agent, memory_id)
    return See.at(f"/memories/{memory_id}", agent=agent, done="remembered")


async def _shown(visit: Visit, refusal: InvalidRequest | None = None, content: str | None = None) -> View:
    """Return the view of a memory; ``content`` is what the form of a correction had when it was refused."""
    agent, memory_id = visit.agent, visit.path["memory_id"]
    services = visit.entry.agent(agent)
    detail = await services.profiles.get(agent, memory_id)
    corrects = await services.corrections.corrected_by(agent, memory_id)
    named = [*([] if corrects is None else [corrects]), *(source.memory_id for source in detail.sources)]
    events = None
    try:
        of_tenant, agent_id = visit.entry.tenant(agent)
        events = await of_tenant.auditor.events(AuditFilter(agent_id=agent_id, memory_id=memory_id), limit=_EVENTS)
    except Forbidden:  # a credential for all agents that is no administrator's lists nothing
        pass
    return View.of(
        "memory.html",
        200 if refusal is None else refusal.status,
        memory=detail.memory,
        replacement=(await services.lookup.replacements(agent, [memory_id])).get(memory_id),
        neighbours=Neighbours.of(detail, await services.lookup.relations(agent, memory_id)),
        sources=detail.sources,
        taught_by=await sources_of(visit, detail.memory),
        corrects=corrects,
        contents=await services.lookup.contents(named, agent),
        events=None if events is None else events.items,
        done=_DONE.get(visit.query["done"]),
        refusal=refusal,
        content=content,
        now=visit.entry.now(),
    )


def _filter(query: FormFields) -> Filter:
    kind = query["type"]
    return Filter(
        created_after=query.moment("created_after"),
        created_before=query.moment("created_before"),
        metadata=query.pairs("metadata"),
        type=cast("MemoryType", kind) if kind in get_args(MemoryType) else None,
    )
