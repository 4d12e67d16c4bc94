"""The page that searches as an agent does, and says how each entry came to be found."""

from dataclasses import dataclass
from typing import Final

from app.domain.errors import FieldError, InvalidRequest
from app.domain.limits import MAX_TOP_K
from app.domain.query import Entry, Filter, Query
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.fields import refused
from app.services.memories.recall import Recall

page: Final = ConsolePage("search", "Search", "Ask as the agent does, and see what it is given, and why.", "Memory")
FIELDS = ("q", "top_k", "min_score", "as_of", "created_after", "created_before", "metadata")
"""The fields of the question, as the query of the page has them."""
_TOP_K = 5


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
