"""The page that searches as an agent does, and says how each entry came to be found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain import limits
from app.domain.audit import AuditEvent, AuditFilter
from app.domain.errors import FieldError, InvalidRequest
from app.domain.limits import MAX_TOP_K
from app.domain.query import Entry, Filter, Query
from app.interfaces.console.explaining import change_in_words, changed_fields, reasons
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.fields import refused
from app.services.memories.recall import Recall

page: Final = ConsolePage("search", "Search", "Ask as the agent does, and see what it is given, and why.", "Memory")
FIELDS = ("q", "top_k", "min_score", "as_of", "created_after", "created_before", "metadata")
"""The fields of the question, as the query of the page has them."""
_TOP_K = 5
_EVENTS = 20


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry with what is told of it: the reader's rating, and what it has replaced."""

    entry: Entry
    relevance: float | None
    formers: list[tuple[str, str, int | None]]
    """The id, the content and the end of each memory that it has replaced."""


@page.get()
async def show(visit: Visit) -> View:
    """Show the form and, where something is asked, the entries of the recall."""
    agent, asked = visit.agent, asked_in(visit.query)
    if not visit.query["q"]:
        return View.of("search.html", asked=asked, recall=None, entries=[], refusal=None)
    try:
        query = question_in(visit.query)
        recall = await visit.entry.agent(agent).gateway.recall(agent, query)
    except InvalidRequest as refusal:
        return View.of("search.html", refusal.status, asked=asked, recall=None, entries=[], refusal=refusal)
    return View.of("search.html", asked=asked, recall=recall, entries=_shown(recall), refusal=None)


@page.get("/why")
async def why(visit: Visit) -> View:
    """Say why a memory, which its id or its words name, was not returned."""
    agent, asked, named = visit.agent, asked_in(visit.query), visit.query["memory"]
    services = visit.entry.agent(agent)
    shown: dict[str, Any] = {"asked": asked, "named": named, "refusal": None, "found": None, "candidates": None}
    try:
        query = question_in(visit.query)
        memory_id = visit.query.required("memory")
        if limits.MEMORY_ID.violation(memory_id) is not None:
            candidates = await services.lookup.with_words(agent, memory_id)
            if len(candidates) != 1:
                return View.of("why.html", **shown | {"candidates": candidates})
            memory_id = candidates[0].id
        found = await services.lookup.one(agent, memory_id)
        if found is None:
            return View.of("why.html", **shown, **await _absence(visit, agent, memory_id))
        explanation = await services.gateway.explain(agent, query, memory_id)
    except InvalidRequest as refusal:
        return View.of("why.html", refusal.status, **shown | {"refusal": refusal, "candidates": []})
    change = explanation.change
    return View.of(
        "why.html",
        **shown | {"found": found},
        explanation=explanation,
        reasons=reasons(query, explanation, found),
        holder=None if found.holder is None else await services.lookup.one(agent, found.holder),
        change=None if change is None else change_in_words(query, change),
        changed={} if change is None else {**asked, **changed_fields(query, change)},
    )


async def _absence(visit: Visit, agent: str, memory_id: str) -> dict[str, Any]:
    """Return what became of a memory that the agent does not have, as far as the visitor may know."""
    principal = visit.principal
    may_read = principal.admin or principal.agent_id is not None
    services, only_agent = visit.entry.tenant(agent) if may_read else (None, None)
    events: Sequence[AuditEvent] = []
    if services is not None:
        where = AuditFilter(agent_id=only_agent, memory_id=memory_id)
        events = (await services.auditor.events(where, limit=_EVENTS)).items
    owner = None
    if services is not None and principal.admin and principal.agent_id is None:
        owner = await services.lookup.agent_of(memory_id)
    return {"events": events, "owner": owner}


def asked_in(query: FormFields) -> dict[str, str]:
    """Return the fields of a question as they were written."""
    return {name: query[name] for name in FIELDS}


def question_in(query: FormFields) -> Query:
    """Return the question that the fields of a query ask.

    Raises:
        InvalidRequest: a field has not its form.
    """
    where = Filter(
        created_after=query.moment("created_after"),
        created_before=query.moment("created_before"),
        metadata=query.pairs("metadata"),
    )
    top_k = query.number("top_k", _TOP_K)
    if not 1 <= top_k <= MAX_TOP_K:
        raise refused([FieldError("top_k", f"must be from 1 to {MAX_TOP_K}")])
    return Query(
        query["q"],
        top_k=top_k,
        where=where,
        min_score=query.share("min_score", 0.0),
        as_of=query.moment("as_of"),
        explain=True,
    )


def _shown(recall: Recall) -> list[ShownEntry]:
    return [
        ShownEntry(
            entry,
            recall.relevance.get(entry.id),
            [(each.id, each.content, each.until) for each in recall.formers.get(entry.id, ())],
        )
        for entry in recall.entries
    ]
