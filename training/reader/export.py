"""Makes the files that the service reads of trained weights: tensors as int8, and a card with thresholds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_weights import BertShape, MappedTensors, Matrix
from app.adapters.local.reader.local_reader import trunk_digest
from app.adapters.local.reader.tokens import MAX_TOKENS, Task
from app.adapters.local.reader.weights import ReaderCard, write_tensors
from app.domain.comparing import have_one_frame
from app.domain.reading import KIND_NAMES, RELATION_NAMES, Thresholds
from training.reader.examples import Example
from training.reader.figures import Probabilities, threshold, updates

_LAYERS: Mapping[str, str] = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "output_norm": "output.LayerNorm",
}
_EMBEDDINGS: Mapping[str, str] = {
    "types": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}
_HIDDEN_WRONGLY = 0.001
"""Share of pairs that both hold of which one is hidden: of hard ones, and of those that nobody has marked.

Of pairs whose writers have seen no scene about ten times as many are hidden.
"""
_NEWER_WRONGLY = 0.02
"""Share of pairs that nobody has marked of which the newer goes first.

A memory is compared with several that are near it, and nearly none of these replaces another.
"""
_FRAMES_WRONGLY = 0.1
"""The same of pairs that hold and are alike but in one place: of all of those two in three are updates."""
_TOLD_WRONGLY, _TAKEN_WRONGLY, _TASKS_WRONGLY = 0.05, 0.03, 0.01

_UNKNOWN = Thresholds(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
_TASK = KIND_NAMES.index("task")


def write_files(
    out: Path,
    version: str,
    trunk: Path,
    tensors: Mapping[str, Matrix],
    temperatures: Mapping[str, float] | None = None,
    thresholds: Thresholds = _UNKNOWN,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the files of a version; before it is calibrated, without temperatures and thresholds."""
    out.mkdir(parents=True, exist_ok=True)
    shape = BertShape.read(trunk / "config.json")
    with MappedTensors(trunk / "model.safetensors") as words:
        digest = trunk_digest(words, shape)
    card = ReaderCard(version, digest, temperatures or {task.name.lower(): 1.0 for task in Task}, thresholds)
    write_tensors(out, {_exported(name): values for name, values in _shortened(tensors).items()})
    card.write(out, more or {})


def calibrated(
    examples: Sequence[Example], probabilities: Sequence[Probabilities]
) -> tuple[Mapping[str, float], Thresholds]:
    """Return temperatures and thresholds by what was read of examples that nothing was trained on."""
    temperatures = _temperatures(examples, probabilities)
    return temperatures, _thresholds(examples, cooled(probabilities, examples, temperatures))


def _thresholds(examples: Sequence[Example], probabilities: Sequence[Probabilities]) -> Thresholds:
    """Return the thresholds at which as much is wrong as may be, on examples that nothing was trained on."""

    def wrong(task: Task, answer: int) -> npt.NDArray[np.float64]:
        rows = [row for one, row in zip(examples, probabilities, strict=True) if one.task == task and one.hard]
        return np.array([row[answer] for row in rows])

    holding = [
        (one, float(updates(row)))
        for one, row in zip(examples, probabilities, strict=True)
        if one.task == Task.RELATION and RELATION_NAMES[one.answer] == "holds"
    ]
    no_tasks = [
        row[_TASK]
        for one, row in zip(examples, probabilities, strict=True)
        if one.task == Task.KIND and one.answer != _TASK
    ]
    hard = np.array([update for one, update in holding if one.hard])
    near = np.array([update for one, update in holding if not one.hard])
    of_frames = np.array([update for one, update in holding if have_one_frame(one.first, one.second or "")])
    return Thresholds(
        hide=max(threshold(hard, _HIDDEN_WRONGLY), threshold(near, _HIDDEN_WRONGLY)),
        newer_first=threshold(near, _NEWER_WRONGLY),
        same_frame=threshold(of_frames, _FRAMES_WRONGLY),
        tells=threshold(wrong(Task.RELEVANCE, 1), _TOLD_WRONGLY),
        follows=threshold(wrong(Task.FOLLOWS, 1), _TAKEN_WRONGLY),
        task=threshold(np.array(no_tasks), _TASKS_WRONGLY),
    )


def _temperatures(examples: Sequence[Example], probabilities: Sequence[Probabilities]) -> Mapping[str, float]:
    """Return for each task the temperature at which its probabilities are likeliest (Guo et al. 2017)."""
    found: dict[str, float] = {}
    for task in Task:
        chosen = [(one.answer, row) for one, row in zip(examples, probabilities, strict=True) if one.task == task]
        logits = np.log(np.array([row for _, row in chosen]) + 1e-12)
        answers = np.array([answer for answer, _ in chosen])
        found[task.name.lower()] = min(np.arange(0.5, 3.01, 0.05), key=lambda value: _surprise(logits / value, answers))
    return {name: round(float(value), 2) for name, value in found.items()}


def cooled(
    probabilities: Sequence[Probabilities], examples: Sequence[Example], temperatures: Mapping[str, float]
) -> list[Probabilities]:
    """Return probabilities as they are at these temperatures."""
    rows = []
    for one, row in zip(examples, probabilities, strict=True):
        odds = np.power(row + 1e-12, 1 / temperatures[one.task.name.lower()])
        rows.append(odds / odds.sum())
    return rows


def _surprise(logits: npt.NDArray[np.float64], answers: npt.NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    likely = shifted[np.arange(len(answers)), answers] - np.log(np.exp(shifted).sum(axis=1))
    return float(-likely.mean())


def _shortened(tensors: Mapping[str, Matrix]) -> Mapping[str, Matrix]:
    """Leave out positions behind the longest sequence."""
    return {name: values[:MAX_TOKENS] if name == "positions" else values for name, values in tensors.items()}


def _exported(name: str) -> str:
    """Return what a parameter of ``ReaderNetwork`` is called in the files."""
    if name == "positions":
        return "embeddings.position_embeddings.weight"
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    group, number, rest = name.split(".", 2)
    if group == "heads":
        return f"heads.{Task(int(number)).name.lower()}.{rest}"
    part, _, kind = rest.rpartition(".")
    return f"encoder.layer.{number}.{_LAYERS[part]}.{kind}"
