"""Every day and stretch of time that a statement tells is told by a source, or follows from when that was said."""

from collections.abc import Iterator

from app.grounding.known import GuardedStatement
from app.grounding.source import Ungrounded
from app.language.dates.told import TimeExpression, supported, told


def dates(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Give the expressions of time of a statement that no source supports."""
    claim, known = comparison.claim, comparison.known
    for each in claim.times:
        named = each.weekday is not None and known.has_word(each.text)  # "every Friday" tells no day
        readings = () if named else _readings(each, comparison)
        if not named and not any(supported(reading, known.times, known.days) for reading in readings):
            yield Ungrounded("date", claim.text[each.starts : each.ends].strip(" ."))


def in_words_of_the_sources(comparison: GuardedStatement) -> str:
    """Return a statement with the expressions of time of its sources instead of others that mean the same.

    "On 9 March" is what "yesterday" was, which only who knows the day can tell: code does, and a reader does not.
    """
    claim, known = comparison.claim, comparison.known
    written, place = [], 0
    for each in claim.times:
        if claim.text[each.starts : each.ends].strip().casefold() in known.text:
            continue
        readings = _readings(each, comparison)
        other = next(
            (
                source.text[time.starts : time.ends].strip()
                for source in known.sources
                for time in source.times
                if any(supported(reading, [time], time.days) for reading in readings)
            ),
            "",
        )
        if other:
            written += [claim.text[place : each.starts], other]
            place = each.ends
    return "".join((*written, claim.text[place:]))


def _readings(each: TimeExpression, comparison: GuardedStatement) -> list[TimeExpression]:
    """Return what an expression means on each day on which a source was said."""
    if each.fixed:
        return [each]
    text = comparison.claim.text[each.starts : each.ends]
    return [each, *(other for today in comparison.known.today for other in told(text, today))]
