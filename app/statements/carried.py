"""Remembers what a clause spoke of without its value, for the clause after it: "I changed dentists, it's Dr. Hale"."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.language.tokens import Tokens
from app.statements import values
from app.statements.packs import Pack, RuleSet
from app.statements.topics import Topic, Voice, key, own_key, owner, topic

_NAMED_ALONE = frozenset(("number", "phone", "email", "url", "port"))
"""The kinds of value that tell what was spoken of even where nothing says that it changed."""
_NAMES = frozenset(("dog_name", "cat_name"))
_PLAIN = frozenset(("phone", "email", "url"))
_MAX_PLAIN = 4
_MAX_NAME = 3


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """A key that awaits its value, and whether the clause said that the value has changed."""

    key: str
    kind: str
    changed: bool


def named_in(words: Tokens, pack: Pack, rules: RuleSet, voice: Voice) -> SpokenOf | None:
    """Return what a clause speaks of without telling the value: "we got a new number", "I changed dentists"."""
    for pattern, slots in pack.patterns["changed"].matches(words):
        about = owner(slots.get("who", ()), pack)
        if about is None or not about.first or about.words:
            continue
        relation = _noun(slots["what"], pack) if "what" in slots else pattern.relation
        named_key = key(relation, (), about, voice, pack, rules) if relation else None
        if relation is None and pattern.relation == "name":
            relation, named_key = "name", own_key("name", _bare(slots["what"], pack), voice, pack, rules)
        if relation and named_key:
            return SpokenOf(named_key, rules.kinds.get(relation, "text"), changed=True)
    return _noun_alone(words, pack, rules, voice)


def _noun(words: Tokens, pack: Pack) -> str | None:
    """Return the relation that a noun names, in the plural too: "dentists"."""
    kept = _bare(words, pack)
    return pack.nouns.get(kept) or pack.nouns.get((*kept[:-1], kept[-1].removesuffix("s"))) if kept else None


def _bare(words: Tokens, pack: Pack) -> Tokens:
    return tuple(word for word in words if word not in pack.words["articles"] | pack.words["possessives"])


def _noun_alone(words: Tokens, pack: Pack, rules: RuleSet, voice: Voice) -> SpokenOf | None:
    for begin in range(len(words)):
        for end in range(min(len(words), begin + 3), begin, -1):
            relation = pack.nouns.get(words[begin:end])
            kind = rules.kinds.get(relation or "", "")
            if not relation or not (kind in _NAMED_ALONE or relation in _NAMES):
                continue
            skipped = pack.words["old.acquired"] | pack.words["auxiliaries"] | pack.words["first_plural"]
            before = tuple(word for word in words[:begin] if word not in skipped | pack.words["first_singular"])
            about = topic(before, pack)
            named_key = key(relation, about.words, about, voice, pack, rules) if about else None
            return SpokenOf(named_key, kind, changed=False) if named_key else None
    return None


def told(spoken: SpokenOf, words: Tokens, pack: Pack) -> Iterator[tuple[str, str]]:
    """Give the claim of a clause such as "it is ..." about what was spoken of before."""
    for _, slots in pack.patterns["followers"].matches(words):
        if spoken.changed and _is_first(slots.get("who", ()), pack):
            yield from _claim(spoken, slots["value"], pack)
    if _alone(spoken, words, pack):
        yield from _claim(spoken, words, pack)
    for place, word in enumerate(words[:-2]):
        if word in pack.words["old.it"] and words[place + 1] in pack.words["old.is"]:
            yield from _claim(spoken, words[place + 2 :], pack)
            return


def _alone(spoken: SpokenOf, words: Tokens, pack: Pack) -> bool:
    """Tell whether a clause is only the value: "555-0186" or "Dr. Mistry"."""
    if spoken.kind in _PLAIN:
        return len(words) <= _MAX_PLAIN
    if spoken.kind != "person" or not spoken.changed or len(words) > _MAX_NAME:
        return False
    common = pack.marks | pack.words["exclamations"] | pack.words["states"]
    return common.isdisjoint(words)


def _is_first(words: Tokens, pack: Pack) -> bool:
    about: Topic | None = owner(words, pack)
    return about is not None and about.first and not about.words


def _claim(spoken: SpokenOf, words: Tokens, pack: Pack) -> Iterator[tuple[str, str]]:
    value = values.value(spoken.kind, words, pack)
    if value:
        yield spoken.key, value
