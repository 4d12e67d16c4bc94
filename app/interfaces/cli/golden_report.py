"""What came of golden questions, as a table and as JSON, and the JSON of an earlier run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.domain.errors import InvalidRequest
from app.domain.golden import GoldenAnswer, GoldenComparison, GoldenQuestion, found_share
from app.interfaces.text import one_line, visible

_WIDTH = 48
"""Characters of a question, and of what it expects, that a table shows."""


def run_data(answers: Sequence[GoldenAnswer]) -> dict[str, Any]:
    """Return a run as JSON, which ``from_report`` reads again."""
    return {
        "found": found_share(answers),
        "questions": [{**_named(one.question), "rank": one.rank} for one in answers],
    }


def comparison_data(comparison: GoldenComparison) -> dict[str, Any]:
    """Return a comparison as JSON."""
    pairs = zip(comparison.before, comparison.after, strict=True)
    return {
        "found_before": found_share(comparison.before),
        "found_after": found_share(comparison.after),
        "loss": comparison.loss,
        "lost": [_named(one) for one in comparison.lost],
        "gained": [_named(one) for one in comparison.gained],
        "questions": [{**_named(one.question), "before": one.rank, "after": other.rank} for one, other in pairs],
    }


def run_text(answers: Sequence[GoldenAnswer]) -> str:
    """Return a run as a table."""
    rows = [(*_cells(one.question), _rank(one.rank)) for one in answers]
    found = sum(one.rank is not None for one in answers)
    return "\n".join([table(("question", "expected", "rank"), rows), f"{found} of {len(answers)} found"])


def comparison_text(comparison: GoldenComparison) -> str:
    """Return a comparison as a table."""
    pairs = list(zip(comparison.before, comparison.after, strict=True))
    rows = [(*_cells(one.question), _rank(one.rank), _rank(other.rank)) for one, other in pairs]
    found = [sum(one.rank is not None for one in side) for side in (comparison.before, comparison.after)]
    summary = (
        f"{found[0]} of {len(pairs)} found before, {found[1]} after: "
        f"{len(comparison.lost)} lost, {len(comparison.gained)} gained"
    )
    return "\n".join([table(("question", "expected", "before", "after"), rows), summary])


def from_report(file: Path) -> dict[tuple[str, str, str], int | None]:
    """Read a run that was written as JSON: by tenant, agent and id of a question the rank.

    Raises:
        InvalidRequest: the file is none of a run.
    """
    try:
        data = json.loads(file.read_text("utf-8"))
        ranks: dict[tuple[str, str, str], int | None] = {}
        for one in data["questions"]:
            rank = one["rank"]
            ranks[str(one["tenant"]), str(one["agent_id"]), str(one["qid"])] = None if rank is None else int(rank)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"{file} is not what `golden run --out` has written.") from error
    return ranks


def _named(question: GoldenQuestion) -> dict[str, Any]:
    return {
        "tenant": question.tenant_id,
        "agent_id": question.agent_id,
        "qid": question.id,
        "question": question.text,
        "expected": _expected(question),
    }


def _expected(question: GoldenQuestion) -> str:
    parts = [*question.gold, *("|".join(each) for each in question.expected)]
    if question.metadata:
        parts.append(json.dumps(dict(question.metadata), ensure_ascii=False))
    return ", ".join(parts)


def _cells(question: GoldenQuestion) -> tuple[str, str]:
    return _short(question.text), _short(_expected(question))


def _short(text: str) -> str:
    shown = one_line(visible(text))
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head, in columns of one width."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    )
