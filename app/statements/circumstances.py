"""Tells under which circumstances a statement holds: on which days, where, with whom, on what condition.

Two statements of one key hold side by side where these differ: "the gym opens at 9 on Sundays" ends nothing that was
said of Mondays. What its key or its value has already is no circumstance. Nor is what follows a name ("I live in Rome,
near the market") or a date, unless it tells a condition: it tells more of the value. Where a statement tells a change
("moved to Oslo in May"), what follows tells how and why it changed.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from app.domain.claim import AS_SAID, CIRCUMSTANCES
from app.language.tokens import BREAKS, QUOTES, Tokens
from app.statements import tools, topics
from app.statements.frames import MEASURED, changes
from app.statements.packs import Pack, RuleSet
from app.statements.spans import spans

_MAX_KEY = 160
"""Characters: what is longer leaves no room for what stands before the key of a doubtful fact."""
_DATE = re.compile(r"\d\d-\d\d.*")
_RECURRING = re.compile(r"weekday|\d\d:\d\d")
_APART = frozenset(":;()\u2014\u2013")
"""Marks between parts of a sentence that tell nothing of each other."""
_STEM = 4
"""Letters that a word and a compound with it begin with alike."""


def careful(claim: tuple[str, str], words: Tokens, pack: Pack, rules: RuleSet) -> tuple[str, str] | None:
    """Return a claim with its circumstances in its key; None where they are too much to be told apart.

    A day of the week or a time of day is ``AS_SAID``, unless the statement tells a change: a class may be on Mondays
    and on Thursdays. So another one that is said later ends none of them, and a change ends all.
    """
    key, value = claim
    bare = pack.phrases["fillers"].without(pack.phrases["leads"].trimmed(pack.phrases["old.contrast"].until(words)))
    changed = changes(words, pack) or pack.phrases["changes.strong"].within(words)
    found = sorted({*_circumstances(bare, claim, pack, rules, changed=changed)})
    recurs = key.endswith(("/day", "/time")) and _RECURRING.search(value) and not _DATE.fullmatch(value)
    whole = key if not found else key + CIRCUMSTANCES + " ".join(found)
    return (whole, AS_SAID if recurs and not changed else value) if len(whole) <= _MAX_KEY else None


def _circumstances(
    words: Tokens, claim: tuple[str, str], pack: Pack, rules: RuleSet, *, changed: bool
) -> Iterator[str]:
    key, value = claim
    known = {*key.replace("/", " ").replace("_", " ").split(), *value.split()}
    for part in _parts(words, value, pack):
        told = _value_places(part, value, pack, rules)
        if changed:
            phrases = _phrases(part, 1, pack.words["prepositions"] - pack.words["frames.opening"], frozenset(), pack)
        else:
            last = _told_until(part, told) if _is_measure(claim, rules) else 1
            phrases = _phrases(part, last, pack.words["circumstances"], pack.words["conditions"], pack)
        for begin, end in phrases:
            places = [place for place in range(begin, end) if _is_content(part[place], pack)]
            forms = [topics.one_form(part[place], pack, rules) for place in places]
            is_known = any(_is_known(form, known) for form in (*forms, *part[begin:end]))
            if told.isdisjoint(places) and not is_known and not _is_each(part, begin, places, pack):
                yield from (*part[max(begin - 1, 0) : begin], *forms)


def _parts(words: Tokens, value: str, pack: Pack) -> list[Tokens]:
    """Return the part of a sentence that has the value, where its words stand in one; else all parts."""
    apart = _APART | (pack.words["joints"] - pack.words["conditions"])
    parts = [tuple(part) for divides, part in groupby(words, lambda word: word in apart) if not divides]
    having = [part for part in parts if not {*value.split()}.isdisjoint(part)]
    return having[:1] or parts


def _value_places(words: Tokens, value: str, pack: Pack, rules: RuleSet) -> set[int]:
    """Return where a value stands."""
    said = {*value.split()}
    places = {place for place, word in enumerate(words) if word in said}
    for span in spans(words, pack):
        places.update(range(span.start, span.end) if span.value in value else ())
    for name in tools.members(words, pack, rules):
        places.update(range(name.start, name.end) if name.value in value else ())
    return places


def _told_until(words: Tokens, told: set[int]) -> int:
    """Return where what is told of a measure ends: at the first comma behind it."""
    behind = max(told, default=len(words))
    return next((place for place in range(behind, len(words)) if words[place] == ","), len(words))


def _is_each(words: Tokens, begin: int, places: list[int], pack: Pack) -> bool:
    """Tell whether a phrase is "a month": it tells of what a measure is one."""
    if pack.words["durations"].issuperset(words[place] for place in places):
        return True
    return begin > 1 and pack.phrases["frames.per"].at(words, begin - 1) > 0


def _is_measure(claim: tuple[str, str], rules: RuleSet) -> bool:
    """Tell whether a value is a measure or a time, of which there is another one elsewhere."""
    relation = claim[0].partition("/")[2]
    classes = frozenset[str]().union(*MEASURED.values())
    kind = rules.kinds.get(relation, "")
    return (relation in classes or relation in {"frequency", "limit"} or kind in MEASURED) and not _DATE.fullmatch(
        claim[1]
    )


def _is_known(word: str, known: set[str]) -> bool:
    """Tell whether a word, or a compound with it, is one of those of a key or a value."""
    return word in known or any(
        len(each) >= _STEM and len(word) >= _STEM and (word.startswith(each) or each.startswith(word)) for each in known
    )


def _phrases(
    words: Tokens, last: int, opening: frozenset[str], conditions: frozenset[str], pack: Pack
) -> Iterator[tuple[int, int]]:
    """Give where phrases stand that tell a circumstance, each behind a word such as "in", "at" or "when".

    From the ``last`` place on only those are given that tell a condition; where no words do, none.
    """
    times = pack.words["frames.times"] | pack.words["weekdays_plural"] if conditions else frozenset[str]()
    place = 0
    while place < len(words):
        if words[place] in times:
            yield place, place + 1
        elif words[place] in (opening if place < last else conditions):
            end = _end(words, place + 1, pack)
            yield place + 1, end
            place = max(place, end - 1)
        place += 1


def _end(words: Tokens, begin: int, pack: Pack) -> int:
    """Return where a phrase ends: at a mark, at the next phrase, or at the subject behind it."""
    content = False
    for place in range(begin, len(words)):
        word = words[place]
        if word in BREAKS or word in QUOTES or word in pack.words["joints"] or word in pack.words["circumstances"]:
            return place
        starts = word in pack.words["articles"] or word in pack.words["possessives"] or word in pack.words["speakers"]
        if starts and content and word != "'s":
            return place
        content = content or _is_content(word, pack)
    return len(words)


def _is_content(word: str, pack: Pack) -> bool:
    return word[0].isalnum() and word not in pack.words["linking"] and word not in pack.words["possessives"]
