"""Writes rules that replace characters in the form in which a tokenizer's file carries them (``Charsmap`` reads it)."""

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

_LEAF = 1 << 8
"""The bit of a unit that has a value."""
_VALUE = 1 << 31
"""The bit of the unit that is a value."""
_OFFSET_BITS = 10
_LARGEST_OFFSET = 1 << 21

_Children = dict[int, "_Node"]


class _Node:
    """A place in the trie: what is reached from it, byte by byte, and the value of the bytes that led to it."""

    def __init__(self) -> None:
        self.children: _Children = {}
        self.value: int | None = None


def rule_table(rules: Mapping[str, str]) -> bytes:
    """Return the rules as a trie in a double array (Darts-clone), with its size before it and its texts behind it.

    Raises:
        ValueError: there are too many rules for the form.
    """
    texts, root = bytearray(), _Node()
    for character, text in sorted(rules.items()):
        node = root
        for byte in character.encode("utf-8"):
            node = node.children.setdefault(byte, _Node())
        node.value = len(texts)
        texts += text.encode("utf-8") + b"\0"
    units = _placed(root)
    return (4 * len(units)).to_bytes(4, "little") + np.array(units, "<u4").tobytes() + bytes(texts)


def _placed(root: _Node) -> Sequence[int]:
    """Return the units: the children of each node stand at its base xor the byte that leads to them.

    No two nodes have one base, so that a child is not taken for that of another node: a unit tells its byte alone.
    """
    units: dict[int, int] = {0: 0}
    bases: set[int] = set()
    free = 1
    waiting = [(root, 0)]
    while waiting:
        node, place = waiting.pop()
        taken = [*([] if node.value is None else [0]), *node.children]
        while free in units:
            free += 1
        base = next(
            base for base in count(free) if base not in bases and not any((base ^ byte) in units for byte in taken)
        )
        bases.add(base)
        if (place ^ base) >= _LARGEST_OFFSET:
            raise ValueError("there are too many rules")
        units[place] |= (place ^ base) << _OFFSET_BITS
        if node.value is not None:
            units[place] |= _LEAF
            units[base] = _VALUE | node.value
        for byte, child in node.children.items():
            units[base ^ byte] = byte
            waiting.append((child, base ^ byte))
    # A reader looks up to 255 units further, for bytes that lead nowhere.
    return [units.get(place, 0) for place in range((max(units) | 255) + 1)]
