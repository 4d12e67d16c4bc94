"""Reads a BERT encoder's shape and weights from the files of a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from app.adapters.local.model_files import read_json
from app.domain.errors import ConfigurationError

Matrix: TypeAlias = npt.NDArray[np.float32]

_REQUIRED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}


@dataclass(frozen=True, slots=True)
class BertShape:
    """The values of config.json that the forward pass depends on."""

    hidden: int
    heads: int
    layers: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> "BertShape":
        """Read config.json.

        Raises:
            ConfigurationError: it describes an encoder that ``BertEncoder`` does not compute.
        """
        config = read_json(path)
        for name, supported in _REQUIRED.items():
            if (value := config.get(name, supported)) != supported:
                raise ConfigurationError(f"{path}: {name} is {value!r}; only {supported!r} is supported.")
        shape = cls(
            hidden=_positive(path, config, "hidden_size"),
            heads=_positive(path, config, "num_attention_heads"),
            layers=_positive(path, config, "num_hidden_layers"),
            intermediate=_positive(path, config, "intermediate_size"),
            vocabulary=_positive(path, config, "vocab_size"),
            positions=_positive(path, config, "max_position_embeddings"),
            types=_positive(path, {"type_vocab_size": 2, **config}, "type_vocab_size"),
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
        )
        if shape.hidden % shape.heads:
            raise ConfigurationError(
                f"{path}: hidden_size {shape.hidden} is no multiple of num_attention_heads {shape.heads}.",
            )
        return shape


class Weights:
    """Reads the tensors of a file one at a time, so that no two copies of the model are in memory."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        self._path = path
        try:
            self._file: Any = safe_open(path, framework="numpy")
        except (OSError, SafetensorError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}") from error
        self._prefix = ""

    def __enter__(self) -> Self:
        """Find out how the file names the encoder's tensors."""
        names = set(self._file.keys())
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in names else ""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file."""
        self._file.__exit__(*failure)

    def tensor(self, name: str, *expected: int) -> Matrix:
        """Read one tensor as float32.

        Raises:
            ConfigurationError: it is absent, cannot be read or has another shape.
        """
        try:
            tensor = self._file.get_tensor(self._prefix + name)
        except (SafetensorError, TypeError) as error:
            raise ConfigurationError(f"{self._path}: {name} cannot be read: {error}") from error
        if tensor.shape != expected:
            raise ConfigurationError(f"{self._path}: {name} has the shape {tensor.shape}, not {expected}.")
        return np.asarray(tensor, dtype=np.float32)


def _positive(path: Path, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{path}: {name} is {value!r}, not a positive integer.")
    return value
