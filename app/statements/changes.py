"""Tells what a sentence says of a change, whatever has changed: a cue such as "now", an end, or nothing for sure."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from app.language.tokens import BREAKS, QUOTES, Tokens, tokens
from app.statements.blocks import changes_told
from app.statements.packs import Pack
from app.statements.spans import spans

_ARROW = re.compile(r"->|=>|\u2192")
_NAMED = re.compile(r"(?:(?<=[\w,;'\u2019)] )|(?<=[DM]r\. ))[A-Z\u00c0-\u00de][\w&-]*")
_MAX_QUOTED = 6
_MAX_LABEL = 6
_MIN_PART = 3
_SUBJECT = 5
"""The words of a sentence among which its subject stands."""
_SO_IT_IS = ("it", "is")


@dataclass(frozen=True)
class Telling:
    """A sentence, and what it says that matters to what was said before: each is read when it is asked for."""

    text: str
    words: Tokens
    pack: Pack

    @cached_property
    def content(self) -> Tokens:
        """The words that say what it is about."""
        skipped = self.pack.words["changes.skipped"]
        said: list[str] = []
        for word in self.words:
            if "-" in word:
                said.extend(part for part in _with_parts(word) if part not in skipped and part[0].isalnum())
            elif word not in skipped and word[0].isalnum():
                said.append(word)
        return tuple(said)

    @cached_property
    def names(self) -> frozenset[str]:
        """The words within it that begin with a capital letter."""
        found = frozenset(name.casefold() for name in _NAMED.findall(self.text))
        return found - self.pack.words["speakers"]

    @cached_property
    def label(self) -> frozenset[str]:
        """Of "Deploy window: Tuesday": the words before the colon."""
        place = self.words.index(":") if ":" in self.words else 0
        of = self.words[:place] if place <= _MAX_LABEL and self.words[place + 1 :] else ()
        return frozenset(of) - self.pack.words["changes.plain"]

    @cached_property
    def clauses(self) -> Sequence[Tokens]:
        """The clauses that are asserted: no hearsay, plan, question, condition or denial, and of nothing beside."""
        clauses = (clause for part in self._parts for clause in self._not_beside(part))
        return [clause for clause in clauses if self.pack.words["changes.denials"].isdisjoint(clause)]

    @cached_property
    def sure(self) -> bool:
        """Whether any part of it is asserted."""
        if self.clauses or self.ends:
            return True
        return bool(self._parts) and not any(self._has("beside", each) for each in self._parts)

    @cached_property
    def changes(self) -> bool:
        """Whether it tells a change."""
        verbs, mild = self.pack.words["changes"], self.pack.words["changes.mild"]
        return any(
            self._has("strong", each) or each[-2:] == _SO_IT_IS or not verbs.isdisjoint(set(each) - mild)
            for each in self.clauses
        )

    @cached_property
    def hints(self) -> bool:
        """Whether it tells what often changes something, "got", "set up", or is a conclusion or a note."""
        verbs = self.pack.words["changes"]
        if self.label or not self.pack.words["blocks.parts"].isdisjoint(self.words[1:]):
            return bool(self.clauses)
        return any(self._has("weak", each) or not verbs.isdisjoint(each) for each in self.clauses)

    @cached_property
    def ends(self) -> bool:
        """Whether it tells that something holds no more."""
        over = any(self._has("over", each) or self._is_over(each) for each in self._parts)
        return over or any(self._has("ended", each) for each in self.clauses)

    @cached_property
    def unchanged(self) -> bool:
        """Whether it tells that all is as it was."""
        return self._has("unchanged", self.words)

    @cached_property
    def momentary(self) -> bool:
        """Whether it tells of one day."""
        return self.pack.phrases["frames.momentary"].within(self.words)

    @cached_property
    def happens(self) -> bool:
        """Whether it tells of one day, or of what happened."""
        return self.momentary or any(self.pack.phrases["blocks.clause"].within(each) for each in self.clauses)

    @cached_property
    def others(self) -> frozenset[str]:
        """The persons at its beginning of whom it may be, instead of the speaker."""
        return self.pack.words["changes.others"].intersection(self.words[:_SUBJECT])

    @cached_property
    def former(self) -> Tokens:
        """The words of what it sets aside: "(was Rome)", "not Rome"."""
        phrases = self.pack.phrases["changes.former"]
        told = self._parts and not phrases.by_first.keys().isdisjoint(self.words)
        clauses = _clauses(self.words, self.pack) if told else iter(())
        return tuple(word for each in clauses if (length := phrases.at(each, 0)) for word in each[length:])

    @cached_property
    def values(self) -> frozenset[tuple[str, str]]:
        """The measures and moments that are asserted, each with its class."""
        return frozenset((one.relation, one.value) for each in self.clauses for one in spans(each, self.pack))

    def states(self, topic: Container[str]) -> bool:
        """Tell whether a clause about a topic is asserted, whatever stands in the other clauses."""
        about = (each for each in _clauses(self.words, self.pack) if any(word in topic for word in each))
        denials = self.pack.words["changes.denials"]
        return any(denials.isdisjoint(each) and not self._supposed(each) for each in about)

    @cached_property
    def _parts(self) -> Sequence[Tokens]:
        """The parts that stand for themselves, "nobody could wait, so lunch is at 12", without those not asserted."""
        words = self.words
        if "?" in words or _quotes(words) or words[0] in self.pack.words["blocks.opens"]:
            return []
        parts: list[list[str]] = [[]]
        for word in changes_told(words, self.pack):
            if word in self.pack.words["blocks.parts"]:
                parts.append([])
            else:
                parts[-1].append(word)
        return [tuple(part) for part in parts if part and not self._supposed(part)]

    def _is_over(self, part: Tokens) -> bool:
        """Tell whether a clause ends with "no longer" around what it denies: "keinen Bericht mehr"."""
        none, longer = self.pack.words["changes.none"], self.pack.words["changes.longer"]
        if longer.isdisjoint(part) or none.isdisjoint(part):
            return False
        return any(each[-1] in longer and not none.isdisjoint(each) for each in _clauses(part, self.pack))

    def _supposed(self, part: Sequence[str]) -> bool:
        bare = self.pack.phrases["leads"].trimmed(tuple(part))
        supposing = not bare or self.pack.phrases["changes.supposing"].at(bare, 0)
        return bool(supposing) or self._has("unsure", part) or self._has("past", part)

    def _not_beside(self, part: Tokens) -> Iterator[Tokens]:
        """Give the clauses before one that tells of something beside."""
        return takewhile(lambda clause: not self._has("beside", clause), _clauses(part, self.pack))

    def _has(self, name: str, words: Sequence[str]) -> bool:
        return self.pack.phrases[f"changes.{name}"].within(words)


def words_of(text: str) -> Tokens:
    """Return the words and marks of a sentence; an arrow is a colon and a "now"."""
    return tokens(_ARROW.sub(": now ", text))


def doubted(words: Sequence[str], pack: Pack) -> bool:
    """Tell whether a sentence casts doubt on all that is said beside it: "nothing is confirmed yet"."""
    return pack.phrases["changes.apart"].within(words)


def _clauses(words: Sequence[str], pack: Pack) -> Iterator[Tokens]:
    clause: list[str] = []
    for word in (*words, ","):
        if word not in BREAKS and word not in QUOTES and word not in pack.words["joints"]:
            clause.append(word)
        elif clause:
            yield tuple(clause)
            clause = []


def _with_parts(word: str) -> Iterator[str]:
    """Give a word, and the words that hyphens join in it."""
    yield word
    yield from (part for part in word.split("-") if len(part) >= _MIN_PART and part.isalpha())


def _quotes(words: Sequence[str]) -> bool:
    """Tell whether a sentence quotes more than a name."""
    if QUOTES.isdisjoint(words):
        return False
    places = [place for place, word in enumerate(words) if word in QUOTES]
    return places[-1] - places[0] > _MAX_QUOTED
