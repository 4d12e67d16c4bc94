"""What a clause says of what: its words, whether it denies, how sure it is, and of whom it is told."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

from app.grounding.quantities import Quantity, quantities
from app.grounding.reading import Clause, Word
from app.grounding.wording import Wording
from app.statements.tokens import Tokens


@dataclass(slots=True)
class Reading:
    """A clause as it is compared. ``terms``: the stems of what it says, and its quantities."""

    clause: Clause
    said: Tokens
    terms: set[object] = field(default_factory=set)
    quantities: list[Quantity] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names that no preposition makes a mere circumstance, in their order."""
    denied: bool = False
    plan: bool = False
    duty: bool = False
    ahead: bool = False
    told: bool = False
    condition: bool = False
    asks: bool = False
    past: bool = False
    own: bool = False
    speaks: bool = False
    addressed: bool = False
    pronoun: bool = False
    passive: bool = False
    actor: str = ""
    """The stem of the person or the name that the clause is about, "" where it is the speaker or no person."""
    source: int = 0
    against: set[object] = field(default_factory=set)
    """The terms that stand behind "instead of"."""
    ends: dict[str, str] = field(default_factory=dict)
    """By its stem, what stands behind "from" or "to"."""
    whole: bool = True
    """It has a subject or a verb of its own, as far as the lists know."""


def read(clause: Clause, wording: Wording, names: Collection[str], unsaid: Collection[int]) -> Reading:
    """Read a clause; ``unsaid``: the places of words that belong to dates."""
    words = [word for word in clause.words if word.starts not in unsaid]
    said = tuple(word.folded for word in clause.words)
    found = Reading(clause, said)
    if not said:
        return found
    found.quantities = quantities(words, wording)
    counted = {place for each in found.quantities for place in range(each.start, each.end)}
    content = [word for place, word in enumerate(words) if place not in counted]
    found.terms = {each.key for each in found.quantities}
    found.terms.update(term for word in content if (term := term_of(word, wording)))
    phrases = wording.phrases
    said = tuple(word.folded for word in words)
    plain = phrases["idioms"].without(said)
    denials = sum(word in wording.words["denials"] for word in plain)
    denials += sum(word.stem in wording.denying and word.folded not in wording.words["denials"] for word in content)
    found.denied = denials % 2 == 1
    found.duty = phrases["duties"].within(said)
    found.plan = phrases["plans"].within(phrases["duties"].without(said))
    found.ahead = phrases["ahead"].within(said)
    found.told = phrases["told"].within(said)
    found.condition = phrases["conditions"].within(said) or clause.joint in wording.words["conditions"]
    found.asks = clause.asks and not phrases["polite"].within(said)
    found.against = _against(words, wording) & found.terms
    found.ends = _ends(words, wording)
    found.past = _is_past(clause.words, wording)
    found.own = not wording.words["own"].isdisjoint(said)
    found.speaks = not wording.words["speakers"].isdisjoint(said)
    found.addressed = not wording.words["addressed"].isdisjoint(said)
    found.pronoun = not wording.words["others"].isdisjoint(said)
    found.passive = not wording.words["passive"].isdisjoint(said) and not wording.words["by"].isdisjoint(said)
    found.actor = _actor(words, wording, names)
    found.names = _direct_names(words, wording, names)
    return found


def term_of(word: Word, wording: Wording) -> str:
    """Return the stem by which a word is looked for, "" for a word that needs no evidence."""
    if is_needless(word, wording):
        return ""
    base = wording.denied(word.stem)
    return word.stem if base is None else base


def _against(words: list[Word], wording: Wording) -> set[object]:
    """Return the stems of the words behind "instead of", or behind "over" where something is preferred."""
    said = tuple(word.folded for word in words)
    prefers = not wording.words["prefers"].isdisjoint(said)
    for place in range(1, len(said)):
        length = wording.phrases["instead"].at(said, place)
        if not length and prefers:
            length = wording.phrases["preferred_to"].at(said, place)
        if length:
            return {word.stem for word in words[place + length :]}
    return set()


def _ends(words: list[Word], wording: Wording) -> dict[str, str]:
    found: dict[str, str] = {}
    side = ""
    for word in words:
        if word.folded in wording.words["ends"]:
            side = word.folded
        elif side and word.folded not in wording.words["functional"]:
            found.setdefault(word.stem, side)
            side = ""
    return found


def is_needless(word: Word, wording: Wording) -> bool:
    """Tell whether a word needs no evidence; "Go" within an English sentence is a name."""
    if word.capital and not word.first and wording.code != "de":
        return word.folded in wording.words["functional"] or word.folded in wording.words["about"]
    return word.folded in wording.needless


def is_name(word: Word, names: Collection[str], wording: Wording) -> bool:
    """Tell whether a word is written as a name; what begins a sentence has to be known as one."""
    if not word.capital or word.folded in wording.words["functional"] or word.folded in wording.words["about"]:
        return False
    return word.folded in names if word.first or wording.code == "de" else True


def _is_noun(word: Word | None, wording: Wording) -> bool:
    """Tell whether the word before a capitalised German word makes a noun of it: an article, a number."""
    if wording.code != "de" or word is None:
        return False
    return any(word.folded in wording.words[name] for name in ("articles", "possessive", "numbers"))


def inherit(found: list[Reading], wording: Wording) -> None:
    """Give what holds for a sentence, or for the clause before, to the clauses after it."""
    for before, after in pairwise(found):
        if before.clause.sentence != after.clause.sentence:
            continue
        after.told = after.told or before.told
        contrary = after.clause.joint in wording.words["contrast"]
        if not _is_whole(after, wording) and not contrary:
            after.denied = after.denied or before.denied
            after.plan = after.plan or before.plan
            after.ahead = after.ahead or before.ahead
            after.past = after.past or before.past
        if not _is_whole(after, wording):
            after.actor = after.actor or before.actor
            after.speaks = after.speaks or before.speaks
            after.own = after.own or before.own
    for each in found:
        each.whole = _is_whole(each, wording)
    sentences: dict[tuple[int, int], bool] = {}
    for each in found:
        key = (each.source, each.clause.sentence)
        sentences[key] = sentences.get(key, False) or each.condition
    for each in found:
        each.condition = sentences[each.source, each.clause.sentence]


def _is_whole(reading: Reading, wording: Wording) -> bool:
    """Tell whether a clause has a subject or a verb of its own, as far as the lists know."""
    if reading.clause.joint in {".", ""}:
        return True
    known = wording.words["auxiliaries"] | wording.words["speakers"] | wording.words["third"]
    return not known.isdisjoint(reading.said) or (bool(reading.actor) and len(reading.said) > 2)  # noqa: PLR2004


def _is_past(words: list[Word], wording: Wording) -> bool:
    forms = wording.pairs["forms"]
    for place, word in enumerate(words):
        if word.folded in wording.words["possible_past"]:
            return True
        plain = not word.capital or word.first
        if plain and place and len(word.folded) > 4 and word.folded.endswith(wording.past):  # noqa: PLR2004
            return True
        if place and wording.code == "en" and word.folded in forms and not word.folded.endswith("s"):
            return True
    return False


def _actor(words: list[Word], wording: Wording, names: Collection[str]) -> str:
    """Return who a clause is about first."""
    for place, word in enumerate(words):
        before = words[place - 1].folded if place else ""
        if word.folded in wording.words["speakers"]:
            return ""
        if word.folded in wording.words["persons"] and (before in wording.words["possessive"] or before == "'s"):
            return word.stem
        if word.folded in wording.words["third"]:
            return word.folded
        noun = _is_noun(words[place - 1] if place else None, wording)
        if is_name(word, names, wording) and before not in wording.words["beside"] and not noun:
            following = words[place + 1 :]
            named = bool(place) and is_name(words[place - 1], names, wording)
            if named or (following and following[0].folded == "'s"):
                continue
            return word.folded
        if place and word.folded in wording.words["auxiliaries"]:
            return ""
    return ""


def _direct_names(words: list[Word], wording: Wording, names: Collection[str]) -> list[str]:
    found: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else None
        if not is_name(word, names, wording) or _is_noun(before, wording):
            continue
        if before is not None and (before.folded in wording.words["beside"] or is_name(before, names, wording)):
            continue
        found.append(word.folded)
    return found
