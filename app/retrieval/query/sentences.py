"""Splits a query that is a whole message into sentences, so that its greeting and its mood do not decide a search."""

import re
from collections.abc import Sequence

from app.language.sentences import MAX_SENTENCE, sentences
from app.retrieval.query.terms import MAX_READ, Term, terms

MAX_NEEDS = 3
"""Questions of one message that are embedded by themselves: each is a question to the index."""
_MAX_SENTENCES = 12
"""A message of more sentences is read as a whole."""
_FEWEST = 2
"""The fewest terms of a sentence that says something: a memory that shares the one term of "Hi there!" answers
nothing."""
_SEVERAL = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u061f](?=\s)|[\u3002\uff01\uff1f]|\n")
"""The end of a sentence that has another behind it: most queries are one sentence, and need no splitting."""
_QUOTES = re.compile('["\u201c-\u201f\u300c-\u300f\u00ab\u00bb]')
"""Quotation marks: a sentence may end within them and go on behind, so that such a query is read as a whole."""
_ASKS = ("?", "\uff1f", "\u061f", "\u037e")


class QuerySentences:
    """A query's sentences, where it is a message of several; a query that quotes, or is a pasted text, stays whole."""

    def __init__(self, query: str) -> None:
        """Split the query."""
        self._query = query
        self._all = _split(query.strip())

    @property
    def needs(self) -> Sequence[str]:
        """The questions of a message that asks several things; none of a query that asks one."""
        questions = dict.fromkeys(sentence for sentence in self._all if _asks(sentence) and _says(sentence))
        return list(questions)[:MAX_NEEDS] if len(questions) > 1 else []

    @property
    def asking(self) -> str:
        """The text whose periods are asked for: the questions of a message, or all of it where it has no question.

        "Happy Monday!" and "the shelves have come today" ask for nothing of that day where a question follows.
        """
        return " ".join(filter(_asks, self._all)) or self._query

    @property
    def without_greetings(self) -> str:
        """The text to embed: without sentences of fewer than two terms that ask nothing, if others are left."""
        left = [sentence for sentence in self._all if _asks(sentence) or _says(sentence)]
        return " ".join(left) if 0 < len(left) < len(self._all) else self._query

    def parts(self, whole: Sequence[Term]) -> Sequence[Sequence[int]]:
        """Return the numbers of the query's terms: all of them, and those of each sentence that asks or says something.

        The result is empty where the query is one sentence.
        """
        if not self._all:
            return []
        numbers = {term: number for number, term in enumerate(whole)}
        numbered = [
            (sentence, sorted({numbers[term] for term in terms(sentence) if term in numbers})) for sentence in self._all
        ]
        apart = [part for sentence, part in numbered if len(part) >= _FEWEST or (part and _asks(sentence))]
        return [range(len(whole)), *apart]


def _split(text: str) -> Sequence[str]:
    if len(text) > MAX_READ or _SEVERAL.search(text) is None or _QUOTES.search(text):
        return []
    parts = sentences(text)
    return parts if 1 < len(parts) <= _MAX_SENTENCES and max(map(len, parts)) < MAX_SENTENCE else []


def _asks(sentence: str) -> bool:
    return sentence.rstrip("'\u2019) ").endswith(_ASKS)


def _says(sentence: str) -> bool:
    return len(terms(sentence)) >= _FEWEST
