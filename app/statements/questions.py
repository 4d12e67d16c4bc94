"""Reads which keys a question asks about."""

from collections.abc import Iterable, Iterator

from app.language.tokens import BREAKS, QUOTES, Tokens
from app.statements import frames, tools
from app.statements.packs import Pack, RuleSet
from app.statements.patterns import Slots
from app.statements.topics import USER, Topic, Voice, key, named, narrowed, own_key, owner, topic

Told = tuple[str, tuple[int, int]]
"""A class of tools, and the place of the words of a question that tell of it."""

MAX_KEYS = 4
_MAX_NOUN = 3
_MAX_REST = 3
_MAX_WORDS = 40
_MEASURES = {
    "day": ("day", "time"),
    "duration": ("duration", "amount"),
    "frequency": ("frequency", "amount"),
    "amount": ("amount", "dose", "duration"),
    "any": ("amount", "time", "duration", "day"),
}
"""The classes of value that a question may ask for, by its first words."""
_VOICE = Voice(USER)
_ME = Topic((), first=True, plural=False)


def keys(words: Tokens, pack: Pack, rules: RuleSet) -> list[str]:
    """Return at most four keys, those of the surest pattern first."""
    bare = pack.phrases["fillers"].without(tuple(word for word in words if word not in BREAKS and word not in QUOTES))
    found = dict.fromkeys(_keys(bare[:_MAX_WORDS], pack, rules))
    return list(found)[:MAX_KEYS]


def _keys(words: Tokens, pack: Pack, rules: RuleSet) -> Iterator[str]:
    for pattern, slots in pack.patterns["asks"].matches(words):
        about = owner(_who(slots.get("who", ()), pack), pack)
        yield from _key(pattern.relation, about.words if about else (), about, pack, rules)
    measured = next(iter(pack.patterns["asks_measure"].matches(words)), None)
    if measured and measured[0].relation != "any":
        yield from _measures(measured[0].relation, measured[1]["what"], pack, rules)
    yield from _choices(_named_classes(words, pack, rules), words, pack, rules)
    for pattern, slots in pack.patterns["asks_about"].matches(words):
        yield from _asked_about(pattern.relation, slots, pack, rules)
    used = ((each, (place, place + 1)) for place, word in enumerate(words) for each in rules.scopes.get(word, ()))
    yield from _choices(used, words, pack, rules)
    if measured and measured[0].relation == "any":
        yield from _measures("any", measured[1]["what"], pack, rules)


def _asked_about(asked: str, slots: Slots, pack: Pack, rules: RuleSet) -> Iterator[str]:
    """Give the keys of a noun phrase that a question asks about."""
    whose = owner(_who(slots["who"], pack), pack) if "who" in slots else None
    before = whose.words if whose else ()
    what = pack.phrases["light_verbs"].trimmed(_who(slots["what"], pack))
    about = topic(what, pack) if what else None
    whole = topic(slots["what"], pack)
    relation = (named(whole, pack) if whole else None) or (named(about, pack) if about else None)
    if about is None:
        return
    if relation and relation[0] != "date":
        yield from _key(relation[0], (*before, *relation[1]), about, pack, rules)
    elif asked != "any":
        yield from _key(asked, (*before, *(about.words or what[-1:])), about, pack, rules)


def _measures(asked: str, words: Tokens, pack: Pack, rules: RuleSet) -> Iterator[str]:
    """Give the keys of a measure or a moment of what the words of a question speak of."""
    bare = tuple(word for word in words if word not in pack.words["asking"] | pack.words["frequencies"])
    for valued in _MEASURES[asked]:
        found = frames.frame_of(bare, valued, pack, rules)
        if named := frames.key(found, valued, _VOICE, rules):
            yield named


def _choices(found: Iterable[Told], words: Tokens, pack: Pack, rules: RuleSet) -> Iterator[str]:
    """Give the keys of the classes of tools that a question tells of."""
    for told, at in found:
        each = rules.classes.get(told)
        rest = _rest((*words[: at[0]], *words[at[1] :]), each.scope if each else frozenset(), pack)
        versions = each is None or each.versions
        relation, name = ("version", words[at[0] : at[0] + 1]) if versions else (told, ())
        if 0 < len(rest) <= _MAX_REST:
            yield from _key(relation, (*rest, *name), _ME, pack, rules)
        yield from _key(relation, name, _ME, pack, rules)


def _named_classes(words: Tokens, pack: Pack, rules: RuleSet) -> Iterator[Told]:
    """Give the classes that a question names by a noun or by one of their names."""
    for begin in range(len(words)):
        for end in range(min(len(words), begin + _MAX_NOUN), begin, -1):
            relation = pack.nouns.get(words[begin:end])
            if relation and rules.kinds.get(relation) == "tool":
                yield relation, (begin, end)
                break
    for mention in tools.members(words, pack, rules):
        common = mention.everyday or rules.classes[mention.relation].context
        if not common and words[mention.start] not in pack.words["asking"]:
            yield mention.relation, (mention.start, mention.end)


def _rest(words: Tokens, scope: frozenset[str], pack: Pack) -> Tokens:
    """Return the words of a question that may narrow a choice: "in dashboard"."""
    skipped = pack.words["questions.skipped"]
    return narrowed(tuple(word for word in words if word not in skipped and word not in scope), pack)


def _key(relation: str, qualifiers: Tokens, about: Topic | None, pack: Pack, rules: RuleSet) -> Iterator[str]:
    if about is None:
        return
    name = relation in {"name", "colour"}
    found = (
        own_key(relation, qualifiers, _VOICE, pack, rules)
        if name
        else key(relation, qualifiers, about, _VOICE, pack, rules)
    )
    if found:
        yield found


def _who(words: Tokens, pack: Pack) -> Tokens:
    """Return whom a question is about, without the verb after it."""
    stops = pack.words["asked_with"] | pack.words["prepositions"] | pack.words["old.verbs"]
    while len(words) > 1 and words[-1] in stops and words[-2] not in pack.words["articles"]:
        words = words[:-1]
    return words
