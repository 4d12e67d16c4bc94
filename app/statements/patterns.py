"""The pattern language of the packs: words in order, with slots. The top of ``packs/en.toml`` describes it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.language.tokens import Tokens, folded

MAX_SLOT = 8
"""A slot between words holds no more words than this, which bounds the work of a match."""

Slots = dict[str, Tokens]


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a pattern: one of some words, or a slot."""

    words: frozenset[str] = frozenset()
    slot: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is looked for, and the relation that it states ("" where the words in ``{what}`` name it)."""

    relation: str
    before: str
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns, found by the first word they need."""

    by_word: Mapping[str, tuple[Pattern, ...]]

    @classmethod
    def of(cls, sources: Mapping[str, Iterable[str]], lists: Mapping[str, Iterable[str]]) -> "Patterns":
        """Read the patterns of each relation; ``<name>`` in them stands for a list of words."""
        by_word: dict[str, list[Pattern]] = {}
        for relation, texts in sources.items():
            for text in texts:
                pattern = _read(relation, text, lists)
                for word in pattern.elements[0].words:
                    by_word.setdefault(word, []).append(pattern)
        return cls({word: tuple(found) for word, found in by_word.items()})

    def matches(self, words: Tokens) -> Iterator[tuple[Pattern, Slots]]:
        """Give the patterns that the words of a clause match, in order of place, with what stands in their slots."""
        for place, word in enumerate(words):
            for pattern in self.by_word.get(word, ()):
                if not pattern.before and place:
                    continue
                slots = _match(pattern.elements, words[place:], 0)
                if slots is not None:
                    if pattern.before:
                        slots[pattern.before] = words[:place]
                    yield pattern, slots


def _read(relation: str, text: str, lists: Mapping[str, Iterable[str]]) -> Pattern:
    elements = [_element(part, lists) for part in folded(text).split()]
    before = elements.pop(0).slot if elements[0].slot else ""
    if not elements or not elements[0].words or elements[0].optional:
        raise ValueError(f"The pattern {text!r} needs a word after the slot it begins with.")
    return Pattern(relation, before, tuple(elements))


def _element(part: str, lists: Mapping[str, Iterable[str]]) -> Element:
    if part.startswith("{"):
        return Element(slot=part.strip("{}"))
    optional = part.endswith("?")
    words: set[str] = set()
    for word in part.rstrip("?").split("|"):
        words.update(map(folded, lists[word.strip("<>")]) if word.startswith("<") else (word,))
    return Element(frozenset(words), optional=optional)


def _match(elements: tuple[Element, ...], words: Tokens, used: int) -> Slots | None:
    """Match elements with words from the ``used``-th on; every word has to be used."""
    if not elements:
        return {} if used == len(words) else None
    element, rest = elements[0], elements[1:]
    if not element.slot:
        if used < len(words) and words[used] in element.words:
            slots = _match(rest, words, used + 1)
            if slots is not None:
                return slots
        return _match(rest, words, used) if element.optional else None
    ends = range(used + 1, min(len(words), used + MAX_SLOT) + 1) if rest else (len(words),)
    for end in ends:
        slots = _match(rest, words, end)
        if slots is not None and end > used:
            return {element.slot: words[used:end], **slots}
    return None
