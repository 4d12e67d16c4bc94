"""Cuts a sentence into clauses and puts each in the order that the patterns expect."""

from dataclasses import dataclass

from app.statements.packs import Pack
from app.statements.tokens import Tokens, clauses


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with what is set against it: "pnpm" with "instead of npm"."""

    words: Tokens
    against: Tokens
    denied: bool
    alone: bool
    """The rest of the clause is only words such as "please" and "again"."""
    sentence: frozenset[str]
    """The words of the whole sentence."""


def divided(words: Tokens, pack: Pack) -> list[Clause]:
    """Return the clauses of a sentence, without the fillers."""
    found, sentence = [], frozenset(words)
    bare = pack.phrases["fillers"].without(words)
    for clause in clauses(bare, pack.words["joints"]):
        kept, against = _contrasted(_subject_first(clause, pack), pack)
        denied = pack.phrases["blocks.clause"].within(kept)
        found.append(Clause(kept, against, denied, len(words) > len(bare), sentence))
    return found


def _contrasted(words: Tokens, pack: Pack) -> tuple[Tokens, Tokens]:
    """Divide "pnpm, not npm" and "pnpm instead of npm" into what holds and what does not."""
    contrast = pack.phrases["old.contrast"]
    if contrast.by_first.keys().isdisjoint(words):
        return words, ()
    for place in range(1, len(words) - 1):
        if contrast.at(words, place) and words[place - 1] not in pack.words["blocks.denials"]:
            return words[:place], words[place:]
    return words, ()


def _subject_first(words: Tokens, pack: Pack) -> Tokens:
    """Put the subject before the verb where something else begins the clause: "seit Juni arbeite ich bei ..."."""
    inverting = pack.words["inverting"]
    if inverting.isdisjoint(words):
        return words
    for place, word in enumerate(words[:-1]):
        if word in inverting and words[place + 1] in pack.words["speakers"]:
            return (*words[:place], words[place + 1], word, *words[place + 2 :])
    return words
