"""The files of a trained reader: its weights as int8, and their card."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from app.adapters.local.bert_weights import WORDS, BertShape, MappedTensors, Matrix
from app.adapters.local.model_files import read_json
from app.adapters.local.reader.tokens import ANSWERS, MAX_TOKENS, TYPES, Task
from app.domain.errors import ConfigurationError
from app.domain.reading import Thresholds

FORMAT: Final = 1
"""The format of the files; files of another format are refused."""
TENSORS, CARD = "reader.safetensors", "reader.json"
_SCALE = ".scale"
_LEVELS = 127


@dataclass(frozen=True, slots=True)
class ReaderCard:
    """A description of weights: their version, the model that they need, and how far their answers are believed."""

    version: str
    trunk: str
    """The SHA-256 of the embedding model's word embeddings, with which they were trained and are used."""
    temperatures: Mapping[str, float]
    """For the name of each task, the divisor of its logits."""
    thresholds: Thresholds

    @classmethod
    def read(cls, directory: Path) -> "ReaderCard":
        """Read the card of a directory.

        Raises:
            ConfigurationError: the card is absent or incomplete, or of another format.
        """
        path = directory / CARD
        content = read_json(path)
        if content.get("format") != FORMAT:
            raise ConfigurationError(f"{path} has the format {content.get('format')!r}; this version reads {FORMAT}.")
        try:
            return cls(
                str(content["version"]),
                str(content["trunk"]),
                {task.name.lower(): float(content["temperatures"][task.name.lower()]) for task in Task},
                Thresholds(**{name: float(value) for name, value in content["thresholds"].items()}),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"{path} is incomplete: {error!r}") from error

    def write(self, directory: Path, more: Mapping[str, Any]) -> None:
        """Write the card, with ``more`` fields about the weights."""
        content = {"format": FORMAT, **asdict(self), **more}
        (directory / CARD).write_text(json.dumps(content, indent=1) + "\n", "utf-8")


class ReaderWeights:
    """The tensors of a reader, mapped and not copied; its word embeddings are those of the embedding model."""

    def __init__(self, directory: Path, words: MappedTensors, shape: BertShape) -> None:
        """Map the file, and look whether it has each tensor that is computed with.

        Raises:
            ConfigurationError: the file is absent, truncated, or of a form that this version does not compute.
        """
        self._words = words
        self._own = MappedTensors(directory / TENSORS)
        for name, expected in _needed(reader_shape(shape, MAX_TOKENS)):
            if self.quantised(name, *expected) is None:
                self._own.stored(name, *expected)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Release the memory of the reader's own tensors; a later read goes to the file again."""
        self._own.__exit__(*failure)

    def tensor(self, name: str, *expected: int) -> Matrix:
        """Return one tensor as float32; raises ``ConfigurationError`` where it is absent or has another shape."""
        if name == WORDS:
            return self._words.tensor(name, *expected)
        if (held := self.quantised(name, *expected)) is not None:
            return np.asarray(held[0] * held[1], np.float32)
        return self._own.tensor(name, *expected)

    def quantised(self, name: str, *expected: int) -> tuple[npt.NDArray[np.int8], Matrix] | None:
        """Return a matrix as int8 with the scale of each row; None where the file does not have it as int8."""
        if name + _SCALE not in self._own:
            return None
        return self._own.levels(name, *expected), self._own.tensor(name + _SCALE, expected[0], 1)


def _needed(shape: BertShape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and the shape of each tensor of a reader's file."""
    hidden, inner = shape.hidden, shape.intermediate
    norm = {"weight": (hidden,), "bias": (hidden,)}
    parts: dict[str, Mapping[str, tuple[int, ...]]] = {
        "embeddings.position_embeddings": {"weight": (shape.positions, hidden)},
        "embeddings.token_type_embeddings": {"weight": (shape.types, hidden)},
        "embeddings.LayerNorm": norm,
    }
    for layer in (f"encoder.layer.{number}." for number in range(shape.layers)):
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            parts[f"{layer}attention.{name}"] = {"weight": (hidden, hidden), "bias": (hidden,)}
        parts[f"{layer}attention.output.LayerNorm"] = parts[f"{layer}output.LayerNorm"] = norm
        parts[f"{layer}intermediate.dense"] = {"weight": (inner, hidden), "bias": (inner,)}
        parts[f"{layer}output.dense"] = {"weight": (hidden, inner), "bias": (hidden,)}
    for task, count in ANSWERS.items():
        parts[f"heads.{task.name.lower()}"] = {"weight": (count, 2 * hidden), "bias": (count,)}
    for name, tensors in parts.items():
        for kind, expected in tensors.items():
            yield f"{name}.{kind}", expected


def reader_shape(trunk: BertShape, positions: int) -> BertShape:
    """Return the shape of a reader with this trunk: it has types of its own, and reads shorter texts."""
    return BertShape(
        trunk.hidden, trunk.heads, trunk.layers, trunk.intermediate, trunk.vocabulary, positions, TYPES, trunk.epsilon
    )


def write_tensors(directory: Path, tensors: Mapping[str, Matrix]) -> None:
    """Write tensors: matrices of linear layers as int8 with a scale for each row, all others as float16."""
    content: dict[str, npt.NDArray[Any]] = {}
    for name, values in tensors.items():
        if values.ndim == 2 and name.startswith("encoder."):  # noqa: PLR2004 - a matrix
            scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-8) / _LEVELS
            content[name] = np.round(values / scale).astype(np.int8)
            content[name + _SCALE] = scale.astype(np.float32)
        else:
            content[name] = values.astype(np.float32 if values.ndim == 1 else np.float16)
    save_file(content, directory / TENSORS)
