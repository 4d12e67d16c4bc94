"""Loads the language packs and the relations into one frozen rule set; a new language is a new file in ``packs/``."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from app.language.tokens import Phrases, Tokens, tokens
from app.statements.patterns import Patterns

_LINKING = (
    "joins",
    "old.to",
    "old.before",
    "auxiliaries",
    "first_singular",
    "first_plural",
    "uses.tool",
    "uses.answer",
)
"""The lists of words that narrow no choice."""
_UNFRAMED = (
    *("articles", "possessives", "first_singular", "first_plural", "prepositions", "joins", "auxiliaries", "about"),
    *("changes", "before_date", "speakers", "frames.light", "frames.plain", "frames.states"),
    *("frames.to", "frames.from", "frames.until", "old.it"),
)
"""The lists of words that do not tell what a value is of."""
_NOT_NARROWING = ("linking", "blocks.opens", "possessives", "asked_with", "prepositions", "asking")
"""The lists of words of a question that narrow no choice; two of them are joined of others first."""
_MOMENTS = (
    *("weekdays", "weekdays_plural", "weekdays_short", "months", "months_short", "clock", "noon"),
    *("half_past", "half_before", "quarter_past", "quarter_before"),
)
MIN_ENDING = 4
_PATTERNS = (
    *("facts", "facts_of_one", "inverted", "states", "topics", "roles"),
    *("changed", "followers", "asks", "asks_about", "asks_measure"),
)
_LISTS = ("blocks", "kinds", "uses", "contexts", "old", "frames", "changes")


@dataclass(frozen=True, slots=True)
class Pack:
    """What the rules know of one language."""

    code: str
    marks: frozenset[str]
    phrases: Mapping[str, Phrases]
    words: Mapping[str, frozenset[str]]
    order: Mapping[str, Tokens]
    patterns: Mapping[str, Patterns]
    nouns: Mapping[Tokens, str]
    compounds: Mapping[str, str]
    plural: str
    """The ending of the plural that may be taken from a word, "" where there is no such ending."""
    verbal: tuple[str, ...]
    """The endings of a verb that tells what holds."""
    endings: tuple[str, ...]
    """The endings that may be taken from a longer word, so that its forms are one word."""


@dataclass(frozen=True, slots=True)
class ToolClass:
    """A class of names of which one holds at a time, such as the package managers."""

    scope: frozenset[str]
    group: str
    context: bool
    versions: bool
    open: bool
    counted: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A name of a class, the name it counts as, and whether it is an everyday word that needs a context."""

    words: Tokens
    relation: str
    value: str
    everyday: bool


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All that is read from the packaged data."""

    packs: tuple[Pack, ...]
    kinds: Mapping[str, str]
    described: Mapping[str, str]
    shared: frozenset[str]
    classes: Mapping[str, ToolClass]
    members: Mapping[str, tuple[Member, ...]]
    """The names of all classes by their first word, the longest first."""
    scopes: Mapping[str, tuple[str, ...]]
    """The classes that a word such as "styling" tells of."""
    many: frozenset[str]
    """The predicates of facts that have many values at a time."""


def load() -> RuleSet:
    """Read the packaged files."""
    folder = resources.files(__package__)
    relations = tomllib.loads((folder / "relations.toml").read_text("utf-8"))
    files = sorted(
        (file for file in (folder / "packs").iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )
    kinds = {relation: kind for kind, names in relations["kinds"].items() for relation in _listed(names)}
    classes: dict[str, Any] = relations["classes"]
    shared = {name for name, each in classes.items() if not each.get("personal")}
    packs = tuple(_pack(tomllib.loads(file.read_text("utf-8"))) for file in files)
    roles = (role for pack in packs for role in pack.words["occupations"])
    return RuleSet(
        packs=packs,
        kinds={**dict.fromkeys(roles, "person"), **kinds, **dict.fromkeys(classes, "tool")},
        described=relations["described"],
        shared=frozenset(shared.union(_listed(relations["shared"]["relations"]))),
        classes={name: _class(each) for name, each in classes.items()},
        members=_members(classes),
        scopes=_scopes(classes),
        many=frozenset(" ".join(tokens(each)) for text in relations["many"].values() for each in _listed(text)),
    )


def _class(source: Mapping[str, Any]) -> ToolClass:
    return ToolClass(
        frozenset(source.get("scope", ())),
        source.get("group", "tool"),
        source.get("context", False),
        source.get("versions", False),
        source.get("open", False),
        source.get("counted", False),
    )


def _members(classes: Mapping[str, Any]) -> dict[str, tuple[Member, ...]]:
    """Return the names of all classes by their first word, the longest first; a name belongs to one class."""
    found: dict[Tokens, Member] = {}
    for relation, each in classes.items():
        for text in _listed(each["members"]):
            name, _, counts_as = (part.strip() for part in text.rstrip("?").partition(">"))
            words = tokens(name)
            found.setdefault(words, Member(words, relation, counts_as or " ".join(words), text.endswith("?")))
    by_first: dict[str, list[Member]] = {}
    for member in sorted(found.values(), key=lambda member: -len(member.words)):
        by_first.setdefault(member.words[0], []).append(member)
    return {first: tuple(rest) for first, rest in by_first.items()}


def _scopes(classes: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the classes that each word of a scope tells of, in the order of the classes."""
    found: dict[str, list[str]] = {}
    for relation, each in classes.items():
        scope = each.get("scope", ()) if each.get("group", "tool") == "tool" and not each.get("context") else ()
        for word in (*each.get("asked", ()), *scope):
            found.setdefault(word, []).append(relation)
    return {word: tuple(relations) for word, relations in found.items()}


def _pack(source: Mapping[str, Any]) -> Pack:
    lists = _phrase_lists(source)
    nouns = _nouns(source)
    words = {name: frozenset(_single(phrases)) for name, phrases in lists.items()}
    words["linking"] = frozenset().union(*(words[name] for name in _LINKING))
    words["changes"] = frozenset(source["lists"]["change"]) | frozenset(source["lists"]["move"])
    words["begins_moment"] = frozenset().union(*(words[name] for name in _MOMENTS))
    words["frames.stems"] = _stems(words["frames.present"] | words["frames.plain"], _listed(source["endings"]))
    words["begins_span"] = words["begins_moment"].union(
        *(words[name] for name in ("numerals", "tens", "ordinals", "frequencies")),
        (phrase[0] for phrase in lists["cycles"]),
    )
    words["frames.not_past"] = words["auxiliaries"] | words["changes"] | words["frames.states"]
    words["frames.vague"] = words["pronouns"] - words["frames.plain"]
    words["frames.verbs"] = words["old.is"] | words["frames.present"]
    words["doses"] = words["doses"] - words["measures"]
    words["frames.linking"] = frozenset().union(*(words[name] for name in _UNFRAMED)) - words["frames.telling"]
    words["asked_with"] = words["uses.tool"] | words["uses.answer"]
    words["questions.skipped"] = frozenset().union(*(words[name] for name in _NOT_NARROWING))
    counted_in = ("frames.present", "durations", "weekdays", "weekdays_plural", "months", "changes")
    return Pack(
        code=source["code"],
        marks=frozenset(
            (
                *_single(lists["marks"]),
                *(word for name in counted_in for word in words[name]),
                *_single(lists["uses.tool"]),
                *(words[0] for words in nouns if len(words) == 1),
            )
        ),
        phrases={name: Phrases.of(phrases) for name, phrases in lists.items()},
        words=words,
        order={name: tuple(" ".join(phrase) for phrase in phrases) for name, phrases in lists.items()},
        patterns={part: Patterns.of(source.get(part, {}), source["lists"]) for part in _PATTERNS},
        nouns=nouns,
        compounds=_compounds(nouns) if source.get("compounds") else {},
        plural=source.get("plural", ""),
        verbal=tuple(_listed(source["verbal"])),
        endings=tuple(sorted(_listed(source["endings"]), key=len, reverse=True)),
    )


def _stems(words: Iterable[str], endings: Iterable[str]) -> frozenset[str]:
    """Return words as they are and without an ending."""
    words = frozenset(words)
    return words.union(word.removesuffix(ending) for word in words for ending in endings)


def _nouns(source: Mapping[str, Any]) -> dict[Tokens, str]:
    """Return the nouns and the relations that they name; an attribute names a relation of its own, in each form."""
    nouns = {tokens(noun): relation for relation, names in source["nouns"].items() for noun in _listed(names)}
    for forms in _listed(source["attributes"]["nouns"]):
        first, *others = (tokens(form) for form in forms.split("|"))
        for form in (first, *others):
            nouns.setdefault(form, nouns.get(first, "_".join(first)))
    for role in _phrases(source["words"]["occupations"]):
        nouns.setdefault(role, "_".join(role))
    return nouns


def _phrase_lists(source: Mapping[str, Any]) -> dict[str, list[Tokens]]:
    """Return every list of phrases of a pack; those of the words stand under their own names."""
    lists = {name: _phrases(text) for name, text in source["words"].items()}
    for part in _LISTS:
        lists.update({f"{part}.{name}": _phrases(text) for name, text in source[part].items()})
    return lists


def _compounds(nouns: Mapping[Tokens, str]) -> dict[str, str]:
    """Return the nouns that other words may be written on to."""
    return {words[0]: relation for words, relation in nouns.items() if len(words) == 1 and len(words[0]) >= MIN_ENDING}


def _phrases(text: str) -> list[Tokens]:
    return [tokens(phrase) for phrase in _listed(text)]


def _single(phrases: Iterable[Tokens]) -> Iterable[str]:
    """Give the phrases that are one word."""
    return (words[0] for words in phrases if len(words) == 1)


def _listed(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


def language(packs: Iterable[Pack], words: Tokens, default: Pack) -> Pack:
    """Return the pack most of whose common words stand in a text; the default where none stands out."""
    counts = {pack.code: len(pack.marks.intersection(words)) for pack in packs}
    best = max(counts.values())
    winners = [pack for pack in packs if counts[pack.code] == best]
    return default if not best or default in winners else winners[0]
