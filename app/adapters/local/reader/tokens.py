"""Lays out texts for the reader: one text or two, as token ids with a type for each token.

The type tells which of the two texts a token is of, and whether the other text has its word too, because a
small model overlooks where two statements differ. The first token's type tells the task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final

from app.adapters.local.wordpiece import WordPiece
from app.ports.reader import MAX_CHARACTERS

MAX_TOKENS: Final = 192
"""Tokens of a sequence at most; a longer sequence loses the end of its longer text."""
TYPES: Final = 8
"""How many types there are: four of tokens within texts, and one for each task."""
_CONTROL_TOKENS = 3
_SECOND, _SHARED, _FIRST_TASK = 1, 2, 4


class Task(IntEnum):
    """A question about one text, or about two."""

    RELATION = 0
    """How a newer statement (the second text) bears on an older one (the first)."""
    RELEVANCE = 1
    """Whether a text (the second) answers a question (the first)."""
    KIND = 2
    """The kind of statement that a text is; there is no second text."""
    FOLLOWS = 3
    """Whether a claim (the second text) follows from sources (the first)."""


ANSWERS: Final = {Task.RELATION: 4, Task.RELEVANCE: 2, Task.KIND: 4, Task.FOLLOWS: 2}
"""How many answers each task has."""


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Token ids and their types, of one length, and the task."""

    ids: Sequence[int]
    types: Sequence[int]
    task: Task

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)


class ReaderTokens:
    """Makes sequences of texts."""

    def __init__(self, tokenizer: WordPiece) -> None:
        """Take the tokenizer of the model's vocabulary."""
        self._tokenizer = tokenizer

    def sequence(self, task: Task, first: str, second: str | None = None) -> TokenSequence:
        """Return the sequence of one text or two, of at most ``MAX_TOKENS``."""
        texts = [self._tokenizer.words(text[:MAX_CHARACTERS]) for text in (first, second) if text is not None]
        words = [frozenset(text) for text in texts]
        others = [*reversed(words)] if second is not None else [frozenset()]
        pieces = [self._typed(text, number, others[number]) for number, text in enumerate(texts)]
        ids, types = [self._tokenizer.first], [_FIRST_TASK + task]
        for number, room in enumerate(_rooms([len(part) for part in pieces])):
            for id_, type_ in islice(pieces[number], room):
                ids.append(id_)
                types.append(type_)
            ids.append(self._tokenizer.last)
            types.append(number)
        return TokenSequence(ids, types, task)

    def _typed(self, words: Sequence[str], number: int, others: frozenset[str]) -> list[tuple[int, int]]:
        typed: list[tuple[int, int]] = []
        for word in words:
            if len(typed) >= MAX_TOKENS:
                break
            type_ = number * _SECOND + (_SHARED if word in others else 0)
            typed += [(id_, type_) for id_ in self._tokenizer.pieces(word)]
        return typed


def _rooms(lengths: Sequence[int]) -> Sequence[int]:
    """Return how many tokens of each text there is room for: the longer of two gives way, down to half of all."""
    room = MAX_TOKENS - _CONTROL_TOKENS
    if len(lengths) == 1:
        return [min(lengths[0], room)]
    first, second = lengths
    if first + second <= room:
        return lengths
    shorter = min(first, second, room // 2)
    return [room - shorter, shorter] if first >= second else [shorter, room - shorter]
