"""Finds the one day on which something happened, as memories tell it; no day where it is not clear."""

import re
from collections.abc import Collection, Iterable

from app.domain.words import WORD, normalised
from app.language.dates import time_words
from app.language.dates.days import is_either, nearest, sure_days
from app.language.dates.time_readings import read, yearly
from app.language.dates.time_spans import Span, spans
from app.language.tokens import Tokens, tokens
from app.retrieval.query.terms import STOP_WORDS
from app.services.answer.asking import stems_asked
from app.services.answer.reading import Said
from app.services.answer.wording import Wording

_DAY = 86_400_000
_EPOCH = 719_163
_DATES = frozenset(("iso", "numeric", "day", "cjk"))
_MIN_PAST = 5
_NEAR_WORDS = 2
_MAX_MATCHING = 40
"""Of a thing that more sentences speak of it is not clear when it happened."""
_WORD = re.compile(WORD)
_FOLLOWING = STOP_WORDS.union(
    time_words.MONTHS, time_words.WEEKDAYS, time_words.WHICH, *(name.split() for name in time_words.FIXED)
)


def ordinal(moment: int) -> int:
    """Return the day of a moment (ms since the epoch), counted as ``date.toordinal`` does."""
    return moment // _DAY + _EPOCH


def day_named(words: Tokens, today: int, wording: Wording) -> int | None:
    """Return the day that the words of a question name and do nothing else; ``today`` is when it is asked."""
    text = " ".join(words).title()  # "march" may be a verb, "March" is not
    found = list(spans(text))
    if len(found) != 1 or _thing(tokens(text[: found[0].begins] + " " + text[found[0].ends :]), wording):
        return None
    return _single_day(found[0], text, today, wording)


def day_of(words: Tokens, sentences: Iterable[Said], wording: Wording) -> tuple[int, Said] | None:
    """Return the day on which what the words speak of happened, and the sentence that tells it.

    None where no sentence has all of the words and tells a day, or where one tells another day or an unclear time.
    """
    thing = _thing(words, wording)
    if not thing:
        return None
    told: dict[int, Said] = {}
    matching = [said for said in sentences if thing <= said.words | said.origin.called]
    if len(matching) > _MAX_MATCHING:
        return None
    for said in sorted(matching, key=lambda said: (-said.origin.score, *said.order)):
        for day in _days_told(said, wording) if _speaks_of(said.text, thing, wording) else ():
            if day is None:
                return None
            told.setdefault(day, said)
    return next(iter(told.items())) if len(told) == 1 else None


def _speaks_of(text: str, thing: frozenset[str], wording: Wording) -> bool:
    """Tell whether a sentence speaks of a thing itself, not of "the marathon shoes" or of "after the marathon"."""
    text = normalised(text).lower()
    found = list(_WORD.finditer(text))
    places = [place for place, word in enumerate(found) if wording.stem(word[0]) in thing]
    if not places:
        return False
    before = {word[0] for word in found[max(places[0] - _NEAR_WORDS, 0) : places[0]]}
    if not wording.words["beside"].isdisjoint(before):
        return False
    last, after = found[places[-1]], found[places[-1] + 1 :][:1]
    return not after or bool(text[last.end() : after[0].start()].strip()) or _may_follow(after[0][0], wording)


def _may_follow(word: str, wording: Wording) -> bool:
    """Tell whether a word after a noun makes no other thing of it: a verb of the past, a preposition, a time."""
    known = word in _FOLLOWING or word in wording.words["ignored"] or word in wording.words["time.unsaid"]
    return known or word[:1].isdigit() or _is_past(word, wording)


def _thing(words: Tokens, wording: Wording) -> frozenset[str]:
    """Return the stems of the words that say what a thing is."""
    kept = " ".join(word for word in words if word not in wording.words["time.unsaid"])
    return frozenset(stem for term in stems_asked(kept, wording) for stem in term)


def _days_told(said: Said, wording: Wording) -> Collection[int | None]:
    """Return the days that a sentence tells, None for a time that is not one day for sure."""
    words = tokens(said.text)
    if said.asks or wording.phrases["unsure"].within(words):
        return ()
    today = ordinal(said.origin.happened_at)
    found = {_single_day(span, said.text, today, wording) for span in spans(said.text)}
    past = any(_is_past(word, wording) for word in words)
    if found or not (said.origin.dated and past) or wording.phrases["planned"].within(words):
        return found
    return {today}


def _is_past(word: str, wording: Wording) -> bool:
    return word in wording.words["past"] or (len(word) >= _MIN_PAST and word.endswith(wording.past_endings or ("\0",)))


def _single_day(span: Span, text: str, today: int, wording: Wording) -> int | None:
    """Return the day that an expression means, where it means one day for sure."""
    before = tokens(text[: span.starts])[-1:]
    if span.lead_is_open or span.follows or not wording.words["roughly"].isdisjoint(before):
        return None
    if span.kind not in _DATES:
        days = sure_days(span, text, today)
    elif span.shift or span.part or is_either(span):
        return None
    elif yearly(span.kind, span.text):
        days = nearest(span, today)
    else:
        days = read(span.kind, span.text, "", "", today)
    return days[0] if days is not None and days[1] - days[0] == 1 else None
