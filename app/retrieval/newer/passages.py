"""Reads what a candidate says near the words of a query, and what the query is about."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from app.language.tokens import Tokens, tokens
from app.retrieval.newer.likeness import KEY, Words, alike
from app.retrieval.newer.stated_values import has, pieces, prose
from app.retrieval.newer.wording import FUNCTION_WORDS
from app.statements.changes import Telling, doubted, words_of
from app.statements.loaded import pack_of
from app.statements.packs import Pack

_MAX_QUERY = 400
BRIEF = 200
"""A text of so many characters speaks of one thing, and is read whole."""
_MAX_SENTENCES, _MAX_SENTENCE = 6, 300
"""Sentences that are read of a text, and characters of each."""
_BRIEF = 32
"""Words and marks of a message that speaks of one thing."""
_TERSE = 18
_NEAR = 2
"""Words of the query that a sentence of a longer text has."""
_ROOT = 4
_NAMES_NOTHING = ("changes.generic", "changes.neutral", "titles")
_NAMED = re.compile("(?<=[\\w,;'\u2019)] )[A-Z\u00c0-\u00de][\\w&-]*")
_ABBREVIATED = re.compile(r"(?:\b\d\d?|\b(?:dr|mr|mrs|st|fr|hr))\.$", re.IGNORECASE)


@dataclass(frozen=True)
class Topic:
    """What a query is about."""

    text: str
    words: Tokens
    pack: Pack
    content: Tokens
    """The words that say what it is about."""
    light: Tokens
    """Words such as "use" that do so only beside others."""
    names: frozenset[str]
    """The words within it that begin with a capital letter, where only names do."""
    asked: str
    """The word after "which"."""

    @cached_property
    def of_person(self) -> bool:
        """Whether it asks who."""
        return not self.pack.words["changes.who"].isdisjoint(self.words[:3])

    @cached_property
    def of_manner(self) -> bool:
        """Whether it asks how to do something."""
        return self.pack.phrases["changes.manner"].at(self.words, 0) > 0

    @cached_property
    def period(self) -> frozenset[str]:
        """The days of the week and the months that it names."""
        return self.pack.words["changes.periods"].intersection(self.words)

    @cached_property
    def roots(self) -> Sequence[str]:
        """What its words begin with."""
        return [word[:_ROOT] for word in (*self.content, *self.light)]

    @cached_property
    def about(self) -> Words:
        """Its content, to look words up in."""
        return Words(self.content)

    @cached_property
    def known(self) -> Words:
        """All of its words."""
        return Words(self.words)


def topic(query: str) -> Topic | None:
    """Read a query; None where it asks for nothing that may have changed since."""
    text = query[:_MAX_QUERY]
    words = tokens(text)
    pack = pack_of(words)
    if not words or not pack.words["changes.settled"].isdisjoint(words) or _of_the_past(words, pack):
        return None
    plain, skipped = pack.words["changes.plain"], pack.words["changes.skipped"]
    said = [word for word in dict.fromkeys(words) if _says(word, pack) and word not in plain]
    content = tuple(word for word in said if word not in skipped)
    light = tuple(word for word in said if word in skipped)
    names = frozenset(map(str.casefold, () if pack.code == "de" else _NAMED.findall(query))) - pack.words["speakers"]
    asked = next((after for word, after in pairwise(words) if word in pack.words["changes.which"]), "")
    return Topic(text, words, pack, content, light, names, asked) if said else None


def _of_the_past(words: Tokens, pack: Pack) -> bool:
    """Tell whether a question asks what has been done: "where has Ann camped"."""
    if pack.words["changes.perfect"].isdisjoint(words[:-1]):
        return False
    place = next(place for place, word in enumerate(words) if word in pack.words["changes.perfect"])
    endings = tuple(pack.order["frames.past_endings"])
    past = pack.words["frames.past"] - pack.words["frames.present"]
    return any(word in past or (endings and word.endswith(endings)) for word in words[place + 1 :])


def _says(word: str, pack: Pack) -> bool:
    return (
        len(word) > 1 and word[0].isalnum() and word not in pack.words["changes.generic"] and word not in FUNCTION_WORDS
    )


@dataclass(frozen=True)
class Passage:
    """What a text says near the words of a query; what is told of it is read when it is asked for, and once."""

    topic: Topic
    pack: Pack
    told: Sequence[Telling]
    whole: bool
    """Whether all of the text was read."""

    @cached_property
    def content(self) -> Tokens:
        """The words that say what it is about, each once."""
        words = dict.fromkeys(word for one in self.told for word in one.content)
        return tuple(word for word in words if word not in FUNCTION_WORDS)

    @cached_property
    def about(self) -> Words:
        """Its content, to look words up in."""
        return Words(self.content)

    @cached_property
    def known(self) -> Words:
        """All of its words."""
        return Words(word for one in self.told for word in one.words)

    @cached_property
    def asked(self) -> Tokens:
        """The words of the query that it has."""
        return tuple(word for word in self.topic.content if word in self.about)

    @cached_property
    def naming(self) -> Tokens:
        """The words by which another text may name what it is about, beside those of the query."""
        passed = [self.pack.words[name] for name in _NAMES_NOTHING]
        told = (word for word in self.content if not any(word in each for each in passed))
        return tuple(word for word in told if word not in self.topic.about)

    @cached_property
    def spoken(self) -> Sequence[Telling]:
        """The sentences that have a word of the query."""
        return [one for one in self.told if any(word in self.topic.known for word in one.content)]

    @cached_property
    def open(self) -> bool:
        """Whether nothing that it says of the query is sure."""
        if not self.terse:
            return bool(self.spoken) and not any(one.states(self.topic.known) for one in self.spoken)
        return self.doubted or (bool(self.spoken) and not any(one.clauses for one in self.spoken))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that begin with a capital letter."""
        return frozenset().union(*(one.names for one in self.told))

    @cached_property
    def alters(self) -> bool:
        """Whether any sentence may tell a change."""
        return any(
            one.sure and (one.changes or one.hints or one.ends or bool(one.former) or bool(one.label))
            for one in self.told
        )

    def places(self, word: str) -> list[tuple[Telling, int]]:
        """Return where forms of a word stand."""
        return [(one, place) for one, place in self._places.get(word[:KEY], ()) if alike(one.words[place], word)]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[tuple[Telling, int]]]:
        found: dict[str, list[tuple[Telling, int]]] = {}
        for one in self.told:
            for place, word in enumerate(one.words):
                found.setdefault(word[:KEY], []).append((one, place))
        return found

    @cached_property
    def brief(self) -> bool:
        """Whether it is so short that it is all about one thing."""
        return self.whole and self._length <= _BRIEF

    @cached_property
    def terse(self) -> bool:
        """Whether it is so short that any doubt in it is about its value."""
        return self.whole and self._length <= _TERSE

    @cached_property
    def _length(self) -> int:
        return sum(len(one.words) for one in self.told)

    @cached_property
    def doubted(self) -> bool:
        """Whether it says itself that nothing is sure."""
        return any(doubted(one.words, self.pack) for one in self.told)

    @cached_property
    def values(self) -> frozenset[tuple[str, str]]:
        """Its measures and moments."""
        return frozenset().union(*(one.values for one in self.told))

    @cached_property
    def momentary(self) -> bool:
        """Whether it tells of one day."""
        return any(one.momentary for one in self.told)


class Sentences:
    """Sentences that were read for a query: near copies share most of them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._words: dict[str, Tokens] = {}
        self._told: dict[tuple[str, str], Telling] = {}

    def words(self, text: str) -> Tokens:
        """Return the words and marks of a sentence."""
        if text not in self._words:
            self._words[text] = words_of(text)
        return self._words[text]

    def told(self, text: str, pack: Pack) -> Telling:
        """Return what a sentence says, read by the words of a language."""
        key = (text, pack.code)
        if key not in self._told:
            self._told[key] = Telling(text, self.words(text), pack)
        return self._told[key]


def passage(topic: Topic, content: str, sentences: Sentences) -> Passage:
    """Read a text: a short one whole, of a longer one the sentences that have words of the query."""
    text = prose(content)
    found = _sentences(text)
    if len(text) > BRIEF:
        enough = min(_NEAR, len(topic.roots))
        found = (each for each in found if has(each.lower(), topic.roots, enough))
    cut = [sentence[:_MAX_SENTENCE] for sentence in islice(found, _MAX_SENTENCES)]
    read = [each for each in cut if sentences.words(each)]
    pack = pack_of(tuple(word for each in read for word in sentences.words(each)))
    return Passage(topic, pack, [sentences.told(each, pack) for each in read], len(text) <= BRIEF)


def _sentences(text: str) -> Iterator[str]:
    """Split a text; a stop after a number or a title ends nothing."""
    last = ""
    for piece in pieces(text):
        if last.endswith(".") and _ABBREVIATED.search(last[-4:]):
            last = f"{last} {piece}"
        elif piece:
            if last:
                yield last
            last = piece
    if last:
        yield last
