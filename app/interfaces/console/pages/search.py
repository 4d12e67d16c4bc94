"""The page that searches as an agent does, and says how each entry came to be found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest
from app.domain.limits import MAX_TOP_K
from app.domain.memory import Memory
from app.domain.query import Entry, Filter, Query
from app.interfaces.console.absence import absence
from app.interfaces.console.explaining import change_in_words, changed_fields, reasons, verdict
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.fields import refused
from app.retrieval.pool import Candidate
from app.services.memories.lookup import Replacement
from app.services.memories.recall import Recall

page: Final = ConsolePage("search", "Search", "Ask as the agent does, and see what it is given, and why.", "Memory")
FIELDS = ("q", "top_k", "min_score", "as_of", "created_after", "created_before", "metadata")
"""The fields of the question, as the query of the page has them."""
_NAMES = {"query": "q"}
"""The field of the form for a name by which a recall refuses it."""
_TOP_K = 5
_NEAREST = 5


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry with what is told of it: the reader's rating, what it has replaced, and what holds in its place."""

    entry: Entry
    relevance: float | None
    formers: Sequence[Candidate]
    """The memories that it has replaced."""
    replacement: Replacement | None


@page.get()
async def show(visit: Visit) -> View:
    """Show the form and, where something is asked, the entries of the recall."""
    agent, asked = visit.agent, asked_in(visit.query)
    shown: dict[str, Any] = {"asked": asked, "recall": None, "entries": [], "refusal": None, "names": _NAMES}
    if not visit.query["q"]:
        return View("search.html", shown)
    services = visit.entry.agent(agent)
    try:
        query = question_in(visit.query)
        recall = await services.gateway.recall(agent, query)
    except InvalidRequest as refusal:
        return View("search.html", shown | {"refusal": refusal}, refusal.status)
    replacements = await services.lookup.replacements(agent, [entry.id for entry in recall.entries])
    findings = [finding for entry in recall.entries for finding in entry.findings]
    return View(
        "search.html",
        shown
        | {
            "recall": recall,
            "entries": _shown(recall, replacements),
            "verdict": verdict(recall),
            "channels": list(dict.fromkeys(finding.channel for finding in findings)),
            "most": max((abs(finding.weighted) for finding in findings), default=0.0),
            "has_memories": bool(recall.entries) or await services.lookup.has_any(agent),
            "filtered": bool(query.where) or query.min_score > 0 or query.as_of is not None,
        },
    )


@page.get("/why")
async def why(visit: Visit) -> View:
    """Say why a memory, which its id or its words name, was not returned."""
    agent, asked, named = visit.agent, asked_in(visit.query), visit.query["memory"]
    services = visit.entry.agent(agent)
    shown: dict[str, Any] = {"asked": asked, "named": named, "refusal": None, "found": None, "candidates": None}
    shown |= {"names": _NAMES, "replaced": {}}
    try:
        query = question_in(visit.query)
        memory_id = visit.query.required("memory")
        if limits.MEMORY_ID.violation(memory_id) is not None:
            exact = await services.lookup.with_words(agent, memory_id)
            if len(exact) != 1:
                return View.of("why.html", **shown | await _candidates(visit, agent, exact, memory_id))
            memory_id = exact[0].id
        found = await services.lookup.one(agent, memory_id)
        if found is None:
            return View.of("why.html", **shown, **await absence(visit, agent, memory_id))
        explanation = await services.gateway.explain(agent, query, memory_id)
    except InvalidRequest as refusal:
        return View.of("why.html", refusal.status, **shown | {"refusal": refusal, "candidates": []})
    change = explanation.change
    compared = {id_ for each in explanation.comparisons for id_ in (each.older_id, each.newer_id)} - {memory_id}
    replacement = (await services.lookup.replacements(agent, [memory_id])).get(memory_id)
    return View.of(
        "why.html",
        **shown | {"found": found},
        explanation=explanation,
        replacement=replacement,
        reasons=reasons(query, explanation, found, replacement),
        contents=await services.lookup.contents(sorted(compared), agent),
        holder=None if found.holder is None else await services.lookup.one(agent, found.holder),
        change=None if change is None else change_in_words(query, change),
        changed={} if change is None else {**asked, **changed_fields(query, change)},
    )


async def _candidates(visit: Visit, agent: str, exact: Sequence[Memory], words: str) -> dict[str, Any]:
    """Return the memories among which one is picked: those with the words, else those that are nearest to them."""
    candidates = exact or await _nearest(visit, agent, words)
    replaced = await visit.entry.agent(agent).lookup.replacements(agent, [memory.id for memory in candidates])
    return {"candidates": candidates, "replaced": replaced, "is_exact": bool(exact)}


async def _nearest(visit: Visit, agent: str, words: str) -> Sequence[Memory]:
    """Return the memories that are nearest to words: those that a recall finds, and hidden ones.

    A recall finds no memory that was forgotten, has expired or was replaced; these are found by some of the words.
    """
    services = visit.entry.agent(agent)
    near = await services.lookup.near_words(agent, words)
    recall = await services.gateway.recall(agent, Query(words, top_k=_NEAREST))
    found = {memory.id: memory for memory in near}
    missing = [entry.id for entry in recall.entries if entry.id not in found]
    looked_up = [await services.lookup.one(agent, id_) for id_ in missing]
    found |= {each.memory.id: each.memory for each in looked_up if each is not None}
    best = [entry.id for entry in recall.entries if entry.id in found]
    return [found[id_] for id_ in dict.fromkeys([*best, *(memory.id for memory in near)])]


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
        as_of=query.moment("as_of", to_its_end=True),
        explain=True,
    )


def _shown(recall: Recall, recorded: Mapping[str, Replacement]) -> list[ShownEntry]:
    """Return the entries; a relation that was recorded goes before what the recall has found by itself."""
    contents = {entry.id: entry.content for entry in recall.entries}
    found = {
        former.id: Replacement(heir, contents[heir], former.superseded, former.update)
        for heir, formers in recall.formers.items()
        if heir in contents
        for former in formers
    }
    replaced = found | dict(recorded)
    return [
        ShownEntry(entry, recall.relevance.get(entry.id), recall.formers.get(entry.id, ()), replaced.get(entry.id))
        for entry in recall.entries
    ]
