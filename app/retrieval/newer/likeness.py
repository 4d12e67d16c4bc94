"""Compares words across their forms: "Levaxin" is "Levaxinet", "hair" is in "hairdresser"."""

from collections.abc import Iterable

from app.retrieval.newer.wording import stem

KEY = 3
"""Letters that words of one root begin with."""
_SHORTEST, _LONG = 4, 6
_MOST, _MUCH = 0.8, 0.7
"""The share of the shorter word that two words have in common: of a short one, and of a long one."""


def alike(one: str, other: str) -> bool:
    """Tell whether two words are forms of one, or one is written on to the other."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    if shorter < _SHORTEST or one[:KEY] != other[:KEY]:
        return False
    common = next((place for place in range(KEY, shorter) if one[place] != other[place]), shorter)
    if common >= _SHORTEST and common >= _MOST * shorter:
        return True
    long = common >= _LONG and common >= _MUCH * shorter and "-" not in one[:common]
    return long or stem(one) == stem(other)


class Words:
    """Words in which others are looked up, in whatever form."""

    def __init__(self, words: Iterable[str]) -> None:
        """Keep them by how they begin."""
        self._by_key: dict[str, list[str]] = {}
        for word in words:
            same = self._by_key.setdefault(word[:KEY], [])
            if word not in same:
                same.append(word)

    def __contains__(self, word: object) -> bool:
        """Tell whether a form of the word is among them."""
        same = self._by_key.get(word[:KEY]) if isinstance(word, str) else None
        return isinstance(word, str) and same is not None and (word in same or any(alike(word, each) for each in same))
