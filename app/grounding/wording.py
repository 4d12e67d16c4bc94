"""Loads what is known of each language, and tells the language of a statement."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from typing import Any, Final

from app.statements.tokens import Phrases

_LINES = frozenset(("alike",))
_PAIRS = frozenset(("forms", "denying", "multiples", "halves"))
_SHAPES = ("halves", "half_past", "half_before", "quarter_past", "quarter_before")
_MIN_STEM = 3
_MAX_STEMMED = 40
_SAME = 6
"""Words of which so many letters are alike at the beginning count as one: "allergic", "allergy"."""
_VOWELS = str.maketrans("äöüßéèåá", "aouseeaa")


@dataclass(frozen=True, slots=True)
class Wording:
    """What is known of one language; the lists are described in ``words.toml``."""

    code: str
    words: Mapping[str, frozenset[str]]
    order: Mapping[str, Sequence[str]]
    phrases: Mapping[str, Phrases]
    pairs: Mapping[str, Mapping[str, str]]
    endings: tuple[str, ...]
    past: tuple[str, ...]
    alike: Mapping[str, str]
    """The stem that stands for the stems of a line of ``alike``."""
    counting: frozenset[str]
    """The words that a quantity may begin with, besides figures."""
    needless: frozenset[str]
    """The words that need no evidence."""
    denying: Mapping[str, str]
    """By its stem, a word that denies another one: that word's stem, "" where it denies what stands beside it."""
    marks: frozenset[str]
    """The words by which the language is known."""

    def stem(self, word: str) -> str:
        """Return what the forms of a word and its synonyms have in common; it is compared and never shown."""
        found = _stem(word, self.pairs["forms"], self.endings)
        return self.alike.get(found, found)

    def denied(self, stem: str) -> str | None:
        """Return the stem of what a word denies: of "dislike" that of "like", "" where it is no certain word."""
        base = self.denying.get(stem)
        return self.stem(base) if base else base


class Stems(dict[str, str]):
    """The stems of words, each found once."""

    def __init__(self, wording: Wording) -> None:
        """Find them by the rules of one language."""
        super().__init__()
        self._wording = wording

    def __missing__(self, word: str) -> str:
        """Find the stem of a word."""
        self[word] = found = self._wording.stem(word)
        return found


def _stem(word: str, forms: Mapping[str, str], endings: Sequence[str]) -> str:
    form = forms.get(word)
    word = form or word
    if not word.isalpha() or len(word) > _MAX_STEMMED:
        return word
    word = _bare(word if form else _without_ending(word, endings))
    return word[:_SAME]


def _without_ending(word: str, endings: Sequence[str]) -> str:
    for ending in endings:
        if len(word) - len(ending) >= _MIN_STEM and word.endswith(ending):
            return word[: -len(ending)] + ("y" if ending in {"ies", "ied"} else "")
    return word


def _bare(word: str) -> str:
    """Return a word without its accents and without what the endings have doubled or added to it."""
    word = word.translate(_VOWELS)
    if len(word) > _MIN_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > _MIN_STEM else word


def _listed(text: str) -> list[str]:
    return [part for part in (" ".join(piece.split()) for piece in text.replace("\n", " ").split(",")) if part]


def _wording(code: str, table: Mapping[str, Any]) -> Wording:
    lists = {name: _listed(text) for name, text in table.items() if name not in _LINES | _PAIRS}
    pairs = {name: dict(_pair(text) for text in _listed(table[name])) for name in _PAIRS}
    endings = tuple(sorted(lists["endings"], key=len, reverse=True))
    words = {name: frozenset(each) for name, each in lists.items()}
    alike: dict[str, str] = {}
    for line in table["alike"].split("\n"):
        stems = [_stem(word, pairs["forms"], endings) for word in line.split()]
        for stem in stems:
            alike.setdefault(stem, alike.get(stems[0], stems[0]))
    return Wording(
        code=code,
        words=words,
        order={name: tuple(each) for name, each in lists.items()},
        phrases={name: Phrases.of(tuple(part.split()) for part in each) for name, each in lists.items()}
        | {name: Phrases.of(tuple(part.split()) for part in each) for name, each in pairs.items()},
        pairs=pairs,
        endings=endings,
        past=tuple(lists["past"]),
        alike=alike,
        denying={_stem(word, pairs["forms"], endings): base for word, base in pairs["denying"].items()},
        marks=words["functional"] | words["marks"] | words["persons"] | words["auxiliaries"] | words["light"],
        counting=words["tens"].union(
            *(words[name] for name in ("numbers", "noon", "midnight")),
            *({f"{tens}-{ones}" for ones in lists["numbers"][1:10]} for tens in lists["tens"]),
            (part.split()[0] for name in _SHAPES for part in (*pairs.get(name, ()), *lists.get(name, ()))),
        ),
        needless=words["functional"] | words["light"] | words["about"] | words["denials"],
    )


def _pair(text: str) -> tuple[str, str]:
    form, _, word = text.partition(">")
    return form.strip(), word.strip()


def _units(table: Mapping[str, str]) -> dict[str, tuple[str, Decimal]]:
    found: dict[str, tuple[str, Decimal]] = {}
    for base, names in table.items():
        for each in _listed(names):
            name, factor = each.split()
            found.setdefault(name, (base, Decimal(factor)))
    return found


_TABLES: Final = tomllib.loads((resources.files(__package__) / "words.toml").read_text("utf-8"))
UNITS: Final = _units(_TABLES["units"])
"""The base unit of each unit, and how many of it one is."""
WORDINGS: Final = {code: _wording(code, table) for code, table in _TABLES.items() if code != "units"}


def wording_of(words: Iterable[str]) -> Wording:
    """Return the wording of the language of a text, given as its words; English where no other stands out."""
    said = set(words)
    return max(WORDINGS.values(), key=lambda each: (len(each.marks & said), each.code == "en"))
