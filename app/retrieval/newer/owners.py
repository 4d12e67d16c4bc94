"""Tells whose a thing is that two statements speak of: "my passport", "Sara's", or that of "the Malmö team"."""

import re
from collections.abc import Iterator

from app.language.tokens import BREAKS, Tokens
from app.retrieval.newer.passages import Passage, Topic
from app.retrieval.newer.wording import FUNCTION_WORDS
from app.statements.changes import Telling
from app.statements.packs import Pack

_OURS = ""
"""The owner of what is mine or ours."""
_MAX_BETWEEN = 2
"""Words between an owner and what is owned: "Sara's new family doctor"."""
_MIN_GENITIVE = 4
_DEFINITE = ("ens", "ans", "rns", "rnas")
"""What the genitive of a Swedish noun ends with that may be a person: "kundens", "flickans", "grannarnas"."""
_NEUTER = "ets"
"""What the genitive of other Swedish nouns ends with: "teamets"."""
_MOMENTS = ("begins_span", "changes.periods", "changes.timely")
_PERSONS = ("changes.others", "several")
_NO_OWNER = ("articles", "possessives", "pronouns", "prepositions", "auxiliaries", "begins_span", "changes.plain")


def of_another_owner(topic: Topic, older: Passage, newer: Passage) -> bool:
    """Tell whether what the query asks about is of somebody else in a newer statement than in the older one."""
    asked: dict[str, str] = {}
    for place, word in enumerate(topic.words):
        owner = _owner(topic.words, place, topic.pack, topic.text)
        if owner is not None:
            asked[word] = owner
    return any(_differs(word, topic, asked.get(word), older, newer) for word in (*topic.content, *topic.light))


def _differs(word: str, topic: Topic, asked: str | None, older: Passage, newer: Passage) -> bool:
    new = list(_owners(word, newer))
    if not new or None in new:
        return False
    old = [each for each in _owners(word, older) if each is not None]
    if not old and (asked is None or asked in new):
        return False
    if _OURS in new:
        return _OURS not in (old or {asked})
    return not any(each in older.known or (each in topic.known and each != asked) for each in new if each is not None)


def _owners(word: str, said: Passage) -> Iterator[str | None]:
    """Give whose a thing is at each place where a text names it; None where it does not say."""
    for one, place in said.places(word):
        if one.words[place] == word or one.pack.code == "en":
            owner = _owner(one.words, place, one.pack, one.text)
            yield _subject(one, place) if owner is None else owner
        else:
            yield None


def _owner(words: Tokens, place: int, pack: Pack, text: str) -> str | None:
    """Return who stands before a thing as its owner."""
    between = pack.words["changes.neutral"] | pack.words["former"]
    for at in range(place - 1, max(-1, place - 2 - _MAX_BETWEEN), -1):
        word = words[at]
        if word == "'s":
            return _named(words, at - 1, pack)
        if word in pack.words["possessives"]:
            return _OURS
        if word in BREAKS or any(word in pack.words[name] for name in _NO_OWNER):
            return None
        if all(each in between for each in words[at + 1 : place]) and _is_genitive(words, at, pack, text):
            return _named(words, at, pack)
    return None


def _named(words: Tokens, at: int, pack: Pack) -> str | None:
    """Return an owner; nobody owns what is of a day, or of a thing of mine, and the user is who speaks."""
    word = words[at] if at >= 0 else ""
    if not word or any(word in pack.words[name] for name in _MOMENTS):
        return None
    if word in pack.words["possessives"] or word in pack.words["first_singular"]:
        return _OURS
    begins = range(max(0, at - 1), at + 1)
    if any(pack.phrases["first_plural"].at(words, begin) == at + 1 - begin for begin in begins):
        return _OURS
    mine = at > 0 and words[at - 1] in pack.words["possessives"]
    return None if mine and not any({word, word.removesuffix("s")} & pack.words[name] for name in _PERSONS) else word


def _is_genitive(words: Tokens, at: int, pack: Pack, text: str) -> bool:
    """Tell whether a word is a genitive that no apostrophe tells, or one behind it: "Karins", "Hans'"."""
    word = words[at]
    if not word.endswith("s") or not word.isalpha() or word in FUNCTION_WORDS:
        return False
    found = re.search(rf"\b({word})(['\u2019])?", text, re.IGNORECASE)
    if found is None or found[2]:
        return found is not None
    if pack.code == "en" or len(word) < _MIN_GENITIVE or word in pack.words["asking"]:
        return False
    if pack.code == "de":
        return found[1][0].isupper() and not (at == 0 and word.endswith("es"))
    owned = at > 0 and words[at - 1] in pack.words["possessives"]
    return (found[1][0].isupper() and not word.endswith(_NEUTER)) or owned or word.endswith(_DEFINITE)


def _subject(one: Telling, place: int) -> str | None:
    """Return the name of whose "its office" is: the subject of the sentence; None where it has no name."""
    words = one.words
    theirs = one.pack.words["changes.theirs"]
    if not any(word in theirs for word in words[max(0, place - 1 - _MAX_BETWEEN) : place]):
        return None
    own = one.pack.words["possessives"] | one.pack.words["speakers"]
    if not own.isdisjoint(words[:place]):
        return None
    return next((word for word in words[:place] if word in one.names and word not in FUNCTION_WORDS), None)
