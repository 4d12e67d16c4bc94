"""Loads the words of time of each language, and tells the language of a question."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from app.language.tokens import Phrases, Tokens, tokens

_FORMS = frozenset(("endings", "past_endings", "forms"))
_MIN_STEM = 3
_MAX_ENDING = 5
_MAX_STEMMED = 40
_DEFAULT = "en"


@dataclass(frozen=True, slots=True)
class Wording:
    """What is known of one language."""

    code: str
    words: Mapping[str, frozenset[str]]
    phrases: Mapping[str, Phrases]
    """Lists in which an entry may have several words; those of the table stand under "time.since" and the like."""
    order: Mapping[str, Sequence[str]]
    """The lists whose order says something, by the same names."""
    frame: Mapping[str, str]
    endings: frozenset[str]
    past_endings: tuple[str, ...]
    forms: Mapping[str, str]

    def stem(self, word: str) -> str:
        """Return what the forms of a word have in common, more or less; it is compared and never shown."""
        word = self.forms.get(word, word)
        if not word.isalpha() or len(word) > _MAX_STEMMED:
            return word
        for length in range(min(_MAX_ENDING, len(word) - _MIN_STEM), 0, -1):
            if word[-length:] in self.endings:
                word = word[:-length]
                break
        if len(word) > _MIN_STEM and word[-1] == word[-2]:
            word = word[:-1]
        return word.removesuffix("e") if len(word) > _MIN_STEM else word


class Stems(dict[str, str]):
    """The stems of words, each found once: most words of some memories come again."""

    def __init__(self, wording: Wording) -> None:
        """Find them by the rules of one language."""
        self._wording = wording

    def __missing__(self, word: str) -> str:
        """Find the stem of a word."""
        self[word] = found = self._wording.stem(word)
        return found


def _wording(code: str, table: Mapping[str, Any]) -> Wording:
    named = {name: text for name, text in table.items() if isinstance(text, str)}
    named |= {f"time.{name}": text for name, text in table["time"].items()}
    lists = {name: _listed(text) for name, text in named.items() if name not in _FORMS}
    return Wording(
        code=code,
        words={name: frozenset(word for part in found for word in tokens(part)) for name, found in lists.items()},
        phrases={name: Phrases.of(tokens(part) for part in found) for name, found in lists.items()},
        order={name: tuple(found) for name, found in lists.items()},
        frame=table["frame"],
        endings=frozenset(_listed(table["endings"])),
        past_endings=tuple(_listed(table["past_endings"])),
        forms=dict(_pair(text) for text in _listed(table["forms"])),
    )


def _pair(text: str) -> tuple[str, str]:
    form, _, word = text.partition(" > ")
    return form, word


def _listed(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


def _load() -> Mapping[str, Wording]:
    text = (resources.files(__package__) / "words.toml").read_text("utf-8")
    return {code: _wording(code, table) for code, table in tomllib.loads(text).items()}


_WORDINGS: Final = _load()


def wording_of(words_: Tokens) -> Wording:
    """Return the wording of the language of a question, given as its tokens; English where no other stands out."""
    counts = {code: len(wording.words["marks"].intersection(words_)) for code, wording in _WORDINGS.items()}
    best = max(counts.values())
    if counts[_DEFAULT] == best:
        return _WORDINGS[_DEFAULT]
    return next(_WORDINGS[code] for code, count in counts.items() if count == best)
