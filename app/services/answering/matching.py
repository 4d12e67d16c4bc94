"""Chooses of sentences those that tell the events that a question asks for, by their words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from app.language.dates.asked import TimeAsked
from app.language.dates.days import MentionedDays, mentioned_days
from app.language.dates.two_events import two_events
from app.language.events import Event, Fit, common, event, extra, fit
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
    if asked.form != "between":
        return _of_event(asked, event(question), sentences, sure, formers)
    if parts := two_events(question):
        return _of_two(parts, sentences, sure, formers)
    return Telling([said for said in sentences if said in sure])


def _of_event(
    asked: TimeAsked,
    expected: Event,
    sentences: Sequence[Said],
    sure: Collection[Said],
    formers: Mapping[str, Collection[str]],
) -> Telling:
    by_fit: dict[Fit, list[Said]] = {"same": [], "open": [], "other": []}
    for said in sentences:
        by_fit[fit(expected, said.text, _around(said), lasts=asked.lasts)].append(said)
    unsure: tuple[Fit, ...] = ("open", "other")
    outdated = set(chain.from_iterable(formers.values()))
    may_be_over = asked.happened and not asked.lasts
    same = _newest(by_fit["same"], formers) if may_be_over else _without(by_fit["same"], outdated)
    open_, others = (_without([said for said in by_fit[name] if said in sure], outdated) for name in unsure)
    if asked.of_one:
        best = _closest(expected, same) if asked.happened else same[:1]
        return Telling(best or open_[:1])
    chosen = {*same, *open_}
    return Telling([said for said in sentences if said in chosen], others)


def _newest(same: Sequence[Said], formers: Mapping[str, Collection[str]]) -> Sequence[Said]:
    """Leave out of sentences that tell one event what held before another of them."""
    return _without(same, {id_ for said in same for id_ in formers.get(said.memory_id, ())})


def _without(sentences: Sequence[Said], memory_ids: Collection[str]) -> Sequence[Said]:
    return [said for said in sentences if said.memory_id not in memory_ids]


def _around(said: Said) -> str:
    before = said.context.removesuffix(said.text)
    return f"{said.speaker} {before}".strip()


def _closest(wanted: Event, sentences: Sequence[Said]) -> Sequence[Said]:
    """Return those that have the fewest words beside the event's; they may tell several days."""
    beside = {said: extra(wanted, said.text) for said in sentences}
    least = min(beside.values(), default=0)
    return sentences if least else [said for said in sentences if not beside[said]]


def _of_two(
    parts: tuple[str, str],
    sentences: Sequence[Said],
    sure: Collection[Said],
    formers: Mapping[str, Collection[str]],
) -> Telling:
    events = (event(parts[0]), event(parts[1]))
    found = [_of_one(one, other, sentences, formers) for one, other in (events, events[::-1])]
    dated = [
        not one.words and mentioned_days(part, 1) != MentionedDays() for one, part in zip(events, parts, strict=True)
    ]
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
    return _closest(one, _newest(same, formers))
