"""The figures as Markdown, for a terminal and for the file of results."""

from collections.abc import Sequence

from bench.quality.cut import CUT, Unanswered
from bench.quality.newer import FIRST
from bench.quality.scores import METRICS, Estimate
from bench.quality.summary import RISK_K, Run
from bench.report import aligned

COMPARED = ("recall@5", "recall@10", "recall@20", "mrr", "hit@5")
"""What is told of the difference that a part makes."""

_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

Rows = list[list[str]]


def markdown(runs: Sequence[Run]) -> str:
    """Return the tables, each under a line that says what it shows."""
    made = tables(runs)
    return "\n\n".join(f"**{title}**\n\n{aligned(rows)}" for title, rows in made) + "\n"


def tables(runs: Sequence[Run]) -> list[tuple[str, Rows]]:
    """Return the tables that there is something for, each with its title, the head as its first row."""
    made = [
        ("Evidence found, in percent, with 95 % intervals", found(runs)),
        ("What leaving a part out changes, in percentage points, question by question", differences(runs)),
        ("By category", categories(runs)),
        ("Conversation by conversation", conversations(runs)),
        (f"Whether the confidence tells when to answer (wrong: no evidence among the first {RISK_K})", risks(runs)),
        (f"What a min_score of {CUT} leaves, in percent", cuts(runs)),
        (f"Where the answer has changed (outdated: among the first {FIRST} entries)", changes(runs)),
        ("Risk-coverage: wrong among the most confident answers, in percent", coverages(runs)),
    ]
    return [(title, rows) for title, rows in made if len(rows) > 1]


def found(runs: Sequence[Run]) -> Rows:
    """Return what each run found in each data set, by turns and, where it has sessions, by sessions."""
    rows = [["run", "data", "questions", *METRICS]]
    for run in runs:
        for dataset, part in run.by_dataset.items():
            rows.append([run.name, dataset, str(part.questions), *map(interval, part.figures.values())])
            if (of := run.by_session.get(dataset)) is not None:
                rows.append([run.name, f"{dataset}, sessions", str(of.questions), *map(interval, of.figures.values())])
    return rows


def differences(runs: Sequence[Run]) -> Rows:
    """Return how far each variant is from the whole recall."""
    rows = [["run", "data", *COMPARED]]
    for run in runs:
        for dataset, part in run.difference.items():
            rows.append([run.name, dataset, *(_signed(part.figures[metric]) for metric in COMPARED)])
    return rows


def categories(runs: Sequence[Run]) -> Rows:
    """Return what the whole recall found in each category."""
    rows = [["run", "data", "category", "questions", *METRICS]]
    for run in (run for run in runs if not run.difference):
        for dataset, parts in run.by_category.items():
            for name, part in parts.items():
                rows.append([run.name, dataset, name, str(part.questions), *map(interval, part.figures.values())])
    return rows


def conversations(runs: Sequence[Run]) -> Rows:
    """Return what the whole recall found in each conversation, and the mean of those means."""
    rows = [["run", "conversation", "questions", *METRICS]]
    for run in (run for run in runs if not run.difference):
        for name, part in run.by_conversation.items():
            rows.append([run.name, name, str(part.questions), *map(interval, part.figures.values())])
        if run.over_conversations is not None:
            mean = run.over_conversations
            label = f"mean of {mean.conversations}"
            rows.append([run.name, label, str(mean.questions), *map(interval, mean.figures.values())])
    return rows


def risks(runs: Sequence[Run]) -> Rows:
    """Return what each run's confidence is worth."""
    rows = [
        [
            "run",
            "data",
            "answerable",
            "unanswerable",
            "confidence",
            "AURC",
            "best AURC",
            "risk of all",
            "AUC",
            "ECE",
            "median",
        ]
    ]
    for run in runs:
        for dataset, judged in run.abstention.items():
            shares = (f"{share:.3f}" for share in (judged.aurc, judged.best, judged.risk))
            auc = "" if judged.auc is None else f"{judged.auc:.3f}"
            told = "told" if judged.told else "first score"
            error = f"{judged.ece:.3f}" if judged.told else ""
            median = "" if judged.unanswerable_median is None else f"{judged.unanswerable_median:.3f}"
            counts = (str(judged.answerable), str(judged.unanswerable))
            rows.append([run.name, dataset, *counts, told, *shares, auc, error, median])
    return rows


def cuts(runs: Sequence[Run]) -> Rows:
    """Return which right entries a cut keeps, and for which of the questions without an answer nothing is left."""
    rows = [["run", "data", "right entries", "kept", "without an answer", "questions", "nothing left", "median", "AUC"]]
    for run in runs:
        for dataset, counted in run.kept.items():
            share = "" if counted.right_kept is None else f"{100 * counted.right_kept:.1f}"
            head = [run.name, dataset, str(counted.right), share]
            rows += [[*head, category, *_unanswered(of)] for category, of in counted.unanswered.items()] or [
                [*head, "", "0", "", "", ""]
            ]
    return rows


def changes(runs: Sequence[Run]) -> Rows:
    """Return how often what holds now comes first, and how often what no longer does is left."""
    rows = [["run", "data", "questions", "newer first", "outdated"]]
    for run in (run for run in runs if not run.difference):
        for dataset, of in run.newer.items():
            rows.append([run.name, dataset, str(of.questions), str(of.newer_first), str(of.outdated_left)])
    return rows


def _unanswered(of: Unanswered) -> list[str]:
    auc = "" if of.auc is None else f"{of.auc:.3f}"
    return [str(of.questions), f"{100 * of.dropped:.1f}", f"{of.median:.3f}", auc]


def coverages(runs: Sequence[Run]) -> Rows:
    """Return each whole recall's risk-coverage curve: of the answers with the most confidence, how many are wrong."""
    rows = [["run", "data", *(f"{coverage:.0%} answered" for coverage in _COVERAGES)]]
    for run in (run for run in runs if not run.difference):
        for dataset, judged in run.abstention.items():
            risks_ = (next(risk for at, risk in judged.curve if at >= coverage - 1e-9) for coverage in _COVERAGES)
            rows.append([run.name, dataset, *(f"{100 * risk:.1f}" for risk in risks_)])
    return rows


def interval(estimate: Estimate) -> str:
    """Write shares as percentages: the mean, and the interval in brackets."""
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}-{100 * estimate.high:.1f})"


def _signed(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:+.1f} ({100 * estimate.low:+.1f} to {100 * estimate.high:+.1f})"
