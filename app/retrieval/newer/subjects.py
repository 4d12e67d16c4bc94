"""Tells whether two statements that share words are about different things: "our team" and "the Munich team"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.language.tokens import Tokens
from app.retrieval.newer.likeness import Words, alike
from app.retrieval.newer.passages import Passage, Topic
from app.retrieval.newer.wording import FUNCTION_WORDS
from app.statements.changes import Telling
from app.statements.packs import Pack

_MAX_BEFORE = 2
_LEADS = ("articles", "possessives", "prepositions")
_MAX_COMPARED = 6
"""Shared words of which is looked at what stands beside them."""
_SETTLES_NOTHING = (
    *("changes", "changes.plain", "changes.strong", "changes.weak", "changes.denials", "changes.unchanged"),
    "changes.neutral",
)


@dataclass(frozen=True, slots=True)
class Shared:
    """The words that two statements share."""

    topic: Tokens
    """Words of the query."""
    light: Tokens
    """Words of the query such as "use"."""
    named: Tokens
    """Words that the query has not."""


def different(topic: Topic, older: Passage, newer: Passage, shared: Shared) -> bool:
    """Tell whether a newer statement is about something else than an older one."""
    return (
        any(_qualified(word, topic, older, newer, shared) for word in (*shared.topic, *shared.named)[:_MAX_COMPARED])
        or any(_asked_otherwise(word, topic, older, newer) for word in shared.topic)
        or _of_another_subject(topic, older, newer, shared)
    )


def is_moment(word: str, pack: Pack) -> bool:
    """Tell whether a word is a number, or tells a day or a time."""
    return word in pack.words["begins_span"] or word[0].isdigit()


def _qualified(word: str, topic: Topic, older: Passage, newer: Passage, shared: Shared) -> bool:
    """Tell whether another word stands beside a shared one: "report worker" for "invoice worker"."""
    value = word in shared.named
    if not topic.of_person and _apposed(word, older, newer):
        return True
    new: list[str] = []
    owned = False
    for one, place in newer.places(word):
        beside = [] if word == topic.asked else _before(one.words, place, one.pack, _names(one))
        beside += [] if value else _after(one.words, place, one.pack, one.names)
        beside = [each for each in beside if each not in older.known and each not in topic.known]
        if topic.of_person:
            beside = [each for each in beside if each not in one.names and each != one.words[0]]
        if not beside:
            return False
        new += beside
        owned = owned or "'s" in one.words[max(0, place - 2) : place]
    old = _beside(word, topic, older, value=value)
    old = [each for each in old if each not in newer.known]
    sizes = newer.pack.words["changes.sizes"]
    if sizes.isdisjoint(old):
        new = [each for each in new if each not in sizes]
    return bool(new) and (bool(old) or owned or (not value and _own(word, older) and _of_others(word, newer)))


def _beside(word: str, topic: Topic, older: Passage, *, value: bool) -> list[str]:
    """Return what stands beside a word in the older statement and in the query."""
    found: list[str] = []
    for one, place in older.places(word):
        found += _before(one.words, place, one.pack, one.names)
        found += [] if value else _after(one.words, place, one.pack, one.names)
    for place, each in enumerate(topic.words):
        if alike(each, word):
            found += _before(topic.words, place, topic.pack) + _after(topic.words, place, topic.pack)
    return found


def _own(word: str, older: Passage) -> bool:
    return any(place and one.words[place - 1] in one.pack.words["possessives"] for one, place in older.places(word))


def _of_others(word: str, newer: Passage) -> bool:
    for one, place in newer.places(word):
        first = place - len(_before(one.words, place, one.pack, one.names))
        if 0 < first < place and one.words[first - 1] in one.pack.words["articles"]:
            return True
    return False


def _apposed(word: str, older: Passage, newer: Passage) -> bool:
    """Tell whether a shared word has another name behind it: "project Adler" for "project Falke"."""
    before = {each for each in _following(word, older) if each not in newer.known}
    return bool(before) and any(each not in older.known for each in _following(word, newer))


def _following(word: str, said: Passage) -> Iterator[str]:
    """Give the names right behind a noun; a verb has a subject before it."""
    for one, place in said.places(word):
        after = one.words[place + 1 : place + 2]
        if not after or after[0] not in one.names or is_moment(after[0], one.pack):
            continue
        if not place or any(one.words[place - 1] in one.pack.words[name] for name in _LEADS):
            yield after[0]


def _asked_otherwise(word: str, topic: Topic, older: Passage, newer: Passage) -> bool:
    """Tell whether the query asks for what only the newer one is of: "the back gate", and not "the front gate"."""
    asked = {
        each
        for place, other in enumerate(topic.words)
        if alike(other, word)
        for each in _before(topic.words, place, topic.pack)
    }
    new = Words(each for one, place in newer.places(word) for each in _before(one.words, place, one.pack))
    if not any(each in new and each not in older.known for each in asked):
        return False
    old = (each for one, place in older.places(word) for each in _before(one.words, place, one.pack))
    return any(each not in asked and each not in new for each in old)


def _of_another_subject(topic: Topic, older: Passage, newer: Passage, shared: Shared) -> bool:
    """Tell whether the query's subject in the older one is another in the newer: "staging has", "production has"."""
    old = next((found for one in older.told for each in one.clauses if (found := _subject(each, one.pack))), "")
    if not old or old in newer.known or old not in topic.about:
        return False
    words = Words((*shared.topic, *shared.named, *shared.light))
    about = (one for one in newer.told if any(word in words for word in one.words))
    clauses = (
        (each, one.pack)
        for one in about
        for place, each in enumerate(one.clauses)
        if not place or any(word in words for word in each)
    )
    subjects = (_subject(clause, pack) for clause, pack in clauses)
    return any(new and new not in older.known and new not in topic.known for new in subjects)


def _subject(clause: Tokens, pack: Pack) -> str:
    """Return what a clause begins with; "" where it is the speaker, or a verb comes first."""
    words = pack.phrases["leads"].trimmed(clause)
    for place, word in enumerate(words):
        if words[place + 1 : place + 2] == ("'s",):
            continue
        if any(word in pack.words[name] for name in ("speakers", "first_singular", "changes.nobody")):
            return ""
        if word in pack.words["frames.present"] or word in pack.words["old.is"]:
            return ""
        if _qualifies(word, pack) and word not in FUNCTION_WORDS:
            return word
    return ""


def _names(one: Telling) -> frozenset[str]:
    """Return the names of a sentence, where a capital letter tells a name."""
    return frozenset() if one.pack.code == "de" else one.names


def _before(words: Tokens, place: int, pack: Pack, names: frozenset[str] = frozenset()) -> list[str]:
    """Return the words right before a word that say of what kind or whose it is."""
    found: list[str] = []
    for word in reversed(words[:place]):
        if word == "'s":
            continue
        if len(found) == _MAX_BEFORE or not _is_beside(word, pack, names):
            break
        found.append(word)
    return found


def _after(words: Tokens, place: int, pack: Pack, names: frozenset[str] = frozenset()) -> list[str]:
    """Return the word that a preposition puts to a word."""
    rest: Sequence[str] = words[place + 1 :]
    if not rest:
        return []
    if rest[0] not in pack.words["joins"]:
        return []
    articles, possessives = pack.words["articles"], pack.words["possessives"]
    found = next((word for word in rest[1:] if word not in articles and word not in possessives), "")
    return [found] if found and _is_beside(found, pack, names) else []


def _is_beside(word: str, pack: Pack, names: frozenset[str]) -> bool:
    return _qualifies(word, pack) or (word in names and not is_moment(word, pack))


def _qualifies(word: str, pack: Pack) -> bool:
    if not word[0].isalnum() or is_moment(word, pack) or "@" in word or "/" in word:
        return False
    return not any(word in pack.words[name] for name in _SETTLES_NOTHING)
