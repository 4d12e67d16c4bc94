"""Tells what kind of statement a sentence is: a fact, a standing order, something to be done, or an event."""

from typing import Literal

from app.language.tokens import Tokens
from app.statements.packs import Pack

Kind = Literal["fact", "instruction", "event", "task"]


def kind(words: Tokens, pack: Pack, *, keyed: bool) -> Kind:
    """Return the kind of a sentence. An order stands at its beginning; a task may be told anywhere."""
    words = pack.phrases["leads"].trimmed(words)
    if not words:
        return "event"
    if pack.phrases["kinds.instruction"].at(words, 0) or pack.phrases["kinds.order"].within(words):
        return "instruction"
    if begins_task(words, pack) or pack.phrases["kinds.duty"].within(words):
        return "task"
    if keyed or "?" in words:
        return "fact"
    if pack.phrases["kinds.event"].within(words):
        return "event"
    return "fact" if pack.phrases["kinds.fact"].within(words) else "event"


def begins_task(words: Tokens, pack: Pack) -> bool:
    """Tell whether a sentence begins as something that is to be done: "book a table"."""
    words = pack.phrases["leads"].trimmed(words)
    return bool(words) and pack.phrases["kinds.task"].at(words, 0) > 0
