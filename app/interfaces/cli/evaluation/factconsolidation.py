"""Reads MemoryAgentBench's FactConsolidation, single hop: numbered facts, of which a later one replaces an earlier one.

The file says what the answer to a question is, and not which fact states it. The evidence is therefore found by words:
of the facts that say the answer, the one whose other words the question has, and of the facts that say something else
in the same words the last. The earlier ones are outdated.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from app.interfaces.cli.evaluation.dataset import DataInvalid, in_form
from app.interfaces.cli.evaluation.records import PublishedForm, kind_of, records

EXPECTED = (
    "rows of MemoryAgentBench's Conflict_Resolution with context, questions, answers and a metadata.source of "
    "factconsolidation_sh_*"
)
_SINGLE_HOP = "factconsolidation_sh"
_FACT = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_WORD = re.compile(r"\w+")


class _Metadata(PublishedForm):
    source: str


class _Row(PublishedForm):
    context: str
    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    metadata: _Metadata


class _Fact(PublishedForm):
    id: int
    text: str


class _FactQuery(PublishedForm):
    query: str
    gold: tuple[int, ...]
    stale: tuple[int, ...] = Field(())


def lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Make each row of facts into a conversation, the shortest first; raises ``DataInvalid``."""
    found = list(_rows(records(file)))
    if found and kind_of(found[0][1]) is not None:
        yield file.name, _normalised(found, file.stem)
        return
    rows = [(place, _Row.of(record, place)) for place, record in found]
    facts = [(place, row) for place, row in rows if row.metadata.source.startswith(_SINGLE_HOP)]
    if not facts:
        raise DataInvalid(f"{file.name} has no row whose metadata.source begins with {_SINGLE_HOP}")
    for place, row in sorted(facts, key=lambda each: len(each[1].context)):
        with in_form(place):
            line = _converted(row)
        yield place, line


def _rows(found: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Take the rows out of the answer of Hugging Face's viewer, where that is what the file has."""
    for place, record in found:
        if isinstance(record, dict) and isinstance(record.get("rows"), list):
            for at, each in enumerate(record["rows"]):
                yield f"{place}.rows[{at}].row", each.get("row") if isinstance(each, dict) else each
        else:
            yield place, record


def _converted(row: _Row) -> dict[str, Any]:
    facts = [text.strip() for _, text in _FACT.findall(row.context)]
    questions = []
    if len(row.questions) != len(row.answers):
        raise ValueError(f"there are {len(row.questions)} questions and {len(row.answers)} answers")
    for number, (question, answers) in enumerate(zip(row.questions, row.answers, strict=True)):
        stated = _stating(facts, question, answers)
        ids = [f"f{at}" for at in stated]
        questions.append({"qid": f"q{number}", "question": question, "gold": ids[-1:], "outdated": ids[:-1]})
    return _line(row.metadata.source, facts, questions)


def _normalised(found: Sequence[tuple[str, Any]], name: str) -> dict[str, Any]:
    facts = [_Fact.of(record, place) for place, record in found if kind_of(record) == "fact"]
    places = {fact.id: f"f{at}" for at, fact in enumerate(facts)}
    asked = [_FactQuery.of(record, place) for place, record in found if kind_of(record) == "query"]
    questions = [
        {
            "qid": f"q{number}",
            "question": query.query,
            "gold": [places.get(each, str(each)) for each in query.gold],
            "outdated": [places.get(each, str(each)) for each in query.stale],
        }
        for number, query in enumerate(asked)
    ]
    return _line(name, [fact.text for fact in facts], questions)


def _line(name: str, facts: Sequence[str], questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    turns = [{"id": f"f{at}", "text": fact} for at, fact in enumerate(facts)]
    return {"dataset": "factconsolidation", "conv_id": name, "turns": turns, "questions": questions}


def _stating(facts: Sequence[str], question: str, answers: Sequence[str]) -> list[int]:
    """Return the facts that state what is asked, in order; none where no fact says an answer in the question's words.

    A fact that has more of its other words in the question fits better, and of equals the later one.
    """
    asked = _words(question)
    best: tuple[float, int, str, str] | None = None
    for at, fact in enumerate(facts):
        for answer in answers:
            match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", fact, re.IGNORECASE)
            if match is None:
                continue
            before, after = fact[: match.start()], fact[match.end() :]
            others = _words(f"{before} {after}")
            share = len(others & asked) / max(1, len(others))
            if share and (best is None or (share, at) > best[:2]):
                best = (share, at, before, after)
    if best is None:
        return []
    _, _, before, after = best
    length = len(before) + len(after)
    return [
        at for at, fact in enumerate(facts) if len(fact) > length and fact.startswith(before) and fact.endswith(after)
    ]


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in _FREQUENT}


_FREQUENT = frozenset(
    ["the", "of", "a", "an", "is", "was", "in", "to", "which", "what", "who", "where", "by", "with", "for"]
)
"""Words that facts of every kind share."""
