"""The page that takes back what a run, a session or a credential has taught, once it was shown what that would do."""

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.domain.acts import Act
from app.domain.errors import FieldError, InvalidRequest, NotFound
from app.domain.undoing import Selected, Undone
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, See, Unconfirmed, View, Visit
from app.interfaces.fields import refused

page: Final = ConsolePage(
    "undo",
    "Take back a source",
    "Take back all that a session, a run or a credential has taught. What it had replaced holds again.",
    "Memory",
    reach="tenant",
)
FIELDS = ("agent_id", "session_id", "run_id", "credential_id")
_COUNTS = ("memories", "changed", "messages", "outcomes")
_SHOWN = 20
_UNASKED = 10
"""How many memories of a session or a run are deleted without a confirmation that is typed."""
_SEAL = "memory-gateway console take-back, 1"
_EMPTY: Mapping[str, Any] = {"forecast": None, "done": None, "recent": None, "refusal": None, "confirm": ""}


@page.get("", "admin")
async def show(visit: Visit) -> View:
    """Show the sources, or what taking one back would do, or what was done. Nothing is changed."""
    query = visit.query
    if query["act"]:
        return await _done(visit)
    asked = {name: query[name] for name in FIELDS}
    services = visit.entry.every_agent()
    if not any(asked.values()):
        return View("undo.html", {**_EMPTY, "asked": asked, "recent": await services.undo_taught.recent()})
    return await _preview(visit, query)


@page.post("/run", "admin", act="taught.undo")
async def run(visit: Visit) -> See:
    """Take the source back, once it is confirmed where that is asked for."""
    form = visit.form
    selected = _selected(visit, form)
    service = visit.entry.every_agent().undo_taught
    would = await service.dry_run(selected)
    try:
        _check(form, selected, would.memories)
    except InvalidRequest as refusal:
        raise Unconfirmed(await _preview(visit, form, refusal)) from refusal
    undone = await service.run(selected)
    forecast = would.forecast
    visit.entry.counts.update({name: getattr(undone, name) for name in _COUNTS})
    visit.entry.counts.update(
        {"holds_again": 0 if forecast is None else forecast.holds_again, "more_left": int(undone.more)}
    )
    again = "" if forecast is None else ".".join(each.memory_id for each in forecast.holding[:_SHOWN])
    rest = {name: form.get(name) for name in FIELDS} if undone.more else {}
    seal = _seals(visit, visit.act_id or "", again)[0] if again else None
    return See.at("/undo", act=visit.act_id, again=again, seal=seal, agent=visit.agent_id, **rest)


async def _preview(visit: Visit, fields: FormFields, refusal: InvalidRequest | None = None) -> View:
    """Return the view of what taking back the source of the fields would do."""
    asked = {name: fields[name] for name in FIELDS if name != "agent_id" or fields["session_id"]}
    shown = {**_EMPTY, "asked": {"agent_id": "", **asked}, "refusal": refusal}
    services = visit.entry.every_agent()
    try:
        number = max(1, fields.number("page", 1))
        skipped = _SHOWN * (number - 1)
        selected = _selected(visit, fields)
        undone = await services.undo_taught.dry_run(selected, skip=skipped)
    except (InvalidRequest, NotFound) as error:
        return View("undo.html", {**shown, "refusal": error}, error.status)
    forecast = undone.forecast
    going, holding = ([], []) if forecast is None else (forecast.going[:_SHOWN], forecast.holding[:_SHOWN])
    contents = await services.lookup.contents([*(each.id for each in going), *(each.memory_id for each in holding)])
    longest = 0 if forecast is None else max(undone.memories, forecast.holds_again)
    values = {
        "forecast": undone,
        "going": going,
        "holding": holding,
        "contents": contents,
        "known": _is_known(undone),
        "confirm": _has_to_be_typed(selected, undone.memories),
        "page_number": number,
        "pages": -(-longest // _SHOWN),
    }
    return View("undo.html", {**shown, **values}, 200 if refusal is None else refusal.status)


async def _done(visit: Visit) -> View:
    """Return the view of what an undo has done, as the row of its act tells of it."""
    query = visit.query
    services = visit.entry.every_agent()
    act = await services.acts.one(query["act"])
    asked = {name: query[name] for name in FIELDS}
    if act is None or act.act != "taught.undo":
        refusal = NotFound("The tenant has no such act of taking back.")
        return View("undo.html", {**_EMPTY, "asked": asked, "refusal": refusal}, refusal.status)
    again = query["again"]
    sealed = any(hmac.compare_digest(seal.encode(), query["seal"].encode()) for seal in _seals(visit, act.id, again))
    ids = again.split(".") if again and sealed else []
    contents = await services.lookup.contents(ids)
    return View("undo.html", {**_EMPTY, "asked": asked, "done": act, "again": _agents(contents, ids), "of": _of(act)})


def _agents(contents: Mapping[str, str], ids: Sequence[str]) -> Sequence[tuple[str, str]]:
    return [(id_, contents[id_]) for id_ in ids if id_ in contents]


def _of(act: Act) -> Mapping[str, str]:
    """Return the source that an act names, as the fields of the form; an id that was no id is not known."""
    return {name: str(act.subject.get(name) or "") for name in FIELDS}


def _seals(visit: Visit, act_id: str, again: str) -> list[str]:
    """Return what proves that memories were found to hold again by an act, by each key."""
    keys = visit.entry.keys(_SEAL)
    return [hmac.new(key, f"{act_id} {again}".encode(), "sha256").hexdigest() for key in keys]


def _is_known(undone: Undone) -> bool:
    forecast = undone.forecast
    again = 0 if forecast is None else forecast.holds_again
    return any((undone.memories, undone.changed, undone.messages, undone.outcomes, again))


def _has_to_be_typed(selected: Selected, memories: int) -> bool:
    return selected.credential_id is not None or memories > _UNASKED


def _check(form: FormFields, selected: Selected, memories: int) -> None:
    """Check that no more would be deleted than was shown, and that the form confirms it where that is asked for.

    Raises:
        InvalidRequest: it is not so.
    """
    if memories > form.number("memories", 0):
        raise refused([FieldError("memories", "are more than were shown: look at them, and confirm once more")])
    source = selected.credential_id or selected.session_id or selected.run_id
    typed = form["confirm"]
    if _has_to_be_typed(selected, memories) and typed not in {str(memories), source}:
        raise refused([FieldError("confirm", f"must be the number {memories}, or the id of the source")])


def _selected(visit: Visit, fields: FormFields) -> Selected:
    """Return the source that the fields name; an agent alone is none.

    Raises:
        InvalidRequest: no source or several are named, or an id has another form.
        Forbidden: the agent is the service's own.
    """
    session_id = fields.get("session_id")
    agent_id = fields.get("agent_id") if session_id is not None else None
    if agent_id is not None:
        visit.principal.check_agent(agent_id)
    return Selected(fields.get("run_id"), agent_id, session_id, fields.get("credential_id"))
