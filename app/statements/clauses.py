"""Cuts a sentence into clauses and puts each in the order that the patterns expect."""

from dataclasses import dataclass

from app.language.tokens import QUOTES, Tokens, clauses
from app.statements.packs import Pack

_MAX_SUBJECT = 5
_MAX_LABEL = 3


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
    found: list[Clause] = []
    sentence = frozenset(words)
    bare = pack.phrases["fillers"].without(_with_label(_unquoted(words), pack))
    for clause in clauses(bare, pack.words["joints"]):
        whole = _with_subject(found[-1].words if found else (), main(clause, pack), pack)
        kept, against = _contrasted(_subject_first(whole, pack), pack)
        denied = pack.phrases["blocks.clause"].within(kept)
        found.append(Clause(kept, against, denied, len(words) > len(bare), sentence))
    return found


def main(words: Tokens, pack: Pack) -> Tokens:
    """Return a clause without what it begins with before its subject: "after the audit we ..."."""
    if words[0] not in pack.words["frames.opening"]:
        return words
    if pack.compounds:  # the verb stands second
        verbs = pack.words["frames.present"] | pack.words["inverting"]
        speaks = pack.words["speakers"]
        begins = (
            place
            for place, word in enumerate(words)
            if word in verbs or not speaks.isdisjoint(words[place + 1 : place + 2])
        )
        return words[next(begins, 0) :]
    starts = (pack.words["articles"] - {"'s"}) | pack.words["possessives"] | pack.words["speakers"]
    linking = pack.words["prepositions"] | pack.words["frames.opening"] | pack.words["articles"]
    for place in range(len(words) - 1, 0, -1):
        if words[place] in starts and words[place - 1] not in linking:
            return words[place:]
    return words


def _with_label(words: Tokens, pack: Pack) -> Tokens:
    """Join a label to the sentence after it: in "customer Fenwick: our contact is Ann" it tells whose contact."""
    if words.count(":") != 1:
        return words
    place = words.index(":")
    label, rest = pack.phrases["leads"].trimmed(words[:place]), words[place + 1 :]
    tells = pack.words["old.is"]
    if not 0 < len(label) <= _MAX_LABEL or not tells.isdisjoint(label) or tells.isdisjoint(rest):
        return words
    return (*label, *rest) if pack.words["speakers"].isdisjoint(words) else words


def _with_subject(before: Tokens, words: Tokens, pack: Pack) -> Tokens:
    """Give a clause that begins with its verb the subject of the clause before: "the shop moved and opens at 8"."""
    if not before or words[0] not in pack.words["frames.present"] or words[0] in before[:1]:
        return words
    person = pack.phrases["first_singular"].at(before, 0) or pack.phrases["first_plural"].at(before, 0)
    place = next((place for place, word in enumerate(before) if word in pack.words["frames.verbs"]), 0) or person
    return (*before[:place], *words) if 0 < place <= _MAX_SUBJECT else words


def _unquoted(words: Tokens) -> Tokens:
    """Return a sentence without the marks around the only name in it that is quoted."""
    marks = sum(word in QUOTES for word in words)
    return tuple(word for word in words if word not in QUOTES) if marks == 2 else words  # noqa: PLR2004


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
