"""Every day and stretch of time of a statement is told by a source, or follows from the day of the source."""

from collections.abc import Iterator

from app.grounding.compared import GuardedStatement
from app.grounding.source import Ungrounded
from app.language.dates.time_expressions import TimeExpression, is_supported, time_expressions


def dates(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the expressions of time of a statement that no source supports."""
    claim, cited = comparison.claim, comparison.cited
    for expression in claim.times:
        named = expression.weekday is not None and cited.has_word(expression.text)  # "every Friday" tells no day
        readings = () if named else _readings(expression, comparison)
        if not named and not any(is_supported(reading, cited.times, cited.days) for reading in readings):
            yield Ungrounded("date", claim.text[expression.starts : expression.ends].strip(" ."))


def in_words_of_the_sources(comparison: GuardedStatement) -> str:
    """Return a statement in which expressions of time are replaced by those of its sources that mean the same.

    Whether "on 9 March" is what "yesterday" was depends on the day of the source: code knows it, a reader does not.
    """
    claim, cited = comparison.claim, comparison.cited
    written, place = [], 0
    for expression in claim.times:
        if claim.text[expression.starts : expression.ends].strip().casefold() in cited.text:
            continue
        readings = _readings(expression, comparison)
        other = next(
            (
                source.text[mention.starts : mention.ends].strip()
                for source in cited.sources
                for mention in source.times
                if any(is_supported(reading, [mention], mention.days) for reading in readings)
            ),
            "",
        )
        if other:
            written += [claim.text[place : expression.starts], other]
            place = expression.ends
    return "".join((*written, claim.text[place:]))


def _readings(expression: TimeExpression, comparison: GuardedStatement) -> list[TimeExpression]:
    """Return the readings of an expression on each day on which a source was said."""
    if expression.fixed:
        return [expression]
    text = comparison.claim.text[expression.starts : expression.ends]
    return [expression, *(other for today in comparison.cited.today for other in time_expressions(text, today))]
