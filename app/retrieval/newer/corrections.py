"""Tells whether a later statement corrects an earlier one, in whatever words, for what a query asks about."""

from itertools import islice, pairwise

from app.language.tokens import BREAKS
from app.retrieval.newer.likeness import Words, alike
from app.retrieval.newer.owners import of_another_owner
from app.retrieval.newer.passages import Passage, Topic
from app.retrieval.newer.subjects import Shared, different, is_moment
from app.statements.changes import Telling
from app.statements.packs import Pack

_COVERED = 0.5
_MAX_NAMED = 6
"""Words beside those of the query that two statements are found to share."""
_MIN_NAME = 6
_MIN_COMPOUND = 5
_ENOUGH = 2
"""Words of the query, or others, that tell without a name that two statements are of one thing."""


def corrected(topic: Topic, older: Passage, newer: Passage) -> int:
    """Return how many words tell that a newer statement that tells a change corrects an older one; 0: it does not."""
    shared = _shared(topic, older, newer)
    if shared is None or not _linked(topic, older, newer, shared) or not _changes(topic, older, newer, shared):
        return 0
    if different(topic, older, newer, shared) or of_another_owner(topic, older, newer):
        return 0
    return max(1, len(shared.topic))


def unsettled(topic: Topic, older: Passage, newer: Passage) -> bool:
    """Tell whether a newer statement of a value is not sure, or about something else than an older one."""
    if newer.open or of_another_owner(topic, older, newer):
        return True
    if not newer.terse:
        return False
    if any(_of_others(one, topic, older) for one in newer.spoken) or (newer.momentary and older.momentary):
        return True
    shared = _shared(topic, older, newer)
    return shared is not None and different(topic, older, newer, shared)


def _linked(topic: Topic, older: Passage, newer: Passage, shared: Shared) -> bool:
    """Tell whether what two statements share is enough, and the older one states something of it."""
    words = (*shared.topic, *shared.named, *shared.light)
    if not any("?" not in one.words for word in words for one, _ in older.places(word)):
        return False
    if any(word in older.names or word in newer.names or not word.isalpha() for word in shared.named):
        return True
    told = [word for word in shared.topic if word not in topic.names or _spoken_of(word, newer)]
    if told and (shared.light or len(told) >= min(_ENOUGH, _COVERED * len(topic.content))):
        return True
    return bool(shared.named) or any(_new_values(one, older) for one in newer.told)


def _spoken_of(name: str, newer: Passage) -> bool:
    """Tell whether a name is said of somebody, and not to somebody: "thanks, Jon!"."""
    return any(
        alike(word, name) and after not in BREAKS for one in newer.told for word, after in pairwise((*one.words, "."))
    )


def _shared(topic: Topic, older: Passage, newer: Passage) -> Shared | None:
    """Return the words that tell that two statements are of one thing; None where they may not be."""
    before = older.asked
    common = [word for word in before if word in newer.asked]
    if all(_is_small(word, topic.pack) or word in topic.pack.words["changes.neutral"] for word in common):
        common = []
    light = tuple(word for word in topic.light if word in older.known and word in newer.known)
    named = list(islice((word for word in older.naming if word in newer.about), _MAX_NAMED))
    telling = [word for word in named if not _is_small(word, older.pack)]
    sure = [word for word in telling if _is_name(word, older, newer)]
    sure = sure or (telling if len(telling) >= _ENOUGH else [])
    if not common:
        linked = before or light or newer.asked
        named = sure if linked or any(word in older.known for word in topic.light) else []
    if not common and not named and not light:
        return None
    missing = [word for word in before if word in topic.names and word not in common]
    if missing and not sure and any(_is_new_name(word, topic, older, newer) for word in newer.names):
        return None
    return Shared(tuple(common), light, tuple(named))


def _is_small(word: str, pack: Pack) -> bool:
    """Tell whether a word is of a day or a small number, which many statements have."""
    return word in pack.words["begins_span"] or (word.isdecimal() and len(word) <= _ENOUGH)


def _is_name(word: str, older: Passage, newer: Passage) -> bool:
    longest = _MIN_COMPOUND if older.pack.code == "de" else _MIN_NAME
    return word in older.names or word in newer.names or len(word) >= longest or not word.isalpha()


def _is_new_name(word: str, topic: Topic, older: Passage, newer: Passage) -> bool:
    return word not in older.known and word not in topic.known and not is_moment(word, newer.pack)


def _changes(topic: Topic, older: Passage, newer: Passage, shared: Shared) -> bool:
    """Tell whether a sentence of the newer statement that is about the older one, or stands beside one, corrects it."""
    words = (*shared.topic, *shared.named, *shared.light, *newer.asked)
    spoken = {id(one) for word in words for one, _ in newer.places(word)}
    about = [id(one) in spoken for one in newer.told]
    for place, one in enumerate(newer.told):
        near = about[place]
        if not near and not (newer.brief and any(about[max(0, place - 1) : place + 2])):
            continue
        if one.sure and not _of_another(one, topic, older, near=near):
            if _tells(one, older, shared, near=near):
                return True
            if near and newer.brief and not one.unchanged and _restates(one, topic, older, shared):
                return True
    return False


def _of_others(one: Telling, topic: Topic, older: Passage) -> bool:
    return any(word not in older.known and word not in topic.known for word in one.others)


def _tells(one: Telling, older: Passage, shared: Shared, *, near: bool) -> bool:
    """Tell whether a sentence says itself that something has changed."""
    if one.former and any(word in Words(one.former) for word in shared.named):
        return True
    if not shared.topic and not shared.named:
        return near and one.changes and bool(_new_values(one, older))
    changes = one.changes and (not one.unchanged or bool(one.values))
    if not changes and not (near and one.ends and (shared.topic or older.asked)):
        return False
    return not _repeats(one, older)


def _repeats(one: Telling, older: Passage) -> bool:
    """Tell whether a sentence has all values of the older statement, and no other of their classes."""
    told = [value for each in older.told if one.values for value in each.values if value[0] != "frequency"]
    return bool(told) and one.values.issuperset(told) and not _new_values(one, older)


def _of_another(one: Telling, topic: Topic, older: Passage, *, near: bool) -> bool:
    """Tell whether a sentence is told of other persons than the older statement, or of another day than is asked."""
    if _of_others(one, topic, older) or _of_another_period(one, topic):
        return True
    persons = one.pack.words["changes.third"]
    return near and not persons.isdisjoint(one.words) and not any(word in older.known for word in persons)


def _of_another_period(one: Telling, topic: Topic) -> bool:
    named = one.pack.words["changes.periods"].intersection(one.words) if topic.period else frozenset()
    return bool(named) and named.isdisjoint(topic.period)


def _restates(one: Telling, topic: Topic, older: Passage, shared: Shared) -> bool:
    """Tell whether a sentence states another value of the same, without a word of change."""
    if one.happens:
        return False
    labelled = one.label and any(word in one.label for word in topic.content if word not in topic.names)
    if labelled and any(one.label == each.label and one.words != each.words for each in older.told):
        return True
    if topic.of_manner or not one.hints or not one.values:
        return False
    lacking = len(older.asked) - len(shared.topic)
    covers = not lacking or len(shared.topic) == lacking == 1
    named = any(word.isalpha() for word in shared.named)
    return (covers or named) and bool(_new_values(one, older)) and one.values.isdisjoint(older.values)


def _new_values(one: Telling, older: Passage) -> frozenset[tuple[str, str]]:
    """Return the values of a sentence that are of a class of those of the older statement, and others."""
    classes = {of for of, _ in older.values}
    return frozenset(value for value in one.values - older.values if value[0] in classes)
