"""Finds the facts that a noun names: "my dentist is Dr. Hale", "Shreya took over as release manager"."""

from collections.abc import Iterator
from dataclasses import replace

from app.statements import tools, topics, values
from app.statements.moments import moment
from app.statements.packs import Pack, RuleSet
from app.statements.patterns import Slots
from app.statements.tokens import Tokens, clauses
from app.statements.topics import Topic, Voice, named, owner, topic

Found = Iterator[tuple[str, str]]
_NEVER_LOCATED = frozenset(("person", "text", "firm"))
_CONTACTS = frozenset(("phone", "email", "day", "when", "address", "person", "firm", "duration", "site"))
"""The kinds of relation that a label of one word may name: "email: ...", but "name: Run tests" is a setting."""


class NounFacts:
    """Reads the clauses of one sentence in one language for one speaker."""

    def __init__(self, pack: Pack, rules: RuleSet, voice: Voice) -> None:
        """Read with a pack, for a speaker."""
        self._pack = pack
        self._rules = rules
        self._voice = voice

    def labelled(self, words: Tokens) -> Found:
        """Give the claim of "New number: 555-0199"."""
        if words.count(":") != 1:
            return
        place = words.index(":")
        about = topic(words[:place], self._pack) if place else None
        relation = named(about, self._pack) if about else None
        if about is None or relation is None or len(words) == place + 1:
            return
        if (place == 1 and self._kind(relation[0]) not in _CONTACTS) or relation[0] == "name":
            return
        said = self._pack.phrases["fillers"].without(clauses(words[place + 1 :], frozenset())[0])
        yield from self.claims(*relation, about, said)

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
            if relation and relation[0] == "date":
                yield from self._typed(replace(about, words=relation[1]), slots["value"])
            elif relation and self._may_be(pattern.relation, relation[0]):
                yield from self.claims(*relation, about, slots["value"])
            elif not relation and pattern.relation == "names":
                yield from self._name(slots["what"], about, slots["value"])
            elif not relation:
                yield from self._typed(about, slots["value"])

    def roles(self, words: Tokens) -> Found:
        """Give the claims of a person or a company in a role: "Rajiv Menon is our CEO"."""
        for _, slots in self._pack.patterns["roles"].matches(words):
            about = topic(slots["what"], self._pack)
            relation = named(about, self._pack) if about else None
            if about is None or relation is None or not self._is_role(relation[0], about, slots):
                continue
            value = self._pack.phrases["leads"].trimmed(slots["value"])
            yield from self.claims(*relation, about, value)

    def habits(self, words: Tokens) -> Found:
        """Give the claim of what is done at a time or on a day: "I get up at six", "I play tennis on Saturdays"."""
        for _, slots in self._pack.patterns["habits"].matches(words):
            doing, at = slots["what"], slots["value"]
            usual = doing[0] in self._pack.words["habitual"] or at[0] in self._pack.order["weekdays_plural"]
            if not usual or len(doing) > 4 or doing[0].endswith("ed"):  # noqa: PLR2004
                continue
            about = topic(self._pack.phrases["light_verbs"].trimmed(doing), self._pack)
            if about is not None and about.words:
                yield from self._typed(about, (next(iter(self._pack.order["clock"]), ""), *at))

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

    def _kind(self, relation: str) -> str:
        return self._rules.kinds.get(relation, "text")

    def _name(self, what: Tokens, about: Topic, words: Tokens) -> Found:
        """Give the claim of what a thing is called: "we renamed the project to Kingfisher"."""
        value = values.value("person", words, self._pack)
        name = topics.own_key("name", about.words or what[-1:], self._pack, self._rules)
        if value and name:
            yield name, value

    def _typed(self, about: Topic, words: Tokens) -> Found:
        """Give the claim of a thing whose relation only the kind of the value tells: when it is, how long it lasts."""
        day, time = moment(words, self._pack)
        if day or time:
            relation, value = ("day" if day else "time"), f"{day} {time}".strip()
        elif dose := values.dose(words, self._pack):
            relation, value = "dose", dose
        elif duration := values.duration(words, self._pack):
            relation, value = "duration", duration
        elif version := self._version(about, words):
            relation, value = "version", version
        elif (state := _state(about, words, self._pack)) is not None:
            relation, value = state
        else:
            return
        name = topics.own_key(relation, about.words, self._pack, self._rules)
        if name:
            yield name, value

    def _version(self, about: Topic, words: Tokens) -> str | None:
        """Return the version of a known name: "we bumped Python to 3.12"."""
        known = list(tools.members(about.words, self._pack, self._rules))
        return values.value("version", words[:1], self._pack) if known and known[-1].end == len(about.words) else None

    def _is_role(self, relation: str, about: Topic, slots: Slots) -> bool:
        """Tell whether "Y is our X" names X of ours: "a client of ours" is one of several."""
        told_of = len(slots) > 2  # noqa: PLR2004 - somebody has X as our Y, not only X is our Y
        kind = self._kind(relation)
        return (kind in {"person", "firm", "tool"} and (about.definite or told_of)) or (kind == "text" and told_of)

    def _by_first(self, slots: Slots) -> bool:
        about = owner(slots["who"], self._pack)
        return not slots["who"] or (about is not None and about.first)


def _state(about: Topic, words: Tokens, pack: Pack) -> tuple[str, str] | None:
    """Return whether a switch is on, or how often something is."""
    if words[0] in pack.words["frequencies"] and len(words) == 1:
        return "frequency", words[0]
    for value in ("on", "off"):
        if words[0] in pack.words[value] and pack.words["switches"] & set(about.words):
            return "switch", value
    return None
