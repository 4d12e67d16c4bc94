"""Tells what kind of statement a sentence is: a fact, a standing order, something to be done, or an event."""

from typing import Literal

from app.statements.packs import Pack
from app.statements.tokens import Tokens

Kind = Literal["fact", "instruction", "event", "task"]


def kind(words: Tokens, pack: Pack, *, keyed: bool) -> Kind:
    """Return the kind of a sentence. An order stands at its beginning; a task may be told anywhere."""
    words = pack.phrases["leads"].trimmed(words)
    if not words:
        return "event"
    if pack.phrases["kinds.instruction"].at(words, 0) or pack.phrases["kinds.order"].within(words):
        return "instruction"
    if pack.phrases["kinds.task"].at(words, 0) or pack.phrases["kinds.duty"].within(words):
        return "task"
    if keyed or "?" in words:
        return "fact"
    if pack.phrases["kinds.event"].within(words):
        return "event"
    return "fact" if pack.phrases["kinds.fact"].within(words) else "event"
