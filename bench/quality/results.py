"""Writes what was measured as JSON, as a page and as Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.dataset import Conversation
from bench.quality.document import markdown
from bench.quality.page import page
from bench.quality.summary import Run

NOTES = """\
A question's evidence are the turns that hold its answer. recall@k is the share of them among the first k entries,
hit@k whether any is among them, mrr one over the place of the first, ndcg@10 the discounted gain of the first ten.
Questions without evidence count for the confidence alone.

Intervals hold 95 %. They come from resampling: of each data set conversations are drawn with replacement, then the
questions of each; where a data set has one conversation only its questions are drawn. The mean over conversations
draws conversations alone. Nothing is fitted here; what of the service was, docs/retrieval.md says.
"""


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured, on which data and machine."""

    runs: Sequence[Run]
    data: Sequence[Mapping[str, object]]
    """As ``inventory`` counts it."""
    circumstances: Mapping[str, object]

    def write(self, directory: Path) -> None:
        """Write ``quality.json``, ``quality.html`` and ``quality.md``."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "quality.json").write_text(json.dumps(self._record(), indent=1) + "\n", "utf-8")
        (directory / "quality.html").write_text(page(self.runs, self._told(), NOTES), "utf-8")
        about = "\n".join(f"- {name}: {value}" for name, value in self._told().items())
        text = f"# Retrieval quality\n\n{markdown(self.runs)}\n{NOTES}\n{about}\n"
        (directory / "quality.md").write_text(text, "utf-8")

    def _told(self) -> dict[str, object]:
        return {**self.circumstances, "data": "; ".join(_line(dataset) for dataset in self.data)}

    def _record(self) -> object:
        runs = [run.record() for run in self.runs]
        return _rounded({**self.circumstances, "data": list(self.data), "notes": NOTES, "runs": runs})


def inventory(conversations: Sequence[Conversation]) -> list[dict[str, object]]:
    """Count what was told and asked, by data set."""
    return [
        _counted(name, [conversation for conversation in conversations if conversation.dataset == name])
        for name in dict.fromkeys(conversation.dataset for conversation in conversations)
    ]


def _counted(name: str, conversations: Sequence[Conversation]) -> dict[str, object]:
    questions = [question for conversation in conversations for question in conversation.questions]
    return {
        "dataset": name,
        "conversations": len(conversations),
        "memories": sum(len(conversation.memories) for conversation in conversations),
        "questions": len(questions),
        "without evidence": sum(not question.gold for question in questions),
        "cut": sum(conversation.cut for conversation in conversations),
        "repeated": sum(conversation.repeated for conversation in conversations),
    }


def _line(dataset: Mapping[str, object]) -> str:
    told = ", ".join(f"{value} {name}" for name, value in dataset.items() if name != "dataset")
    return f"{dataset['dataset']}: {told}"


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
