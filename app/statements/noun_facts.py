"""Finds the facts that a noun names: "my dentist is Dr. Hale", "Shreya took over as release manager"."""

from collections.abc import Iterator

from app.language.tokens import Tokens, clauses
from app.statements import tools, topics, values
from app.statements.frames import MEASURED, Frames, past
from app.statements.packs import Pack, RuleSet
from app.statements.patterns import Slots
from app.statements.spans import spans
from app.statements.topics import Topic, Voice, named, owner, topic

Found = Iterator[tuple[str, str]]
_NEVER_LOCATED = frozenset(("person", "text", "title", "firm", "any"))
_MAX_LABEL = 5
_MAX_COLOUR = 3
_CONTACTS = frozenset(("phone", "email", "day", "when", "address", "person", "firm", "duration", "site"))
"""The kinds of relation that a label of one word may name: "email: ...", but "name: Run tests" is a setting."""


class NounFacts:
    """Reads the clauses of one sentence in one language for one speaker."""

    def __init__(self, pack: Pack, rules: RuleSet, voice: Voice) -> None:
        """Read with a pack, for a speaker."""
        self._pack = pack
        self._rules = rules
        self._voice = voice
        self._frames = Frames(pack, rules, voice)

    def labelled(self, words: Tokens) -> Found:
        """Give the claim of "New number: 555-0199", and of "Export: shipped", which says what is of the export."""
        if words.count(":") != 1:
            return
        place = words.index(":")
        new = next((each for each, word in enumerate(words[:place]) if word in self._pack.words["frames.new"]), 0)
        words, place = words[new:], place - new
        about = topic(words[:place], self._pack) if place else None
        if about is None or len(words) == place + 1:
            return
        said = self._pack.phrases["fillers"].without(next(iter(clauses(words[place + 1 :], frozenset())), ()))
        relation = named(about, self._pack)
        if not said or not self._pack.words["frames.verbs"].isdisjoint(said[:_MAX_LABEL]):
            return
        if relation is None:
            yield from self._noted(words[:place], about, said)
        elif self._is_measured(relation[0], said):
            yield from () if past(words[:place], self._pack, changed=False) else self._frames.read(said, words[:place])
        elif (place > 1 or self._kind(relation[0]) in _CONTACTS) and relation[0] != "name":
            yield from self.claims(*relation, about, said)

    def _noted(self, label: Tokens, about: Topic, said: Tokens) -> Found:
        """Give what a note says of the thing that it begins with: "csv export: shipped"."""
        if not 1 < len(about.words) < _MAX_LABEL or past(label, self._pack, changed=False):
            return
        each = self._pack.words["each"] | self._pack.words["measures"] | self._pack.words["durations"]
        measured = spans(said, self._pack)
        counted = len(said) > 1 and said[1] not in self._pack.words["currencies"]
        if measured and (measured[0].relation != "amount" or counted or not each.isdisjoint(said) or "%" in said[0]):
            yield from self._frames.read(said, label)
        value = None if measured else values.value("status", said, self._pack)
        name = self._own_key("status", about.words) if value else None
        if name and value:
            yield name, value

    def topics(self, words: Tokens) -> Found:
        """Give the claims of a noun phrase that something is said of, or that something is done to."""
        for pattern, slots in self._pack.patterns["topics"].matches(words):
            about = topic(slots["what"], self._pack)
            unnamed = slots["what"] and slots["what"][0] in self._pack.words["prepositions"]
            if about is None or unnamed or not self._pack.words["speakers"].isdisjoint(slots["what"]):
                continue
            if "who" in slots and not (slots["what"][0] in self._pack.words["determiners"] or self._by_first(slots)):
                continue
            relation = named(about, self._pack)
            if relation and self._is_measured(relation[0], slots["value"]):
                continue  # frames.py reads it
            if relation and self._kind(relation[0]) == "any" and not about.definite:
                continue  # "we have a charger at work"
            if relation and self._may_be(pattern.relation, relation[0]):
                yield from self.claims(*relation, about, slots["value"])
            elif not relation and pattern.relation == "names":
                yield from self._name(slots["what"], about, slots["value"])
            elif not relation:
                yield from self._of_thing(about, slots["value"])

    def roles(self, words: Tokens) -> Found:
        """Give the claims of a person or a company in a role: "Rajiv Menon is our CEO"."""
        for _, slots in self._pack.patterns["roles"].matches(words):
            about = topic(slots["what"], self._pack)
            relation = named(about, self._pack) if about else None
            if slots["what"][0] in self._pack.words["prepositions"]:
                continue
            if about is None or relation is None or not self._is_role(relation[0], about, slots):
                continue
            value = self._pack.phrases["leads"].trimmed(slots["value"])
            yield from self.claims(*relation, about, value)

    def claims(self, relation: str, qualifiers: Tokens, about: Topic, words: Tokens, kind: str = "") -> Found:
        """Give the claim that a relation has a value, where the words are a value of its kind."""
        if words and words[0] in self._pack.words["indefinite"]:
            relation = self._rules.described.get(relation, relation)
        kind = kind or self._kind(relation)
        mentions = list(tools.members(words, self._pack, self._rules))
        if kind == "tool":
            value = next((each.value for each in mentions if each.relation == relation), None)
        else:
            value = None if kind == "place" and mentions else values.value(kind, words, self._pack)
        named_key = self.key(relation, qualifiers, about)
        if value and named_key:
            yield named_key, value

    def key(self, relation: str, qualifiers: Tokens, about: Topic) -> str | None:
        """Return the key of a relation of what a phrase speaks of."""
        return topics.key(relation, qualifiers, about, self._voice, self._pack, self._rules)

    def _may_be(self, pattern: str, relation: str) -> bool:
        """Tell whether a pattern can tell a relation: savings are with a bank, but no dentist is "in" anything."""
        kind = self._kind(relation)
        return kind == "firm" if pattern == "held" else pattern != "located" or kind not in _NEVER_LOCATED

    def _is_measured(self, relation: str, words: Tokens) -> bool:
        kind = self._kind(relation)
        return kind in MEASURED or (kind == "any" and bool(spans(words, self._pack)))

    def _kind(self, relation: str) -> str:
        return self._rules.kinds.get(relation, "text" if relation.startswith("favourite_") else "any")

    def _name(self, what: Tokens, about: Topic, words: Tokens) -> Found:
        """Give the claim of what a thing is called: "we renamed the project to Kingfisher".

        Of friends and daughters there may be several: the name of one says nothing of another's.
        """
        if about.words and about.words[-1] in self._pack.words["several"]:
            return
        value = values.value("person", words, self._pack)
        name = self._own_key("name", about.words or what[-1:])
        if value and name:
            yield name, value

    def _of_thing(self, about: Topic, words: Tokens) -> Found:
        """Give the claim of a thing whose relation only its value tells: a version, a switch, a colour, an address."""
        if not about.definite:
            return
        if version := self._version(about, words):
            relation, value = "version", version
        elif (state := _state(about, words, self._pack, self._rules)) is not None:
            relation, value = state
        else:
            return
        name = self._own_key(relation, about.words)
        if name:
            yield name, value

    def _own_key(self, relation: str, words: Tokens) -> str | None:
        return topics.own_key(relation, words, self._voice, self._pack, self._rules)

    def _version(self, about: Topic, words: Tokens) -> str | None:
        """Return the version of a known name: "we bumped Python to 3.12"."""
        known = list(tools.members(about.words, self._pack, self._rules))
        return values.value("version", words[:1], self._pack) if known and known[-1].end == len(about.words) else None

    def _is_role(self, relation: str, about: Topic, slots: Slots) -> bool:
        """Tell whether "Y is our X" names X of ours: "a client of ours" is one of several."""
        told_of = len(slots) > 2  # noqa: PLR2004 - somebody has X as our Y, not only X is our Y
        kind = self._kind(relation)
        if kind == "any":
            return about.first or told_of
        names_one = kind in {"person", "firm", "tool"} and about.definite
        return names_one or (told_of and kind in {"person", "firm", "tool", "text", "title"})

    def _by_first(self, slots: Slots) -> bool:
        about = owner(slots["who"], self._pack)
        return not slots["who"] or (about is not None and about.first)


def _state(about: Topic, words: Tokens, pack: Pack, rules: RuleSet) -> tuple[str, str] | None:
    """Return whether a switch is on, the language, the colour, or the address on the web of a thing."""
    for value in ("on", "off"):
        if words[0] in pack.words[value] and pack.words["switches"] & set(about.words):
            return "switch", value
    if (
        words[0] not in pack.words["articles"]
        and words[-1] in pack.words["colours"]
        and len(words) <= _MAX_COLOUR
        and pack.words["states"].isdisjoint(words[:-1])
    ):
        return "colour", " ".join(words)
    members = list(tools.members(words, pack, rules)) if len(words) == 1 else []
    if members and members[0].relation == "answer_language":
        return "language", members[0].value
    for relation in ("email", "url") if len(words) == 1 else ():
        if value := values.value(relation, words, pack) or "":
            return relation, value
    return None
