"""Normalizes text by the rules that a SentencePiece model carries with it (``precompiled_charsmap``)."""

import base64
import binascii

import numpy as np

_LONGEST_RULE = 64
"""No rule replaces more bytes than this."""
_CACHED_CHARACTERS = 8192
_UNIT_BYTES = 4
_LABEL = 0x800000FF
"""The bits of a unit that say which byte leads to it; those of a value have the highest bit too."""
_HIGH_BITS, _CONTINUATION = 0xC0, 0x80
"""The high bits of a byte in UTF-8, and their value in a byte that continues a character."""


class Charsmap:
    """Rules that each replace some characters, of which the longest that fits is applied.

    They are a trie over bytes in UTF-8, in the form of a double array (Darts-clone), and the texts that its values
    point into.
    """

    def __init__(self, data: bytes) -> None:
        """Read the rules.

        Raises:
            ValueError: the data has another form.
        """
        size = int.from_bytes(data[:_UNIT_BYTES], "little")
        end = _UNIT_BYTES + size
        if len(data) < end or size < _UNIT_BYTES or size % _UNIT_BYTES:
            raise ValueError("the precompiled_charsmap is cut off")
        self._units: list[int] = np.frombuffer(data[_UNIT_BYTES:end], "<u4").tolist()
        self._texts = data[end:]
        self._characters = _Characters(self)

    @classmethod
    def from_base64(cls, text: str) -> "Charsmap":
        """Read the rules as tokenizer.json has them.

        Raises:
            ValueError: the text has another form.
        """
        try:
            return cls(base64.b64decode(text, validate=True))
        except binascii.Error as error:
            raise ValueError("the precompiled_charsmap is no base 64") from error

    def normalized(self, text: str) -> str:
        """Return the text with all rules applied."""
        if text.isascii():  # no rule takes two ASCII characters together
            return text.translate(self._characters)
        data = text.encode("utf-8", "replace")
        parts: list[str] = []
        start = 0
        while start < len(data):
            length, part = self.replaced(data, start)
            parts.append(part)
            start += length
        return "".join(parts)

    def replaced(self, data: bytes, start: int) -> tuple[int, str]:
        """Return how many bytes the longest rule replaces at ``start``, and its text; else one character."""
        length, value = 0, 0
        position = _offset(self._units[0])
        for taken, byte in enumerate(data[start : start + _LONGEST_RULE], 1):
            position ^= byte
            if not (byte and position < len(self._units) and self._units[position] & _LABEL == byte):
                break
            unit = self._units[position]
            position ^= _offset(unit)
            if unit >> 8 & 1 and position < len(self._units):
                length, value = taken, self._units[position] & 0x7FFFFFFF
        if length:
            return length, self._texts[value : self._texts.find(b"\0", value)].decode("utf-8", "replace")
        end = start + 1
        while end < len(data) and data[end] & _HIGH_BITS == _CONTINUATION:
            end += 1
        return end - start, data[start:end].decode("utf-8", "replace")


class _Characters(dict[int, str]):
    """A table for ``str.translate`` that caches the replacements of single characters, up to a limit."""

    def __init__(self, rules: Charsmap) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, code: int) -> str:
        _, text = self._rules.replaced(chr(code).encode("utf-8", "replace"), 0)
        if len(self) < _CACHED_CHARACTERS:
            self[code] = text
        return text


def _offset(unit: int) -> int:
    """Return where a node's children are, relative to it."""
    return (unit >> 10) << ((unit & 0x200) >> 6)
