"""Texts that make a regular expression repeat itself, and whether the cost of its use grows faster than they do.

A text is a beginning that matches up to some part of a pattern, that part over and over, and an end that fails what
follows. A search that tries the same characters again and again takes the square of such a text's length, or more.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import inf
from typing import Any

from tests.support.cost import best

ops: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

Use = Callable[[re.Pattern[str], str], object]

_BLANKS, _OTHERS = " \n\t", "0aA_-.,:/\"'(\u00e9"
_MAX_TEXTS, _MAX_LETTERS = 12, 12
"""How many texts stand for a part of a pattern, and characters for a class."""
_SIZES, _SECONDS = (8, 16, 24, 32, 128, 512, 4096, 16384), 0.002
"""What takes so long at one of these sizes is looked at closely; the short ones are for what would never end."""
_SHORTER, _GROWTH, _ENDLESS = 4, 9.0, 40.0
"""A text costs four times as much as a quarter of it, and 16 times as much where the cost grows as the square.

Up to the bound of a repeat the cost grows as the square too: where four times the text can be waited for, it decides.
"""
_TRIES, _CONFIRMED = 10, 3
_MAX_PUMPS = 400
_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
_OF_CATEGORY: Mapping[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    ops.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdecimal(),
    ops.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    ops.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


@dataclass(frozen=True, slots=True)
class Pump:
    """A text of any length, in three parts."""

    before: str
    repeated: str
    after: str

    def text(self, size: int) -> str:
        """Return the text with about so many characters."""
        return self.before + self.repeated * (size // len(self.repeated)) + self.after


def slowest(pattern: re.Pattern[str], use: Use, most: int = _MAX_PUMPS) -> tuple[Pump, float] | None:
    """Return a pump at which the use of a pattern is slow, and how much more a text costs than a quarter of it.

    At most so many pumps are tried, of all parts of the pattern.
    """
    every = list(pumps(pattern))
    for pump in every[:: 1 + len(every) // most]:
        size = next((size for size in _SIZES if _is_slow(pattern, use, pump, size)), 0)
        growth = _growth(pattern, use, pump, size) if size else 0.0
        if _GROWTH < growth < _ENDLESS:
            growth = _growth(pattern, use, pump, size * _SHORTER)
        if growth > _GROWTH:
            return pump, growth
    return None


def pumps(pattern: re.Pattern[str]) -> Iterator[Pump]:
    """Give the pumps of a pattern, none twice."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    for before, repeated in dict.fromkeys(_Writer(_letters(tree)).repeated(tree)):
        for after in ("", "\n\0"):
            yield Pump(before, repeated, after)


def _is_slow(pattern: re.Pattern[str], use: Use, pump: Pump, size: int) -> bool:
    """Tell whether a text of this size takes long in each of some tries: a stall of the machine is in one of them."""
    return all(_cost(pattern, use, pump, size) > _SECONDS for _ in range(_CONFIRMED))


def _growth(pattern: re.Pattern[str], use: Use, pump: Pump, size: int) -> float:
    """Return how much more a text costs than a quarter of it, 0.0 where one of the tries is quick or in proportion."""
    long = short = inf
    for _ in range(_TRIES):
        long = min(long, _cost(pattern, use, pump, size))
        short = min(short, _cost(pattern, use, pump, size // _SHORTER))
        if long <= _SECONDS or long / short <= _GROWTH:
            return 0.0
    return long / short


def _cost(pattern: re.Pattern[str], use: Use, pump: Pump, size: int) -> float:
    return best(partial(use, pattern, pump.text(size)), tries=1)


def _letters(tree: Iterable[Any]) -> Sequence[str]:
    """Return the characters that tell classes apart: blanks, those that the pattern names, and some others."""
    named = (chr(code) for code in _codes(tree))
    return list(dict.fromkeys([*_BLANKS, *named, *_OTHERS]))


def _codes(tree: Iterable[Any]) -> Iterator[int]:
    for op, argument in tree:
        if op in {ops.LITERAL, ops.NOT_LITERAL}:
            yield argument
        elif op is ops.RANGE:
            yield from argument
        elif op is ops.IN:
            yield from _codes(argument)
        for part in _parts(op, argument):
            yield from _codes(part)


def _parts(op: Any, argument: Any) -> Sequence[Any]:
    """Return what an item of a pattern is made of."""
    if op in _REPEATS:
        return [argument[2]]
    if op is ops.BRANCH:
        return list(argument[1])
    if op is ops.SUBPATTERN:
        return [argument[3]]
    if op in {ops.ASSERT, ops.ASSERT_NOT}:
        return [argument[1]]
    return [argument] if op is ops.ATOMIC_GROUP else []


class _Writer:
    """Writes texts that parts of a pattern match."""

    def __init__(self, letters: Sequence[str]) -> None:
        self._letters = letters

    def repeated(self, tree: Iterable[Any], before: str = "") -> Iterator[tuple[str, str]]:
        """Give what each repeat may take, with what stands before it; and, to be repeated, all up to there."""
        for op, argument in tree:
            for part in _parts(op, argument):
                yield from self.repeated(part, before)
            texts = [text for text in self._of(op, argument) if text]
            if op in _REPEATS:
                yield from ((before, text) for text in texts)
                yield from (("", before + text) for text in ("", *texts) if before + text)
            before += next(iter(texts), "")
        if before:
            yield "", before

    def _all(self, tree: Iterable[Any]) -> list[str]:
        """Return texts that items match one after another: the first of each, and each other one beside these."""
        choices = [self._of(*item) for item in tree]
        firsts = [next(iter(choice), "") for choice in choices]
        varied = (
            "".join([*firsts[:place], other, *firsts[place + 1 :]])
            for place, choice in enumerate(choices)
            for other in choice[1:]
        )
        return list(dict.fromkeys(["".join(firsts), *varied]))[:_MAX_TEXTS]

    def _of(self, op: Any, argument: Any) -> list[str]:
        if op is ops.LITERAL:
            return [chr(argument)]
        if op in {ops.NOT_LITERAL, ops.ANY, ops.IN}:
            return [letter for letter in self._letters if _takes(op, argument, letter)][:_MAX_LETTERS]
        if op in _REPEATS:
            texts = [text * max(argument[0], 1) for text in self._all(argument[2])]
            return texts if argument[0] else [*texts, ""]
        if op in {ops.ASSERT, ops.ASSERT_NOT}:
            return []
        texts = [text for part in _parts(op, argument) for text in self._all(part)]
        return list(dict.fromkeys(texts))[:_MAX_TEXTS]


def _takes(op: Any, argument: Any, letter: str) -> bool:
    """Tell whether a class of characters has one."""
    if op is ops.IN:
        negated = argument[0][0] is ops.NEGATE
        return any(_takes(kind, value, letter) for kind, value in argument) is not negated
    if op is ops.NEGATE:
        return False
    if op is ops.CATEGORY:
        return bool(_OF_CATEGORY[argument](letter))
    if op is ops.RANGE:
        return bool(argument[0] <= ord(letter) <= argument[1])
    if op is ops.NOT_LITERAL:
        return bool(ord(letter) != argument)
    return op is ops.ANY or bool(ord(letter) == argument)
