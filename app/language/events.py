"""Tells by words whether a sentence tells the event that a question asks for: the same deed, of the same thing.

A reader finds sentences about the same subject, but takes "sold the bike" for "bought the bike". So the words of the
question have to be in the sentence. Where the two are in different languages, words tell nothing.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from app.language.dates.time_spans import expressions, without_times
from app.language.dates.time_words import FORMS_OF_UNITS
from app.language.lexicon import LANGUAGES, words
from app.language.stemming import lacking, stem

Entailment = Literal["entails", "unknown", "differs"]
"""Whether a sentence tells an event: it does, its words do not decide, or it tells another event."""


_SMALL: Final = words("small") | frozenset(FORMS_OF_UNITS)
_TELL: Final = {
    code: frozenset(language["small"].split()) - words("ambiguous")
    for code, language in LANGUAGES.items()
    if "small" in language
}
"""The small words by which a language is known."""
_I: Final = words("i")
_SELF: Final = _I | {"user"}
"""Words for the asking user in messages and in learned memories."""
_PRONOUN: Final = words("pronouns")
_ACTIVE = re.compile(r"(?<!\w)(?:did|has|have|had|does|do)(?!\w)")
_WORD: Final = re.compile(r"[^\W_]+(?:[.:/][^\W_]+)*")
_OWNS: Final = re.compile(r"['\u2019]s(?!\w)")
_PARTS: Final = re.compile(rf"[,;]|(?<!\w)(?:{'|'.join(words('conjunctions'))})(?!\w)", re.IGNORECASE)
_AT_FIRST: Final = 2


@dataclass(frozen=True, slots=True)
class Event:
    """The event that a question, or a part of a question, asks for, by its words."""

    words: frozenset[str]
    """The stems of the words that carry the event's meaning; empty where no word does."""
    names: frozenset[str]
    """The stems of the words that are written as names are."""
    languages: frozenset[str]
    """The languages in which the text may be."""
    mine: bool
    """Whether the asking user has done the deed."""
    others: bool
    """Whether another person or thing has done the deed."""
    refers: bool
    """Whether the text has a pronoun such as "it"."""


def event(text: str) -> Event:
    """Return the event of a question's text, or of a part of one."""
    bare = without_times(text)
    tokens, stems = _tokens(bare.lower()), _stems(bare)
    names = frozenset(stem(token.lower()) for token in _tokens(bare)[1:] if token[:1].isupper()) & stems
    mine = not _SELF.isdisjoint(tokens)
    active = _ACTIVE.search(bare.lower()) is not None
    return Event(stems, names, _languages(tokens), mine, active and not mine, not _PRONOUN.isdisjoint(tokens))


def entailment(expected: Event, text: str, around: str = "", *, lasts: bool = False) -> Entailment:
    """Tell whether a sentence tells an event; ``around`` is its speaker and the text on which it may lean.

    With ``lasts``, a sentence tells the event by its beginning, with any word for a beginning.
    """
    bare = without_times(text)
    stems = _stems(bare)
    missing = lacking(expected.words, stems | _stems(without_times(around)))
    sentence = _Sentence(text, _tokens(bare.lower()), stems, missing, lacking(stems, expected.words))
    if not sentence.is_comparable(expected):
        return "unknown"
    ends = lasts and not _stemmed("end").isdisjoint(stems - expected.words)
    if ends or not sentence.has_subject(expected, around) or sentence.has_another_time(expected):
        return "differs"
    return "entails" if not sentence.missing or sentence.implies(expected, lasts=lasts) else "differs"


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence beside the event that is asked for."""

    text: str
    tokens: Sequence[str]
    stems: frozenset[str]
    missing: frozenset[str]
    """The stems of the event that the sentence does not have."""
    more: frozenset[str]
    """The stems of the sentence that the event does not have."""

    def is_comparable(self, expected: Event) -> bool:
        """Tell whether words decide: the event and the sentence have words, and may be in one language.

        Where they have words in common they count as one language, unless both languages are known and differ.
        """
        if not expected.words or not self.stems or not self.missing:
            return bool(expected.words and self.stems)
        languages = _languages(self.tokens)
        is_unknown = self.missing != expected.words and not (expected.languages and languages)
        return is_unknown or not expected.languages.isdisjoint(languages)

    def has_subject(self, expected: Event, around: str) -> bool:
        """Tell whether the sentence may speak of a deed of the person for whom the question asks."""
        if expected.mine:
            is_by_user = not _I.isdisjoint(self.tokens) or not _SELF.isdisjoint(self.tokens[:_AT_FIRST])
            return is_by_user or not self.more
        return not (expected.others and not around and not _I.isdisjoint(self.tokens[:1]))

    def has_another_time(self, expected: Event) -> bool:
        """Tell whether the event is in a part of the sentence that has no time, so that a time is of another part."""
        parts = [part for part in _PARTS.split(self.text) if part.strip()]
        holding = [part for part in parts if common(expected, part) == len(expected.words)]
        return len(parts) > 1 and bool(holding) and not any(map(expressions, holding))

    def implies(self, expected: Event, *, lasts: bool) -> bool:
        """Tell whether the sentence tells the event without some of the event's words."""
        if self.missing & expected.names or self.missing == expected.words:
            return False
        may_begin = lasts and len(self.missing) == 1
        has_begun = may_begin and not _stemmed("begin").isdisjoint(map(stem, _tokens(self.text.lower())))
        return has_begun or (not self.more and self.missing <= _stemmed("light"))


def common(expected: Event, text: str) -> int:
    """Return the number of an event's words that are in a text."""
    return len(expected.words - lacking(expected.words, _stems(without_times(text))))


def extra(expected: Event, text: str) -> int:
    """Return the number of a text's words that an event does not have."""
    return len(lacking(_stems(without_times(text)), expected.words))


@cache
def _stemmed(name: str) -> frozenset[str]:
    """Return the stems of the lexicon's words of a name, as "light": those that a sentence may leave out."""
    return frozenset(map(stem, words(name)))


def _tokens(text: str) -> list[str]:
    return _WORD.findall(_OWNS.sub(" ", text))


def _stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry its meaning."""
    tokens = _tokens(text.lower())
    return frozenset(stem(token) for token in tokens if token not in _SMALL and (len(token) > 1 or token.isdigit()))


def _languages(words: Collection[str]) -> frozenset[str]:
    counted = {name: sum(word in small for word in words) for name, small in _TELL.items()}
    most = max(counted.values())
    return frozenset(name for name, count in counted.items() if count == most) if most else frozenset()
