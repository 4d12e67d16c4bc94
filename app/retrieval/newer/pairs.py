"""Finds which of the best candidates states a newer value of what another one states a value of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import TypeAlias

from app.retrieval.channels.channel import ParsedQuery, Scores
from app.retrieval.newer.asking import Asking, asking
from app.retrieval.newer.copies import owned, with_copies
from app.retrieval.newer.corrections import corrected, unsettled
from app.retrieval.newer.numbered import Numbers, has_numbers, numbers_asked
from app.retrieval.newer.passages import Passage, Sentences, Topic, passage, topic
from app.retrieval.newer.speakers import speaker, text_without_speaker
from app.retrieval.newer.stated_values import MAX_READ, StatedValue, stated_values
from app.retrieval.newer.wording import codes
from app.retrieval.pool import Candidate

Pairs: TypeAlias = Sequence[tuple[Candidate, Candidate]]
"""Candidates, each with one that was said later."""
Found: TypeAlias = dict[str, dict[str, int]]
"""Candidates with those that change them, and how many words of the query each of these shares."""
COMPARED = 8
"""So many of the best candidates are compared with each other."""
_COMPARABLE = 0.5
"""The newer one scores at least this share of what the older one does."""
_SHARED, _SHARED_OF_ANY = 2, 0.5
"""Words of the query that two statements share; where any kind of value may answer, at least this share of them."""
_BRIEF = 240
"""Characters of two candidates of which each speaks of one thing; longer ones have all words of the query."""
_BESIDE = 2
"""A plain number that counts nothing stands so near to a word of the query that names it: "port 8081"."""


def newer_values(query: ParsedQuery, ranked: Sequence[Candidate], scores: Scores) -> Mapping[str, Sequence[str]]:
    """Return the candidates whose value has changed, each with those that state a newer one, in the order of the best.

    Nothing is returned of those that are in order already: each is ranked before the ones that change its value, or is
    another copy of one that is.
    """
    best = [one for one in ranked if not (one.superseded or one.added or one.expired)][:COMPARED]
    pairs = with_copies([pair for pair in combinations(best, 2) if _may_change(*pair, scores)], best)
    speakers = {one.id: speaker(one) for one in best} if pairs else {}
    owners = owned(best, speakers) if pairs else {}
    pairs = [(older, newer) for older, newer in pairs if owners[older.id] == owners[newer.id]]
    if not pairs:
        return {}
    wanted, numbers = codes(query.text[:MAX_READ]), numbers_asked(query.text)
    named = {one.id for one in best if _names(one, wanted, numbers)}
    pairs = [(older, newer) for older, newer in pairs if newer.id in named]
    if not pairs:
        return {}
    asked, about = asking(query.text), topic(query.text)
    wording = _Wording(about, speakers) if about else None
    found = _by_values(pairs, _Comparison(asked, best), wording) if asked else {}
    if wording:
        _add_reworded(pairs, wording, found)
    return {older: _closest(later) for older, later in _in_order(found, best)}


def _by_values(pairs: Pairs, values: "_Comparison", wording: "_Wording | None") -> Found:
    """Find those that state another value, where nothing in their wording contradicts it."""
    found: Found = {}
    for older, newer in pairs:
        shared = values.shared(older, newer)
        if shared and not (wording and wording.contradicts(older, newer)):
            found.setdefault(older.id, {})[newer.id] = shared
    return found


def _add_reworded(pairs: Pairs, wording: "_Wording", found: Found) -> None:
    """Add the last one that corrects each of the others in free wording."""
    reworded: set[str] = set()
    for older, newer in sorted(pairs, key=lambda pair: time_order(pair[1]), reverse=True):
        if older.id in reworded or newer.id in found.get(older.id, {}):
            continue
        shared = wording.shared(older, newer)
        if shared:
            found.setdefault(older.id, {})[newer.id] = shared
            reworded.add(older.id)


def _in_order(found: Found, best: Sequence[Candidate]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Give what was found in the order of the best."""
    places = {one.id: place for place, one in enumerate(best)}
    for one in best:
        if one.id in found:
            yield one.id, dict(sorted(found[one.id].items(), key=lambda each: places[each[0]]))


def _closest(shared: Mapping[str, int]) -> Sequence[str]:
    """Return those that share the most."""
    most = max(shared.values())
    return [id_ for id_, each in shared.items() if each == most]


def time_order(candidate: Candidate) -> tuple[int, int, str]:
    """Return what orders candidates by when they were said."""
    return candidate.happened_at, candidate.created_at, candidate.id


def _names(candidate: Candidate, wanted: frozenset[str], numbers: Numbers) -> bool:
    """Tell whether a candidate has all of what a query names with digits, and beside the same nouns."""
    if not wanted:
        return True
    text = candidate.content[:MAX_READ].lower()
    # Most texts do not hold it as part of a word either, which is seen much sooner.
    if not (all(code in text for code in wanted) and wanted <= codes(text)):
        return False
    return has_numbers(text, numbers) is not False


def _may_change(older: Candidate, newer: Candidate, scores: Scores) -> bool:
    """Tell whether one was said later and is about as good a match."""
    return time_order(newer) > time_order(older) and scores[newer.id] >= _COMPARABLE * scores[older.id]


@dataclass(frozen=True)
class _Wording:
    """Compares how candidates are worded, each of which is read once."""

    topic: Topic
    speakers: Mapping[str, Sequence[str]]
    read: dict[str, Passage] = field(default_factory=dict)
    sentences: Sentences = field(default_factory=Sentences)
    covering: dict[str, bool] = field(default_factory=dict)

    def shared(self, older: Candidate, newer: Candidate) -> int:
        """Return how many words tell that a newer candidate corrects an older one; 0 where it does not."""
        brief = len(older.content) + len(newer.content) <= _BRIEF
        if not brief and not (self._covers(older) and self._covers(newer)):
            return 0
        read = self._passage(newer)
        if not read.alters or read.doubted:  # nothing is read of the older one
            return 0
        return corrected(self.topic, self._passage(older), self._passage(newer))

    def contradicts(self, older: Candidate, newer: Candidate) -> bool:
        """Tell whether the wording says that a value is of something else, or not settled."""
        return unsettled(self.topic, self._passage(older), self._passage(newer))

    def _covers(self, candidate: Candidate) -> bool:
        """Tell whether a candidate has all words of the query: a longer one says much else."""
        if candidate.id not in self.covering:
            text = candidate.content[:MAX_READ].lower()
            self.covering[candidate.id] = all(root in text for root in self.topic.roots)
        return self.covering[candidate.id]

    def _passage(self, candidate: Candidate) -> Passage:
        if candidate.id not in self.read:
            text = text_without_speaker(candidate, self.speakers[candidate.id])
            self.read[candidate.id] = passage(self.topic, text, self.sentences)
        return self.read[candidate.id]


@dataclass(frozen=True)
class _Comparison:
    """Compares what candidates state, each of which is read once."""

    asked: Asking
    best: Sequence[Candidate]
    read: dict[str, list[StatedValue]] = field(default_factory=dict)
    sentences: dict[str, list[StatedValue]] = field(default_factory=dict)
    words: dict[str, set[str]] = field(default_factory=dict)
    known: dict[str, tuple[int, set[tuple[str, str]]]] = field(default_factory=dict)
    """By the id of a candidate, how many were read, and the values that those before it state."""

    def shared(self, older: Candidate, newer: Candidate) -> int:
        """Return how many of the query's words two candidates share that state different values, else 0."""
        before = self._stated(older)
        after = self._stated(newer) if before else []
        if not after:
            return 0
        known, lacking = self._known(newer), self._lacks(older, newer)
        new = (each for each in after if (each.value.kind, each.value.text) not in known)
        told = [each for each in new if each.changed or not lacking]
        most = 0
        for other, one in product(told, before):
            if one.value.kind == other.value.kind and one.of_another == other.of_another:
                most = max(most, self._shared(one, other))
                if most == len(self.asked.stems):
                    break
        return most

    def _stated(self, candidate: Candidate) -> list[StatedValue]:
        if candidate.id not in self.read:
            self.read[candidate.id] = stated_values(self.asked, candidate.content, self.sentences)
        return self.read[candidate.id]

    def _lacks(self, older: Candidate, newer: Candidate) -> bool:
        """Tell whether the older one has a word of the query that the newer one lacks."""
        return not self._worded(older) <= self._worded(newer)

    def _worded(self, candidate: Candidate) -> set[str]:
        """Return the words of the query that a candidate has."""
        if candidate.id not in self.words:
            text = candidate.content.lower()
            self.words[candidate.id] = {each for each in self.asked.stems if each in text}
        return self.words[candidate.id]

    def _known(self, newer: Candidate) -> set[tuple[str, str]]:
        """Return the values that were stated before: who tells them again changes nothing."""
        read, known = self.known.get(newer.id, (0, set()))
        if read != len(self.read):
            earlier = (
                self.read[one.id] for one in self.best if one.id in self.read and time_order(one) < time_order(newer)
            )
            known = {(each.value.kind, each.value.text) for stated in earlier for each in stated}
            self.known[newer.id] = len(self.read), known
        return known

    def _shared(self, older: StatedValue, newer: StatedValue) -> int:
        """Return how many words of the query two statements share; 0 where they state values of different things."""
        shared = len(older.near.keys() & newer.near.keys())
        return shared if shared >= self._wanted and self._same_thing(older, newer) else 0

    @cached_property
    def _wanted(self) -> float:
        """How many of the query's words two statements share at least."""
        words = len(self.asked.stems)
        if self.asked.by_name:
            return words
        return max(min(_SHARED, words), _SHARED_OF_ANY * words if self.asked.of_any_kind else 0)

    def _same_thing(self, older: StatedValue, newer: StatedValue) -> bool:
        """Tell whether two values of one kind may be of one thing, where they are plain numbers."""
        one, other = older.value, newer.value
        if one.kind != "number":
            return True
        if self.asked.counted:
            named = self.asked.counted & older.near.keys()
            counted = {one.counted, other.counted} - {""}
            return bool(named) and named <= newer.near.keys() and counted <= set(self.asked.stems)
        if one.counted and one.counted == other.counted:
            return True
        both = older.near.keys() & newer.near.keys()
        return any(older.near[each] <= _BESIDE and newer.near[each] <= _BESIDE for each in both)
