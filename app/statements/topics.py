"""Reads noun phrases: whose fact a statement is, and which relation a phrase such as "our API's port" names."""

from dataclasses import dataclass

from app.language.tokens import Tokens
from app.statements.packs import MIN_ENDING, Pack, RuleSet

USER = "user"
WE = "we"
_MAX_SUBJECT = 5
_MIN_COMPOUND = 3
_MIN_PLURAL = 3
_MIN_STEM = 3
_MAX_ENDINGS = 4


@dataclass(frozen=True, slots=True)
class Voice:
    """Who "I" and "we" are, in the words of one speaker.

    Of personal relations both are the speaker: "our rent" is "my rent". Of the relations of a project both are "we":
    who says "I use pnpm" to an assistant and who says "we use pnpm" set one choice, and so does "the project uses".
    A named speaker is one of several, so there "I" stays that person and only "we" is shared.
    """

    speaker: str

    def subject(self, relation: str, rules: RuleSet, *, plural: bool) -> str:
        """Return the subject that a first person is."""
        shared = relation in rules.shared and (plural or self.speaker == USER)
        return WE if shared else self.speaker

    def owned(self, words: Tokens) -> Tokens:
        """Return the name of a thing in the words of one of several speakers, whose it is: "ann standup"."""
        return words if self.speaker == USER else (self.speaker, *words)


@dataclass(frozen=True, slots=True)
class Topic:
    """A noun phrase: the words that tell it from others, and whether it is or belongs to a first person."""

    words: Tokens
    first: bool
    plural: bool
    definite: bool = False


def topic(words: Tokens, pack: Pack) -> Topic | None:
    """Read a noun phrase; None where it does not say of whom or of what it speaks."""
    words = _bare(words, pack)
    for name in ("first_plural", "first_singular"):
        length = pack.phrases[name].at(words, 0) if words else 0
        if length == len(words):
            return Topic((), first=True, plural=name == "first_plural" and bool(words), definite=True)
    if len(words) > _MAX_SUBJECT + 4 or set(words) & (pack.words["pronouns"] | pack.words["former"]):
        return None
    first = pack.phrases["possessives"].at(words, 0) > 0
    definite = first or words[0] not in pack.words["indefinite"]
    words = _compound_order(words, pack)
    kept = tuple(word for word in words if word not in pack.words["articles"] and word not in pack.words["possessives"])
    return Topic(kept, first=first, plural=False, definite=definite)


def owner(words: Tokens, pack: Pack) -> Topic | None:
    """Read the subject of a verb: a pronoun of the first person may have more words before or after it."""
    if words and (words[-1] in pack.words["speakers"] or words[0] in pack.words["speakers"]):
        plural = bool({words[0], words[-1]} & pack.words["first_plural"])
        return Topic((), first=True, plural=plural, definite=True)
    return topic(words, pack)


def _bare(words: Tokens, pack: Pack) -> Tokens:
    """Return a phrase without what leads to it and without the auxiliaries after it."""
    words = pack.phrases["leads"].trimmed(words) if not pack.phrases["first_plural"].at(words or ("",), 0) else words
    while words and words[-1] in pack.words["auxiliaries"]:
        words = words[:-1]
    return words


def _compound_order(words: Tokens, pack: Pack) -> Tokens:
    """Put what a preposition adds before the noun, as compounds do: "deadline for Nimbus" is "nimbus deadline"."""
    for place, word in enumerate(words):
        if place and word in pack.words["joins"]:
            return (*_compound_order(words[place + 1 :], pack), *words[:place])
    return words


def named(found: Topic, pack: Pack) -> tuple[str, Tokens] | None:
    """Return the relation that a phrase names by its last words, and the words before them."""
    words = found.words
    if words and (favourite := _favourite(words, pack)):
        return favourite
    for begin in range(len(words)):
        relation = noun(words[begin:], pack)
        alone = len(words) - begin == 1 and words[begin] in pack.words["unqualified"]
        if relation and not (alone and narrowed(words[:begin], pack)):
            return relation, words[:begin]
    for place, word in enumerate(words):
        if word in pack.words["singling"] and place + 1 < len(words):
            return "favourite_" + "_".join(words[place + 1 :]), words[:place]
    written = compound(words[-1], pack) if words else None
    return (written[0], (*words[:-1], written[1])) if written else None


def compound(word: str, pack: Pack) -> tuple[str, str] | None:
    """Return the relation that a noun names which another word is written on to, and that word: "messebudget"."""
    for place in range(_MIN_COMPOUND, len(word) - MIN_ENDING + 1) if pack.compounds else ():
        relation = pack.compounds.get(word[place:])
        if relation:
            return relation, word[:place].rstrip("s-")
    return None


def noun(words: Tokens, pack: Pack) -> str | None:
    """Return the relation that a noun names, in the plural too: "ticket prices"."""
    return pack.nouns.get(words) or (pack.nouns.get(_one(words, pack)) if pack.plural else None)


def _one(words: Tokens, pack: Pack) -> Tokens:
    return (*words[:-1], words[-1].removesuffix(pack.plural))


def _favourite(words: Tokens, pack: Pack) -> tuple[str, Tokens] | None:
    """Return the relation of a favourite, whatever it is of."""
    for place, word in enumerate(words):
        stem = next((each for each in pack.words["favourite"] if pack.compounds and word.startswith(each)), word)
        if stem != word:
            return "favourite_" + "_".join((word.removeprefix(stem), *words[place + 1 :])), words[:place]
        if word in pack.words["favourite"] and place + 1 < len(words):
            return "favourite_" + "_".join(words[place + 1 :]), words[:place]
    return None


def narrowed(words: Tokens, pack: Pack) -> Tokens:
    """Return the words that tell one subject from another, without those that say nothing ("current", "project")."""
    neutral, articles = pack.words["neutral"], pack.words["articles"]
    return tuple(word for word in words if word not in neutral and word not in articles)


def key(relation: str, qualifiers: Tokens, found: Topic, voice: Voice, pack: Pack, rules: RuleSet) -> str | None:
    """Return the key of a relation of what a phrase speaks of; None where the phrase is too long to be a name."""
    kept = narrowed(qualifiers, pack)
    if len(kept) > _MAX_SUBJECT:
        return None
    if not kept:
        plural = found.plural or not found.first
        return f"{voice.subject(relation, rules, plural=plural)}/{relation}"
    return _named_key(relation, voice.owned(kept) if found.first else kept, pack, rules)


def own_key(relation: str, words: Tokens, voice: Voice, pack: Pack, rules: RuleSet) -> str | None:
    """Return the key of a relation of a thing, which is nobody's: "tennis/day"; None where no thing is named.

    A thing that may have a time keeps a name that narrows nothing else: "deployments happen on Tuesdays".
    """
    kept = tuple(word for word in narrowed(words, pack) if word not in pack.words["neutral_in_time"])
    nameless = pack.words["nameless"] - (pack.words["first_plural_nouns"] if relation == "name" else frozenset())
    kept = kept or tuple(word for word in words[-1:] if word not in nameless)
    return _named_key(relation, voice.owned(kept), pack, rules) if 0 < len(kept) <= _MAX_SUBJECT else None


def _named_key(relation: str, words: Tokens, pack: Pack, rules: RuleSet) -> str:
    return " ".join(sorted({one_form(word, pack, rules) for word in words})) + f"/{relation}"


def one_form(word: str, pack: Pack, rules: RuleSet | None) -> str:
    """Return a word without its ending, so that "meetings" and "meeting" are one subject."""
    if rules and word in rules.members:
        return word
    for _ in range(_MAX_ENDINGS if pack.compounds else 1):
        if len(word) <= _MIN_PLURAL or word[-2:] in {"ss", "us", "is"}:
            break
        ending = next((each for each in pack.endings if word.endswith(each) and len(word) - len(each) >= _MIN_STEM), "")
        word = word.removesuffix(ending)
    return word
