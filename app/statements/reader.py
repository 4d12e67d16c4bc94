"""Finds the fact that a sentence sets: by the tool it names, by its verb, or by the noun it speaks of."""

from collections.abc import Iterator

from app.language.tokens import Tokens
from app.statements import carried, tools
from app.statements.blocks import asserted, blocked, changes_told, opens_quotation
from app.statements.carried import SpokenOf
from app.statements.circumstances import careful
from app.statements.clauses import Clause, divided
from app.statements.frames import Frames, changes
from app.statements.noun_facts import NounFacts
from app.statements.packs import Pack, RuleSet
from app.statements.topics import Voice, owner

_OF_THINGS = frozenset(("spot",))
"""The kinds of value that no person has of whom the rules read it: "I am in the garage" soon holds no more."""


class Reader:
    """Reads the sentences of one content: a pronoun may stand for what the sentence before spoke of."""

    def __init__(self, rules: RuleSet, voice: Voice) -> None:
        """Read for one speaker, by a rule set."""
        self._rules = rules
        self._voice = voice
        self._spoken_of: SpokenOf | None = None
        self._bag: Tokens = ()
        self._measures = True
        self._quoting = False

    def claim(self, words: Tokens, pack: Pack) -> tuple[str, str] | None:
        """Return the key that a sentence sets and its value; None where the rules are not sure."""
        opens = opens_quotation(words)
        quoted, self._quoting = self._quoting or opens, self._quoting ^ opens
        if quoted:
            return None
        words = changes_told(words, pack)
        if "?" in words:
            return None
        pieces = asserted(words, pack) if blocked(words, pack) else [words]
        claims = ((piece, claim) for piece in pieces if (claim := self._of_piece(piece, pack)))
        return next((careful(claim, piece, pack, self._rules) for piece, claim in claims), None)

    def _of_piece(self, words: Tokens, pack: Pack) -> tuple[str, str] | None:
        """Return what a sentence sets, or a part of one that stands for itself."""
        parts = divided(words, pack)
        nouns = NounFacts(pack, self._rules, self._voice)
        momentary = pack.phrases["frames.momentary"].within(words) and not changes(words, pack)
        self._measures = not momentary or pack.phrases["frames.lasting"].within(words)
        labelled = nouns.labelled(words) if self._measures else iter(())
        named = tools.stated(parts, pack, self._rules, self._voice) or next(labelled, None)
        return named or self._of_clauses(parts, nouns, pack) or self._state(parts, nouns, pack)

    def _of_clauses(self, parts: list[Clause], nouns: NounFacts, pack: Pack) -> tuple[str, str] | None:
        for part in parts:
            claim = None if part.denied else self._of_clause(part.words, nouns, pack)
            if claim:
                return claim
            self._bag = Frames(pack, self._rules, self._voice).spoken_of(part.words)
            self._spoken_of = carried.named_in(part.words, pack, self._rules, self._voice) or self._spoken_of
        return None

    def _of_clause(self, words: Tokens, nouns: NounFacts, pack: Pack) -> tuple[str, str] | None:
        told = list(carried.told(self._spoken_of, words, pack)) if self._spoken_of else []
        first, last = (told, []) if self._spoken_of and self._spoken_of.changed else ([], told)
        frames = Frames(pack, self._rules, self._voice)
        measures = frames.read(words, self._bag) if self._measures else iter(())
        said = (nouns.topics(words), nouns.roles(words), self._facts(words, nouns, pack), measures)
        readings = (first, *said, last)
        return next((claim for reading in readings for claim in reading), None)

    def _facts(self, words: Tokens, nouns: NounFacts, pack: Pack) -> Iterator[tuple[str, str]]:
        """Give the claims of verbs such as "live in", whose subject is whose fact it is."""
        for part in ("facts", "facts_of_one", "inverted"):
            for pattern, slots in pack.patterns[part].matches(words):
                about = owner(slots.get("who", ()), pack)
                if about is None or (part == "facts_of_one" and about.plural and slots.get("who")):
                    continue
                relation, _, kind = pattern.relation.partition(":")
                if kind in _OF_THINGS and not about.words:
                    continue
                if pack.compounds and not slots.get("who", words) and words[0] in pack.words["old.is"]:
                    continue  # its subject comes later: "seit Mai ist Ann Lehrerin"
                yield from nouns.claims(relation, about.words, about, slots["value"], kind)

    def _state(self, parts: list[Clause], nouns: NounFacts, pack: Pack) -> tuple[str, str] | None:
        """Return a fact that a sentence tells without naming its value: "I'm single"."""
        for part in parts:
            for pattern, slots in () if part.denied else pack.patterns["states"].matches(part.words):
                about = owner(slots.get("who", ()), pack)
                relation, _, value = pattern.relation.partition(" = ")
                named_key = nouns.key(relation, about.words, about) if about and about.first else None
                if named_key:
                    return named_key, value
        return None
