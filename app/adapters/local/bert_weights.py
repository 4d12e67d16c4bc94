"""Reads a BERT encoder's shape and weights from the files of a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from safetensors import SafetensorError, safe_open

from app.adapters.local.arithmetic import Arithmetic
from app.adapters.local.linear import Linear, Matrix
from app.adapters.local.model_files import read_json
from app.domain.errors import ConfigurationError

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


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer norm."""

    weight: Matrix
    bias: Matrix
    epsilon: np.float32

    def __call__(self, rows: Matrix) -> None:
        """Normalise each row in place."""
        width = np.float32(rows.shape[1])
        # A product with a column of 1 / width gives the means several times as fast as mean.
        rows -= rows @ np.full((rows.shape[1], 1), 1 / width, np.float32)
        variance = np.vecdot(rows, rows)[:, np.newaxis] / width
        rows /= np.sqrt(variance + self.epsilon)
        rows *= self.weight
        rows += self.bias


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the encoder: attention, then two linear layers for each token."""

    projections: Linear
    """Queries, keys and values side by side, queries already divided by the root of a head's width."""
    attended: Linear
    attention_norm: Norm
    intermediate: Linear
    activation: Callable[[Matrix], None]
    output: Linear
    output_norm: Norm


class Weights:
    """Reads the tensors of a file one at a time, so that no two copies of the model are in memory."""

    def __init__(self, path: Path, shape: BertShape, arithmetic: Arithmetic) -> None:
        """Open the file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        self._path = path
        self._shape = shape
        self._arithmetic = arithmetic
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
        tensor = np.asarray(tensor, dtype=np.float32)
        tensor[np.isnan(tensor)] = np.nan  # numkong rounds some of the other forms of NaN to 0
        return tensor

    def positions(self) -> Matrix:
        """Read the position embeddings, with the embedding of the only token type used here added."""
        positions = self.tensor("embeddings.position_embeddings.weight", self._shape.positions, self._shape.hidden)
        types = self.tensor("embeddings.token_type_embeddings.weight", self._shape.types, self._shape.hidden)
        positions += types[0]
        return positions

    def weights(self, name: str, inputs: int, outputs: int) -> tuple[Matrix, Matrix]:
        """Read the weights of a linear layer, with one row for each input, and its biases."""
        return self.tensor(f"{name}.weight", outputs, inputs).T, self.tensor(f"{name}.bias", outputs)

    def norm(self, name: str) -> Norm:
        """Read one layer norm."""
        hidden = self._shape.hidden
        weight, bias = self.tensor(f"{name}.weight", hidden), self.tensor(f"{name}.bias", hidden)
        return Norm(weight, bias, np.float32(self._shape.epsilon))

    def layer(self, prefix: str) -> Layer:
        """Read one layer of the encoder."""
        hidden, intermediate = self._shape.hidden, self._shape.intermediate
        projections = [
            self.weights(f"{prefix}attention.self.{name}", hidden, hidden) for name in ("query", "key", "value")
        ]
        weight, bias = (np.concatenate(parts, axis=-1) for parts in zip(*projections, strict=True))
        scale = np.float32((hidden / self._shape.heads) ** -0.5)
        weight[:, :hidden] *= scale
        bias[:hidden] *= scale
        linear = self._arithmetic.linear
        return Layer(
            projections=linear(weight, bias),
            attended=linear(*self.weights(f"{prefix}attention.output.dense", hidden, hidden)),
            attention_norm=self.norm(f"{prefix}attention.output.LayerNorm"),
            intermediate=linear(*self.weights(f"{prefix}intermediate.dense", hidden, intermediate)),
            activation=self._arithmetic.gelu,
            output=linear(*self.weights(f"{prefix}output.dense", intermediate, hidden)),
            output_norm=self.norm(f"{prefix}output.LayerNorm"),
        )


def _positive(path: Path, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{path}: {name} is {value!r}, not a positive integer.")
    return value
