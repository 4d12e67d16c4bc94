"""Reads a measure or a moment of whatever a clause speaks of: "the suite has 840 tests", "physio moved to Friday at 9".

No list of relations is needed. The value is taken out of the clause; what is left, without the words that only link, is
what it is a value of. So a later clause about the same with another value has the same key, in whatever order its words
come. The class of the value tells the relation, unless a noun of the clause does ("timeout", "price").
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.language.tokens import Tokens
from app.statements import topics
from app.statements.packs import Pack, RuleSet
from app.statements.spans import MAX_SPANS, Span, spans
from app.statements.topics import Voice

_MAX_BAG = 6
_MAX_NOUN = 3
_MAX_BEFORE_VERB = 5
MEASURED = {
    "number": frozenset(("amount", "dose")),
    "duration": frozenset(("duration",)),
    "day": frozenset(("day",)),
    "when": frozenset(("day", "time")),
}
"""The classes of value that may be of a relation of each kind."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A clause without its value: what it speaks of, and the relation that a noun of it names ("" where none does)."""

    bag: Tokens
    relation: str
    carried: bool = False
    """A clause before said what it speaks of."""


class Frames:
    """Reads the clauses of one content in one language for one speaker; remembers what the clause before spoke of."""

    def __init__(self, pack: Pack, rules: RuleSet, voice: Voice) -> None:
        """Read with a pack, for a speaker."""
        self._pack = pack
        self._rules = rules
        self._voice = voice

    def read(self, words: Tokens, spoken_of: Tokens = ()) -> Iterator[tuple[str, str]]:
        """Give the claim of a clause; a pronoun in it stands for what was spoken of before."""
        pack = self._pack
        found = spans(words, pack)
        changed = bool(found) and changes(words, pack)
        if not 0 < len(found) <= MAX_SPANS or past(words, pack, changed=changed):
            return
        chosen = _range(words, found, pack) or _chosen(words, found, pack, changed=changed)
        if chosen is None:
            return
        left = _subject(words, chosen, found, pack, changed=changed)
        frame = self._frame(words, left, chosen, spoken_of)
        if not (changed or frame.carried or self._tells(words)) or self._unsure(left, chosen, frame):
            return
        if not frame.relation and _limited(words, chosen, pack, changed=changed):
            frame = replace(frame, relation="limit")
        if named_key := key(frame, chosen.relation, self._voice, self._rules):
            yield named_key, chosen.value

    def _frame(self, words: Tokens, left: Tokens, chosen: Span, spoken_of: Tokens) -> Frame:
        """Return what a clause speaks of; a verb alone speaks of nothing unless somebody in it does what it tells."""
        pack = self._pack
        frame = frame_of(left, chosen.relation, pack, self._rules)
        if spoken_of and (not frame.bag or not pack.words["old.it"].isdisjoint(left)):
            return replace(frame_of((*spoken_of, *left), chosen.relation, pack, self._rules), carried=True)
        begins_with_verb = words[0] in pack.words["frames.present"]
        begins_with_verb = begins_with_verb and pack.words["frames.verbs"].isdisjoint(words[1:])
        if not frame.relation and begins_with_verb and pack.words["frames.stems"].issuperset(frame.bag):
            return Frame((), "")
        return frame

    def spoken_of(self, words: Tokens) -> Tokens:
        """Return what a clause speaks of that says that something changed, and not to what."""
        pack = self._pack
        if not changes(words, pack) and pack.words["frames.new"].isdisjoint(words[:2]):
            return ()
        left = _changed(words, pack)
        left = pack.phrases["frames.where"].until(pack.phrases["frames.adjuncts"].until(left))
        return tuple(word for word in left if word not in pack.words["pronouns"])

    def _tells(self, words: Tokens) -> bool:
        """Tell whether a clause has a verb that tells what holds."""
        pack = self._pack
        if not pack.words["speakers"].isdisjoint(words):
            return True
        verbs = [place for place, word in enumerate(words) if word in pack.words["frames.present"]]
        if any(self._is_verb(words, place) for place in verbs):
            return True
        first = pack.words["determiners"] | pack.words["first_singular"]
        if not pack.compounds and words[0] not in first | pack.words["articles"]:
            return False
        return any(word.endswith(pack.verbal) for word in words[1:_MAX_BEFORE_VERB])

    def _is_verb(self, words: Tokens, place: int) -> bool:
        """Tell whether a word that may be a noun is a verb that states: "tests check", but not "sound check"."""
        pack = self._pack
        if not place:
            return bool(pack.compounds) or words[0] in pack.words["frames.standing"]
        if not pack.plural or words[place] in pack.words["old.is"] | pack.words["auxiliaries"]:
            return words[place - 1] not in pack.words["infinitive"]
        return words[place].endswith(pack.plural) or words[place - 1].endswith(pack.plural)

    def _unsure(self, left: Tokens, chosen: Span, frame: Frame) -> bool:
        """Tell whether a clause speaks of one of several, or of what only a pronoun names."""
        pack = self._pack
        if not pack.words["frames.unsure"].isdisjoint(left):
            return True
        if chosen.relation not in {"day", "time"} and left and left[0] in pack.words["indefinite"]:
            left = left[1:]  # "a free coffee takes 10 stamps" tells of each
        pronouns = pack.words["frames.vague"]
        pronouns = pronouns - (pack.words["old.it"] if frame.carried else frozenset())
        vague = pronouns if frame.relation else pronouns | pack.words["indefinite"]
        return not vague.isdisjoint(left)


def changes(words: Tokens, pack: Pack) -> bool:
    """Tell whether a clause tells a change."""
    return not pack.words["changes"].isdisjoint(words) or pack.phrases["frames.moved"].within(words)


def frame_of(words: Tokens, valued: str, pack: Pack, rules: RuleSet | None) -> Frame:
    """Return what words speak of: their content in one form, and the relation that a noun among them names."""
    relation, rest = _relation(words, valued, pack, rules) if valued and rules else ("", words)
    if relation != "amount" or not pack.words["frames.linking"].issuperset(rest):  # "the fee" names itself
        words = rest
    bare = (word for word in words if word not in pack.words["frames.linking"])
    bag = frozenset(topics.one_form(word, pack, rules) for word in bare if word[0].isalnum())
    if not bag and valued == "time":  # "I get up at six" tells when it is done
        bag = pack.words["frames.present"].intersection(words) - pack.words["old.is"] - pack.words["frames.have"]
    return Frame(tuple(sorted(bag - pack.words["frames.sorts"] or bag)), "" if relation == "date" else relation)


def key(frame: Frame, valued: str, voice: Voice, rules: RuleSet) -> str | None:
    """Return the key of a value of a class of what a frame speaks of; None where it speaks of nothing, or of much."""
    if len(frame.bag) > _MAX_BAG or not (frame.bag or frame.relation):
        return None
    if not frame.bag:
        return f"{voice.subject(frame.relation, rules, plural=True)}/{frame.relation}"
    version = valued == "amount" and len(frame.bag) == 1 and frame.bag[0] in rules.members
    return f"{' '.join(voice.owned(frame.bag))}/{frame.relation or ('version' if version else valued)}"


def _relation(words: Tokens, valued: str, pack: Pack, rules: RuleSet) -> tuple[str, Tokens]:
    """Return the relation that a noun names of which a value of a class may be, and the other words."""
    for place in range(len(words)):
        for end in range(min(len(words), place + _MAX_NOUN), place, -1):
            named = topics.noun(words[place:end], pack)
            if end - place == 1 and words[place] in pack.words["unqualified"]:
                continue
            if named and _fits(named, valued, rules):
                return named, words[:place] + words[end:]
        written = topics.compound(words[place], pack)
        if written and _fits(written[0], valued, rules):
            return written[0], (*words[:place], written[1], *words[place + 1 :])
    return "", words


def _fits(relation: str, valued: str, rules: RuleSet) -> bool:
    return valued in MEASURED.get(rules.kinds.get(relation, "any"), ())


def past(words: Tokens, pack: Pack, *, changed: bool) -> bool:
    """Tell whether a clause tells what happened: "ran 8 km"; a change that has happened holds."""
    if not pack.words["frames.past"].isdisjoint(words):
        return True
    endings = tuple(pack.words["frames.past_endings"])
    if changed or not pack.words["old.is"].isdisjoint(words):
        return False
    states = pack.words["frames.not_past"]
    return any(
        word.endswith(endings) and word not in states and not (place and words[place - 1] in states)
        for place, word in enumerate(words)
    )


def _limited(words: Tokens, chosen: Span, pack: Pack, *, changed: bool) -> bool:
    """Tell whether an amount is the most there may be: "accepts up to 5 MB", but not "we are up to 900 tests"."""
    if chosen.relation != "amount":
        return False
    reached = changed or pack.phrases["frames.reached"].within(words)
    return pack.phrases["frames.limits"].within(words) or (
        not reached and pack.phrases["frames.below"].within(words[: chosen.start])
    )


def _range(words: Tokens, found: list[Span], pack: Pack) -> Span | None:
    """Return "from 9 to 17" as one value."""
    for first, second in itertools.pairwise(found):
        between = words[first.end : second.start]
        opened = first.start and words[first.start - 1] in pack.words["frames.from"]
        if (
            first.relation == second.relation
            and len(between) == 1
            and between[0] in pack.words["frames.until"]
            and (opened or pack.words["changes"].isdisjoint(words))
            and pack.words["changes"].isdisjoint(words[: first.start])
        ):
            return Span(first.start, second.end, "time", f"{first.value}-{second.value}")
    return None


def _chosen(words: Tokens, found: list[Span], pack: Pack, *, changed: bool) -> Span | None:
    """Return what holds now of the values of a clause: after a change what it changed to, else the first measure."""
    measures = [each for each in found if each.relation != "frequency"] or found
    if changed:
        to = [each for each in measures if each.start and words[each.start - 1] in pack.words["frames.to"]]
        verb = next((place for place, word in enumerate(words) if word in pack.words["changes"]), 0)
        verb = 0 if pack.compounds and not pack.words["frames.have"].isdisjoint(words) else verb
        later = [each for each in measures if not _is_old(words, each, pack) and each.start >= verb]
        to.sort(key=lambda each: each.relation == "day")
        return to[0] if to else later[0] if len(later) == 1 else None
    beside = pack.words["frames.circumstance"]
    copula = next((place for place, word in enumerate(words) if word in pack.words["old.is"]), 0)
    measures = [each for each in measures if each.start >= copula]  # "part 3 is long" tells nothing of the 3
    sure = [each for each in measures if beside.isdisjoint(words[max(each.start - 2, 0) : each.start])]
    verb = next((place for place, word in enumerate(words) if word in pack.words["frames.verbs"]), 0)
    return next((each for each in sure if each.start > verb), sure[0] if sure else None)


def _is_old(words: Tokens, span: Span, pack: Pack) -> bool:
    return span.start > 0 and words[span.start - 1] in pack.words["frames.from"]


def _subject(words: Tokens, chosen: Span, found: list[Span], pack: Pack, *, changed: bool) -> Tokens:
    """Return the words that tell what a value is of: without the value, what it was before, and the circumstances."""
    gone = [each for each in found if each.relation == "frequency" or (changed and _is_old(words, each, pack))]
    taken = {place for each in (chosen, *gone) for place in range(each.start, each.end)}
    before = tuple(word for place, word in enumerate(words[: chosen.start]) if place not in taken)
    after = tuple(word for place, word in enumerate(words[chosen.end :], chosen.end) if place not in taken)
    before = _changed(before, pack) if changed else before
    after = _of_value(after, pack)
    times = tuple(word for word in after if word in pack.words["frames.times"])
    circumstances = ("frames.adjuncts", "frames.where") if chosen.relation in {"day", "time"} else ("frames.adjuncts",)
    for name in circumstances if frame_of(before, "", pack, None).bag else ():
        after = pack.phrases[name].until(after)
    after = (*after, *times)  # "at 8 in summer" is not "at 10 in winter"
    left = pack.phrases["frames.per"].without((*before, *after))
    return pack.phrases["frames.dayparts"].without(left) if chosen.relation == "time" else left


def _of_value(after: Tokens, pack: Pack) -> Tokens:
    """Return what follows a value without its "a kilo", and without "to win them over"."""
    if len(after) > 1 and after[0] in pack.words["indefinite"] | pack.words["each"]:
        after = after[2:]
    vague = pack.words["frames.vague"] | pack.words["indefinite"]
    if vague.isdisjoint(after):
        return after
    stops = pack.words["infinitive"] | vague | pack.words["frames.where"]
    return after[: next((place for place, word in enumerate(after) if word in stops), len(after))]


def _changed(words: Tokens, pack: Pack) -> Tokens:
    """Return what changed: "my doctor raised the dose" speaks of the dose, "the dose was raised" too."""
    verbs = pack.words["changes"] if not pack.words["changes"].isdisjoint(words) else pack.words["frames.have"]
    place = next((place for place, word in enumerate(words) if word in verbs), len(words))
    after = words[place + 1 :]
    return after if frame_of(after, "", pack, None).bag else words[:place]
