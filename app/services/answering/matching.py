"""Chooses of sentences those that tell the events that a question asks for, by their words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.language.dates.asked import TimeAsked
from app.language.dates.days import days_told
from app.language.dates.two_events import two_events
from app.language.events import Event, common, event, extra, fit
from app.services.answering.reading import Said


@dataclass(frozen=True, slots=True)
class Telling:
    """The sentences that tell of what a question asks for, the best first."""

    sentences: Sequence[Said]
    others: Sequence[Said] = ()
    """Those that a reader finds to answer, though their words do not tell the event."""
    second: Sequence[Said] | None = None
    """Of the second of two events, where each has its own; of the first one are ``sentences``."""

    @property
    def all(self) -> Sequence[Said]:
        """All of them that may tell a day, each once."""
        return list(dict.fromkeys([*self.sentences, *(self.second or ())]))


def telling(
    asked: TimeAsked,
    question: str,
    sentences: Sequence[Said],
    sure: Collection[Said],
    formers: Mapping[str, Collection[str]],
) -> Telling:
    """Return which of the sentences tell what is asked for.

    Those that are ``sure`` to answer, as a reader finds, may do so in other words, where words tell nothing: in another
    language, or where one of the two has none. ``formers`` has by its id in the place of which memories another one
    came: what has happened is told of one of them too, unless the other one tells the same event.
    """
    if asked.form == "between" and (parts := two_events(question)):
        return _of_two(parts, sentences, sure, formers)
    wanted = event(question)
    if asked.form == "between":
        return Telling([said for said in sentences if said in sure])
    fits = {said: fit(wanted, said.text, _around(said), lasts=asked.lasts) for said in sentences}
    same = _newest([said for said in sentences if fits[said] == "same"], formers)
    outdated = {id_ for ids in formers.values() for id_ in ids}
    sure = [said for said in sure if said.memory_id not in outdated]
    if not asked.happened or asked.lasts:
        same = [said for said in same if said.memory_id not in outdated]
    open_ = [said for said in sentences if fits[said] == "open" and said in sure]
    if asked.of_one:
        return Telling(_closest(wanted, same) if asked.happened else same[:1]) if same else Telling(open_[:1])
    others = [said for said in sentences if fits[said] == "other" and said in sure]
    return Telling([said for said in sentences if said in same or said in open_], others)


def _newest(same: Sequence[Said], formers: Mapping[str, Collection[str]]) -> Sequence[Said]:
    """Leave out of sentences that tell one event what held before another of them."""
    outdated = {id_ for said in same for id_ in formers.get(said.memory_id, ())}
    return [said for said in same if said.memory_id not in outdated]


def _around(said: Said) -> str:
    before = said.context.removesuffix(said.text)
    return f"{said.speaker} {before}".strip()


def _closest(wanted: Event, sentences: Sequence[Said]) -> Sequence[Said]:
    """Return those that have the fewest words beside the event's; they may tell several days."""
    beside = {said: extra(wanted, said.text) for said in sentences}
    least = min(beside.values())
    return sentences if least else [said for said in sentences if not beside[said]]


def _of_two(
    parts: tuple[str, str],
    sentences: Sequence[Said],
    sure: Collection[Said],
    formers: Mapping[str, Collection[str]],
) -> Telling:
    events = (event(parts[0]), event(parts[1]))
    found = [_of_one(one, other, sentences, formers) for one, other in (events, events[::-1])]
    dated = [not one.words and bool(days_told(part, 1)) for one, part in zip(events, parts, strict=True)]
    if all(each or is_date for each, is_date in zip(found, dated, strict=True)):
        first, second = sorted(found, key=lambda each: sentences.index(each[0]) if each else -1)
        return Telling(first, second=second)
    return Telling([said for said in sentences if said in sure and all(_may_tell(one, said) for one in events)])


def _may_tell(one: Event, said: Said) -> bool:
    return fit(one, said.text, _around(said)) != "other"


def _of_one(
    one: Event, other: Event, sentences: Sequence[Said], formers: Mapping[str, Collection[str]]
) -> Sequence[Said]:
    """Return the sentences that tell one of two events; "it" is what the other one speaks of."""
    same: Sequence[Said] = [said for said in sentences if one.words and fit(one, said.text, _around(said)) == "same"]
    if same and one.refers:
        shared = {said: common(other, said.text) for said in same}
        most = max(shared.values())
        same = [said for said in same if most and shared[said] == most]
    same = _newest(same, formers)
    return _closest(one, same) if same else ()
