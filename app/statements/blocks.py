"""Tells which sentences state nothing for sure: hearsay, plans, questions, conditions, quotations."""

from app.language.tokens import QUOTES, Tokens
from app.statements.packs import Pack

_MAX_QUOTED = 6


def blocked(words: Tokens, pack: Pack) -> bool:
    """Tell whether a sentence is hearsay, a plan, a question, a condition or one of several."""
    if not words or "?" in words or _quotes(words):
        return True
    if pack.phrases["blocks.anywhere"].within(words):
        return True
    while words and (length := pack.phrases["leads"].at(words, 0) or words[0] in ",:;"):
        words = words[length:]
    return not words or words[0] in pack.words["blocks.opens"] or pack.phrases["blocks.sentence"].within(words)


def asserted(words: Tokens, pack: Pack) -> list[Tokens]:
    """Return the parts of a sentence that hold whatever the others say: "nobody could wait, so lunch is at 12"."""
    parts: list[list[str]] = [[]]
    for word, after in zip(words, (*words[1:], ""), strict=False):
        if word in pack.words["blocks.parts"] and after not in pack.words["prepositions"]:
            parts.append([])
        else:
            parts[-1].append(word)
    apart = [tuple(part) for part in parts if part]
    return [part for part in apart if not blocked(part, pack)] if len(apart) > 1 else []


def changes_told(words: Tokens, pack: Pack) -> Tokens:
    """Take the auxiliary from "was moved", which tells a change, unlike "was"."""
    changed = pack.phrases["blocks.changed"]
    if changed.by_first.keys().isdisjoint(words):
        return words
    return tuple(
        word for place, word in enumerate(words) if word not in changed.by_first or not changed.at(words, place)
    )


def opens_quotation(words: Tokens) -> bool:
    """Tell whether a sentence opens a quotation that it does not close, or closes one."""
    return not QUOTES.isdisjoint(words) and sum(word in QUOTES for word in words) % 2 == 1


def _quotes(words: Tokens) -> bool:
    """Tell whether a sentence quotes more than a name."""
    if QUOTES.isdisjoint(words):
        return False
    places = [place for place, word in enumerate(words) if word in QUOTES]
    return places[-1] - places[0] > _MAX_QUOTED
