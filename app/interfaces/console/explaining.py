"""Says in plain words why a recall has not returned a memory, and what would return it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.domain.moments import format_day, format_moment
from app.domain.query import Query
from app.interfaces.console.fields import pairs_text, shown_moment
from app.retrieval.obstacles import Obstacle
from app.services.memories.explain import Explanation
from app.services.memories.lookup import LookedUp, Replacement
from app.services.memories.recall import Recall


def reasons(query: Query, explanation: Explanation, found: LookedUp, replacement: Replacement | None) -> Sequence[str]:
    """Return a sentence for each obstacle that keeps a memory out, the first one first."""
    if not explanation.obstacles:
        place = "entry" if explanation.rank == 1 else f"entry {explanation.rank}"
        best = "the best " if explanation.rank == 1 else ""
        return [f"It is returned: it is {best}{place}."]
    return [_reason(obstacle, query, explanation, found, replacement) for obstacle in explanation.obstacles]


_SURE, _POSSIBLE = 0.7, 0.3
READER_SAYS_YES = 0.5


def verdict(recall: Recall) -> str:
    """Return in one sentence whether the entries answer, by the recall's confidence and by what the reader says."""
    read = [recall.relevance[entry.id] for entry in recall.entries if entry.id in recall.relevance]
    if not read:
        return _verdict_of_scores(recall)
    answering = sum(relevance >= READER_SAYS_YES for relevance in read)
    is_likely = recall.confidence >= READER_SAYS_YES
    if answering:
        return f"{'Probably' if is_likely else 'Perhaps'} {_how_many(answering, len(recall.entries))}."
    if not is_likely:
        return _none_answers(recall)
    share = "They share" if len(recall.entries) > 1 else "It shares"
    return (
        f"{_none_answers(recall)} {share} words or a meaning with the question, but the reader finds no answer there."
    )


def _verdict_of_scores(recall: Recall) -> str:
    if recall.confidence < _POSSIBLE:
        return _none_answers(recall)
    return f"{'Probably' if recall.confidence >= _SURE else 'Perhaps'} {_how_many(1, len(recall.entries))}."


def _none_answers(recall: Recall) -> str:
    return "Probably none of them answers." if len(recall.entries) > 1 else "Probably it does not answer."


def _how_many(answering: int, entries: int) -> str:
    if entries == 1:
        return "it answers"
    return "one of them answers" if answering == 1 else f"{answering} of them answer"


def _reason(
    obstacle: Obstacle, query: Query, explanation: Explanation, found: LookedUp, replacement: Replacement | None
) -> str:
    memory = found.memory
    happened = memory.created_at if memory.occurred_at is None else memory.occurred_at
    sentences: Mapping[Obstacle, Callable[[], str]] = {
        "expired": lambda: f"It expired on {_moment(memory.expires_at)}.",
        "forgotten": lambda: f"It was forgotten on {_moment(memory.forgotten_at)}. That can be taken back.",
        "as_of": lambda: f"It happened on {_moment(happened)}, after the day that the question asks about.",
        "superseded": lambda: _replaced(replacement),
        "filter": lambda: f"It does not pass the filter: {'; '.join(_failing(query, found)) or 'see its kind'}.",
        "collapse": lambda: "Another entry says the same.",
        "min_score": lambda: (
            f"Its score, {_percent(explanation.score)}, is below the least that is asked for, "
            f"{_percent(query.min_score)}."
        ),
        "max_tokens": lambda: "It does not fit: the entries before it take the room that there is.",
        "rank": lambda: _out_of_rank(query, explanation),
    }
    return sentences[obstacle]()


def _replaced(replacement: Replacement | None) -> str:
    if replacement is None or replacement.probability is None:
        return "It was replaced: another memory states what holds now."
    return (
        f"It was probably replaced: another memory states what holds now, says the reader, "
        f"{_percent(replacement.probability)} likely."
    )


def _out_of_rank(query: Query, explanation: Explanation) -> str:
    if not explanation.findings:
        return "No channel has found it: it shares no word with the question, and means something else."
    asked = "1 entry was" if query.top_k == 1 else f"{query.top_k} entries were"
    return (
        f"Others are better: it has rank {explanation.rank} of {explanation.compared} that were compared, "
        f"and {asked} asked for."
    )


def _failing(query: Query, found: LookedUp) -> Iterator[str]:
    where, memory = query.where, found.memory
    if where.created_after is not None and memory.created_at <= where.created_after:
        yield f"it was stored on {format_day(memory.created_at)}, not after {format_day(where.created_after)}"
    if where.created_before is not None and memory.created_at >= where.created_before:
        yield f"it was stored on {format_day(memory.created_at)}, not before {format_day(where.created_before)}"
    for key, wanted in where.metadata.items():
        if key not in memory.metadata:
            yield f"its metadata has no {key}"
        elif memory.metadata[key] != wanted or isinstance(memory.metadata[key], bool) != isinstance(wanted, bool):
            yield f"its metadata has another {key}"


def changed_fields(query: Query, changed: Query) -> Mapping[str, Any]:
    """Return the fields of the form that ask a changed question; a field that is None is left empty."""
    fields: dict[str, Any] = {}
    if changed.text != query.text:
        fields["q"] = changed.text
    if changed.top_k != query.top_k:
        fields["top_k"] = changed.top_k
    if changed.min_score != query.min_score:
        fields["min_score"] = changed.min_score
    if changed.as_of != query.as_of:
        fields["as_of"] = None if changed.as_of is None else format_moment(changed.as_of)
    if changed.where != query.where:
        for name in ("created_after", "created_before"):
            if getattr(changed.where, name) != getattr(query.where, name):
                fields[name] = None
        fields["metadata"] = pairs_text(changed.where.metadata) or None
    return fields


def change_in_words(query: Query, changed: Query) -> str:
    """Return what is other in a changed question, as a part of a sentence."""
    parts = [
        *([f"the question is “{changed.text}”"] if changed.text != query.text else []),
        *([f"{changed.top_k} entries are asked for"] if changed.top_k != query.top_k else []),
        *([f"the score is at least {_percent(changed.min_score)}"] if changed.min_score != query.min_score else []),
        *(["it asks what held when the memory did"] if changed.as_of != query.as_of else []),
        *(["the filter leaves out what the memory does not meet"] if changed.where != query.where else []),
    ]
    return " and ".join(parts)


def _moment(milliseconds: int | None) -> str:
    return "a day that is not known" if milliseconds is None else shown_moment(milliseconds)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
