"""Reads which tool is chosen: a name of a known class, such as a package manager, tells the relation by itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.language.tokens import Tokens
from app.statements import values
from app.statements.clauses import Clause
from app.statements.moments import moment
from app.statements.packs import Pack, RuleSet, ToolClass
from app.statements.topics import Topic, Voice, key, named, owner

_MAX_MARKER = 3
_MAX_BETWEEN = 3
_HERE = Topic((), first=True, plural=True)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of a known class in a clause; whether it is what was left, and whether it is an everyday word too."""

    start: int
    end: int
    relation: str
    value: str
    old: bool
    everyday: bool


def members(words: Tokens, pack: Pack, rules: RuleSet) -> Iterator[Mention]:
    """Give the names of known classes among the words."""
    if rules.members.keys().isdisjoint(words):
        return
    place = 0
    while place < len(words):
        known = rules.members.get(words[place], ())
        found = next((each for each in known if words[place : place + len(each.words)] == each.words), None)
        if found:
            end = place + len(found.words)
            old = _left(words, place, end, pack)
            yield Mention(place, end, found.relation, found.value, old, found.everyday)
            place = end
        else:
            place += 1


def stated(clauses: Iterable[Clause], pack: Pack, rules: RuleSet, voice: Voice) -> tuple[str, str] | None:
    """Return the key and the value of the one choice that a sentence states."""
    lead: Tokens = ()
    left: set[str] = set()
    chosen: dict[str, str] = {}
    relations: dict[str, str] = {}
    beside: set[tuple[str, str]] = set()
    for place, clause in enumerate(clauses):
        found = list(members(clause.words, pack, rules))
        left.update(each.relation for each in found if each.old)
        left.update(each.relation for each in members(clause.against, pack, rules))
        if not place and not found and _narrows(clause.words, pack):
            lead = clause.words[1:]
        for mention in found:
            claim = None if mention.old or clause.denied else _claim(mention, clause, lead, found, (pack, rules, voice))
            if claim is None and not clause.denied and _joined(mention, clause, pack, rules):
                beside.add((mention.relation, mention.value))
            if claim and chosen.setdefault(claim[0], claim[1]) != claim[1]:
                return None
            if claim:
                relations[claim[0]] = mention.relation
    chosen = {name: value for name, value in chosen.items() if not _one_of(relations[name], value, beside)}
    if len(chosen) > 1:
        chosen = {name: value for name, value in chosen.items() if relations[name] in left}
    return next(iter(chosen.items())) if len(chosen) == 1 else None


def _joined(mention: Mention, clause: Clause, pack: Pack, rules: RuleSet) -> bool:
    """Tell whether a clause is only a name, as the second one of "we use Slack and Teams"."""
    each = rules.classes[mention.relation]
    ends = _ends_well(clause.words, mention.end, each, pack)
    return not mention.old and mention.start <= 1 and ends and each.group == "tool"


def _one_of(relation: str, value: str, beside: set[tuple[str, str]]) -> bool:
    """Tell whether another name of the class stands in the sentence too: "we use Slack and Teams"."""
    return any(relation == other and value != name for other, name in beside)


def _narrows(words: Tokens, pack: Pack) -> bool:
    """Tell whether a clause is only "in the dashboard project"."""
    return len(words) < 6 and words[0] in pack.words["joins"] and not any(moment(words[1:], pack))  # noqa: PLR2004


def _left(words: Tokens, start: int, end: int, pack: Pack) -> bool:
    """Tell whether the words around a name say that it is no longer chosen."""
    while start and words[start - 1] in pack.words["articles"]:
        start -= 1
    before = pack.phrases["old.before"]
    if any(before.at(words, start - length) == length for length in range(1, min(start, _MAX_MARKER) + 1)):
        return True
    if end == len(words):
        return False
    replaced = words[end] in pack.words["old.by"] and not pack.words["old.replace"].isdisjoint(words)
    return replaced or pack.phrases["old.after"].at(words, end) > 0


def _claim(
    mention: Mention, clause: Clause, lead: Tokens, found: list[Mention], context: tuple[Pack, RuleSet, Voice]
) -> tuple[str, str] | None:
    """Return the key and the value that a mention states, where a verb or a contrast makes it a choice."""
    pack, rules, voice = context
    each = rules.classes[mention.relation]
    words = clause.words
    version = values.value("version", words[mention.end : mention.end + 1], pack)
    if each.versions and not version:
        return None
    end = mention.end + 1 if version else mention.end
    meant = _ends_well(words, end, each, pack) and _meant(mention, clause, pack, rules)
    parts = _parts(mention, end, clause, each, pack) if meant else None
    if parts is None:
        return None
    about = owner(_without(parts[0], found), pack) if parts[0] else _HERE
    if about is None:
        return None
    qualifiers = _qualifiers(mention, about, parts, _scope(lead, (), pack), found, context)
    if qualifiers is None:
        return None
    if version and (each.versions or not clause.against) and each.group != "car":
        name = key("version", (*qualifiers, mention.value), about, voice, pack, rules)
        return (name, version) if name else None
    name = key(mention.relation, qualifiers, about, voice, pack, rules)
    count = words[mention.start - 1] if each.counted and mention.start and words[mention.start - 1].isdecimal() else ""
    return (name, f"{count} {mention.value}".strip()) if name else None


def _qualifiers(
    mention: Mention,
    about: Topic,
    parts: tuple[Tokens, Tokens, Tokens],
    lead: Tokens,
    found: list[Mention],
    context: tuple[Pack, RuleSet, Voice],
) -> Tokens | None:
    """Return the words that narrow a choice; None where they are a story rather than a name."""
    pack, rules, _ = context
    each = rules.classes[mention.relation]
    own = named(about, pack)
    subject = own[1] if own and own[0] == mention.relation else about.words
    _, between, after = parts
    if each.group == "car":
        exchanged = not pack.words["old.replace"].isdisjoint(between) or bool(pack.words["old.by"] & set(between))
        plain = pack.words["articles"] | pack.words["plain_adjectives"]
        return subject if exchanged or all(word in plain or word[0].isdigit() for word in between) else None
    inner = _scope(between, found, pack)
    if len(inner) > _MAX_BETWEEN or not pack.words["pronouns"].isdisjoint(inner):
        return None
    kept = (*subject, *inner, *lead, *after)
    return tuple(word for word in kept if word not in each.scope and not word[0].isdigit())


def _meant(mention: Mention, clause: Clause, pack: Pack, rules: RuleSet) -> bool:
    """Tell whether the words around a name are of its class.

    "Write tests in English" is no language of answers, and an article makes a tool's name a common noun: "the cursor".
    """
    each = rules.classes[mention.relation]
    if each.group == "answer" and not pack.words["matters"].isdisjoint(clause.words):
        return False
    if mention.start and clause.words[mention.start - 1] in pack.words["articles"] and mention.relation in rules.shared:
        return False
    if each.group == "car" and not pack.words["accessories"].isdisjoint(clause.words[mention.end :]):
        return False
    if not (each.context or mention.everyday):
        return True
    return not clause.sentence.isdisjoint(pack.words.get(f"contexts.{mention.relation}", each.scope))


def _ends_well(words: Tokens, end: int, each: ToolClass, pack: Pack) -> bool:
    """Tell whether a name is no part of a longer one: "the npm scripts" choose nothing."""
    if each.open or end == len(words):
        return True
    follows = ("tails", "joins", "old.before", "uses.after")
    return words[end][:1].isdigit() or len(words[end]) == 1 or any(words[end] in pack.words[name] for name in follows)


def _parts(
    mention: Mention, end: int, clause: Clause, each: ToolClass, pack: Pack
) -> tuple[Tokens, Tokens, Tokens] | None:
    """Return what stands before the verb, between it and the name, and after the name."""
    words = clause.words
    uses = pack.words[f"uses.{each.group}"]
    verb = next((place for place in range(mention.start) if words[place] in uses), None)
    after = _after(words[end:], pack)
    if verb is not None and _tells_of_another(words[verb : mention.start], uses, pack):
        return None
    if verb is not None:
        return words[:verb], tuple(word for word in words[verb + 1 : mention.start] if word not in uses), after
    if pack.words["uses.after"] & set(words[end:]):
        return (), words[: mention.start], tuple(word for word in after if word not in pack.words["uses.after"])
    before = pack.phrases["leads"].trimmed(words[: mention.start])
    contrasted = bool(clause.against) or bool(pack.words["old.contrast"] & set(words[end:]))
    return ((), (), after) if not before and (contrasted or (clause.alone and end == len(words))) else None


def _tells_of_another(words: Tokens, uses: frozenset[str], pack: Pack) -> bool:
    """Tell whether a name belongs to what is only told of the value: "my laptop is a ThinkPad running Fedora"."""
    if words[0] not in pack.words["auxiliaries"]:
        return False
    linking = pack.words["linking"] | pack.words["articles"]
    content = next((place for place, word in enumerate(words) if word not in linking), len(words))
    return not (uses - pack.words["auxiliaries"] - pack.words["old.to"]).isdisjoint(words[content:])


def _after(words: Tokens, pack: Pack) -> Tokens:
    """Return what narrows a choice after its name: "for the frontend", but not "on Monday"."""
    stops = (pack.words["tails"] - pack.words["joins"]) | pack.words["old.before"]
    kept: list[str] = []
    for word in words:
        if word in stops:
            break
        kept.append(word)
    if kept and any(moment(tuple(kept), pack)):
        return ()
    return _scope(tuple(kept), (), pack)


def _scope(words: Tokens, found: Iterable[Mention], pack: Pack) -> Tokens:
    """Return the words that narrow a choice, without connecting words and without the names themselves."""
    skipped = pack.words["linking"]
    names = {part for each in found for part in each.value.split()}
    return tuple(
        word for word in words if word not in skipped and word not in names and word[0].isalpha() and len(word) > 1
    )


def _without(words: Tokens, found: Iterable[Mention]) -> Tokens:
    """Return a subject, or none where it is itself a name that is left."""
    old = {part for each in found if each.old for part in each.value.split()}
    return () if old & set(words) else words
