"""Finds the clause of the sources that a clause of a statement rests on, and tells what speaks against it."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from app.grounding.evidence import Reading
from app.grounding.reading import Word
from app.grounding.source import Source, UngroundedKind
from app.grounding.wording import Wording

_MAX_COMPARED = 20
"""So many clauses that have most of a claim are looked at, and so many that have what they lack."""
_MAX_PLACES = 200
"""A word that more clauses have is looked for in the first of them."""
_NUMBERS_WEIGH = 2.0
_LAST_WEIGHS = 0.3
_COUNTED_WEIGHS = 100.0
_LABEL = re.compile(r"([A-Z\u00c0-\u00de][\w'-]{0,40}(?: [A-Z\u00c0-\u00de][\w'-]{0,40})?):\s")
_ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Grounds:
    """The clauses of all sources, the clauses that have each term, and who speaks in each source."""

    readings: Sequence[Reading]
    places: dict[object, list[int]]
    sentences: dict[tuple[int, int], set[object]]
    earlier: Sequence[set[object]]
    """The terms of each source and those before it."""
    speakers: Sequence[str]
    sharing: dict[tuple[tuple[int, int], tuple[int, int]], bool]

    @classmethod
    def of(cls, readings: Sequence[Reading], sources: Sequence[Source]) -> "Grounds":
        """Index clauses by what they say."""
        places: dict[object, list[int]] = defaultdict(list)
        sentences: dict[tuple[int, int], set[object]] = defaultdict(set)
        said: list[set[object]] = [set() for _ in sources]
        for place, reading in enumerate(readings):
            for term in reading.terms:
                if len(places[term]) < _MAX_PLACES:
                    places[term].append(place)
            sentences[reading.source, reading.clause.sentence] |= reading.terms
            said[reading.source] |= reading.terms
        return cls(readings, dict(places), dict(sentences), said, [_speaker(each) for each in sources], {})


def _speaker(source: Source) -> str:
    """Return who speaks, with the name before the colon that a line begins with: "Ann: I'm here"."""
    speaker = source.speaker.casefold()
    label = _LABEL.match(source.text)
    return f"{speaker} {label[1].casefold()}".strip() if label and speaker != _ASSISTANT else speaker


def objection(claim: Reading, grounds: Grounds, wording: Wording) -> UngroundedKind | None:
    """Return why no clause supports a claim; None where one does, or where the claim says nothing to be looked for."""
    scores: dict[int, float] = defaultdict(float)
    counted = [set(grounds.places[term]) for term in claim.terms if isinstance(term, tuple) and term in grounds.places]
    for term in claim.terms:
        found = grounds.places.get(term, ())
        weight = (_NUMBERS_WEIGH if isinstance(term, tuple) else 1.0) / max(len(found), 1)
        for place in found:
            scores[place] += weight
    if not scores:
        return None
    for place in grounds.places.get(_last(claim), ()):
        scores[place] += _LAST_WEIGHS
    for place in scores:
        scores[place] += _COUNTED_WEIGHS * sum(place in places for places in counted)
    best = max(scores.values())
    near = [place for place, score in scores.items() if score >= best * 0.999]
    first: UngroundedKind | None = None
    for place in near[:_MAX_COMPARED]:
        kind = _against(claim, grounds.readings[place], grounds, wording)
        if kind is None:
            return None
        first = first or kind
    return first


def _last(claim: Reading) -> str:
    """Return the last term of a clause, which mostly says the most: "coffee" of "Ann likes coffee"."""
    return next((word.stem for word in reversed(claim.clause.words) if word.stem in claim.terms), "")


def _against(claim: Reading, ground: Reading, grounds: Grounds, wording: Wording) -> UngroundedKind | None:
    if claim.denied != ground.denied or _is_replaced(claim, ground):
        return "denial"
    if not _as_sure(claim, ground):
        return "certainty"
    if not _same_subject(claim, ground, grounds, wording) or _swapped(claim, ground, wording):
        return "subject"
    return None if _is_joined(claim, ground, grounds, wording) else "subject"


def _is_replaced(claim: Reading, ground: Reading) -> bool:
    """Tell whether a claim takes "A instead of B" the other way round, or "from A to B"."""
    if (claim.terms - claim.against) & ground.against or claim.against & ground.terms - ground.against:
        return True
    return any(ground.ends.get(term, side) != side for term, side in claim.ends.items())


def _is_joined(claim: Reading, ground: Reading, grounds: Grounds, wording: Wording) -> bool:
    """Tell whether what a clause does not say of a claim is said by clauses that are joined to it.

    What a claim tells of its subject has to be in the clause itself; what else it has may stand in a clause that shares
    a word with the sentence, or in one of the two there is a pronoun.
    """
    missing = claim.terms - ground.terms
    if not missing or ground.pronoun:
        return True
    main = _main(claim, wording)
    if main is not None and main.stem in missing and ground.whole and not _is_resumed(main.stem, ground, grounds):
        return False
    return all(_is_near(term, ground, grounds) for term in missing)


def _is_resumed(term: str, ground: Reading, grounds: Grounds) -> bool:
    """Tell whether a clause that speaks of "it" in the same sentence has a term, or none has it in this form."""
    places = grounds.places.get(term)
    if not places:
        return True
    others = [grounds.readings[place] for place in places[:_MAX_COMPARED]]
    return any(
        other.pronoun and (other.source, other.clause.sentence) == (ground.source, ground.clause.sentence)
        for other in others
    )


def _is_near(term: object, ground: Reading, grounds: Grounds) -> bool:
    """Tell whether a term stands in a sentence that has a word in common with another one, or a pronoun."""
    here = (ground.source, ground.clause.sentence)
    if term in grounds.sentences[here] or term not in grounds.places:
        return True
    others = [grounds.readings[place] for place in grounds.places[term][:_MAX_COMPARED]]
    if any(other.pronoun for other in others):
        return True
    return any(_have_a_word(here, (other.source, other.clause.sentence), grounds) for other in others)


def _have_a_word(one: tuple[int, int], other: tuple[int, int], grounds: Grounds) -> bool:
    """Tell whether two sentences share a term; each pair is compared once."""
    if (one, other) not in grounds.sharing:
        grounds.sharing[one, other] = not grounds.sentences[one].isdisjoint(grounds.sentences[other])
    return grounds.sharing[one, other]


def _as_sure(claim: Reading, ground: Reading) -> bool:
    """Tell whether a claim is no surer than what it rests on."""
    unsure = claim.plan or claim.condition or claim.asks
    if (ground.asks or ground.condition or ground.plan) and not unsure:
        return False
    if ground.told and not claim.told:
        return False
    if not claim.past or unsure:
        return True
    return not (ground.duty and not claim.duty and not ground.past) and not (ground.ahead and not claim.ahead)


def _same_subject(claim: Reading, ground: Reading, grounds: Grounds, wording: Wording) -> bool:
    subject = claim.clause.words[: _verb(claim, wording)]
    folded = {word.folded for word in subject}
    speaker = grounds.speakers[ground.source]
    called = {part for name in (speaker, *speaker.split()) for part in (name, f"{name}s")} if speaker else set()
    terms = {word.stem for word in subject if word.stem in claim.terms and word.folded not in called}
    if not folded.isdisjoint(wording.words["assistants"]) and not terms:
        return speaker == _ASSISTANT or ground.addressed or not ground.speaks
    users = wording.words["users"] | wording.words["speakers"] | set(wording.order["addressed"][:1])
    if not folded.isdisjoint(users) and not terms and not claim.passive:
        return _is_user(claim, ground, speaker, wording)
    if not terms and not folded.isdisjoint(called):
        return not _another(claim, ground, wording, of_speaker=True)
    if not terms or terms <= ground.terms:
        return True
    if _another(claim, ground, wording) or _is_of_another_thing(claim, ground, wording):
        return False
    return _is_spoken_of(subject, terms, claim, ground, grounds)


def _is_of_another_thing(claim: Reading, ground: Reading, wording: Wording) -> bool:
    """Tell whether a clause names what it is about, and the claim has nothing of that."""
    subject = {word.stem for word in ground.clause.words[: _verb(ground, wording)]} & ground.terms
    return bool(subject) and subject.isdisjoint(claim.terms) and not ground.pronoun


def _is_spoken_of(subject: Sequence[Word], terms: set[str], claim: Reading, ground: Reading, grounds: Grounds) -> bool:
    """Tell whether what a claim is about is what a clause is about that does not name all of it."""
    names = {word.stem for word in subject if word.folded in claim.names or (word.capital and not word.first)}
    if names & ground.terms:
        return True
    missing = {term for term in terms if term not in ground.terms}
    if ground.speaks:
        return grounds.speakers[ground.source] == _ASSISTANT
    if missing <= grounds.sentences[ground.source, ground.clause.sentence] or missing.isdisjoint(grounds.places):
        return True
    return ground.pronoun and any(missing & said for said in grounds.earlier[: ground.source + 1])


def _is_user(claim: Reading, ground: Reading, speaker: str, wording: Wording) -> bool:
    """Tell whether a clause tells something of who uses the service."""
    if speaker == _ASSISTANT:
        return ground.addressed
    return not _another(claim, ground, wording, of_speaker=True)


def _another(claim: Reading, ground: Reading, wording: Wording, *, of_speaker: bool = False) -> bool:
    """Tell whether a clause is about somebody of whom the claim does not speak."""
    if not ground.actor:
        return False
    if ground.actor in wording.words["third"]:
        return wording.words["third"].isdisjoint(claim.said) and (of_speaker or not claim.names)
    stem = wording.stem(ground.actor) if ground.actor in wording.words["persons"] else ground.actor
    return stem not in claim.terms and ground.actor not in claim.said and wording.stem(ground.actor) not in claim.terms


def _verb(claim: Reading, wording: Wording) -> int:
    """Return the place of the first verb of a clause, 0 where none is seen."""
    words = claim.clause.words
    for place, word in enumerate(words[1:], 1):
        if word.folded == "'s" and place + 1 < len(words):
            continue
        if word.folded in wording.words["auxiliaries"]:
            return place
        if word.capital or word.folded in wording.words["persons"]:
            continue
        if _like_a_verb(word.folded, words[place - 1].folded, wording):
            return place
    return 0


def _like_a_verb(word: str, before: str, wording: Wording) -> bool:
    if word in wording.words["functional"]:
        return False
    if word in wording.pairs["forms"]:
        return True
    if wording.code == "en":
        determined = before in wording.words["functional"] and before not in wording.words["speakers"]
        return not determined and (word.endswith("ed") or (word.endswith("s") and not word.endswith("ss")))
    return word.endswith(("r", "de", "te") if wording.code == "sv" else ("t", "te", "en"))


def _swapped(claim: Reading, ground: Reading, wording: Wording) -> bool:
    """Tell whether two names have changed their parts: "Ann paid Bob" of "Bob paid Ann"."""
    shared = [name for name in claim.names if name in ground.names]
    if len(shared) < 2 or not _same_verb(claim, ground, wording):  # noqa: PLR2004
        return False
    first, second = shared[:2]
    same = ground.names.index(first) < ground.names.index(second)
    return same == (claim.passive != ground.passive)


def _same_verb(claim: Reading, ground: Reading, wording: Wording) -> bool:
    word = _main(claim, wording)
    return word is not None and word.folded not in wording.words["both_ways"] and word.stem in ground.terms


def _main(claim: Reading, wording: Wording) -> Word | None:
    """Return the word that tells what is said of the subject: "born" of "Ann was born in Oslo"."""
    place = _verb(claim, wording)
    words = claim.clause.words[place:] if place else ()
    return next((word for word in words if not word.capital and word.stem in claim.terms), None)
