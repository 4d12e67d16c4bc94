"""Computes the forward pass of a BERT encoder in numpy, from token ids to unit vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open

from app.adapters.local.linear import Linear, Matrix, linear
from app.adapters.local.model_files import read_json
from app.domain.embedding import Vector
from app.domain.errors import ConfigurationError

Pooling: TypeAlias = Literal["mean", "cls"]
"""What a sequence's vector is made of: the mean of its tokens' vectors, or the first token's alone."""

# Minimax fit of atanh(erf(x / sqrt 2)) / x in powers of x squared, highest first: erf to 1.3e-7 in float32.
_ERF = tuple(
    np.float32(coefficient)
    for coefficient in (
        1.7562773270018075e-09,
        -1.3226627580376883e-07,
        3.964773125671375e-06,
        -5.530631668598673e-05,
        -3.2594744620339644e-05,
        0.03633308440866856,
        0.7978849414899036,
    )
)
_GELU_ROWS = 32
"""How many rows are computed at once: their temporaries fit a core's cache."""
_ROWS_AT_ONCE = 4
"""BLAS multiplies rows in groups of so many; for one that is not full it takes up to a third longer for all."""
_LARGE_SCORE = 64.0
"""Sums of exp neither overflow nor underflow in float32 up to this score."""
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
class _Norm:
    weight: Matrix
    bias: Matrix
    epsilon: np.float32

    def __call__(self, rows: Matrix) -> None:
        """Normalise each row in place."""
        rows -= rows.mean(axis=1, keepdims=True)
        variance = np.vecdot(rows, rows)[:, np.newaxis] / np.float32(rows.shape[1])
        rows /= np.sqrt(variance + self.epsilon)
        rows *= self.weight
        rows += self.bias


@dataclass(frozen=True, slots=True)
class _Layer:
    projections: Linear
    """Queries, keys and values side by side, queries already divided by the root of a head's width."""
    attended: Linear
    attention_norm: _Norm
    intermediate: Linear
    output: Linear
    output_norm: _Norm


class _Scratch:
    """Memory for the results of the layers, allocated once per batch: new allocations cost more than the sums."""

    def __init__(self, shape: BertShape, total: int, longest: int) -> None:
        self.projections = np.empty((total, 3 * shape.hidden), np.float32)
        self.context = np.zeros((total, shape.hidden), np.float32)
        self.attended = np.empty((total, shape.hidden), np.float32)
        self.intermediate = np.empty((total, shape.intermediate), np.float32)
        self.scores = np.empty(shape.heads * longest * longest, np.float32)
        self.ones = np.ones((longest, 1), np.float32)


class BertEncoder:
    """A BERT encoder.

    The sequences of a batch are laid end to end in one matrix, without padding, and only attention looks at
    them one by one: a sequence's vector does not depend on its batch.
    """

    def __init__(self, directory: Path, *, pooling: Pooling = "mean") -> None:
        """Load config.json and model.safetensors.

        Raises:
            ConfigurationError: the model cannot be read, or is not one this encoder computes.
        """
        self._pooling = pooling
        self.shape = BertShape.read(directory / "config.json")
        with _Weights(directory / "model.safetensors", self.shape) as weights:
            self._words = weights.tensor("embeddings.word_embeddings.weight", self.shape.vocabulary, self.shape.hidden)
            self._positions = weights.positions()
            self._embedding_norm = weights.norm("embeddings.LayerNorm")
            self._layers = [weights.layer(f"encoder.layer.{number}.") for number in range(self.shape.layers)]

    def encode(self, sequences: Sequence[Sequence[int]]) -> list[Vector]:
        """Return the unit vectors of token sequences of one to ``shape.positions`` tokens.

        A model with broken weights returns values that are not finite.
        """
        vectors = self.begin(sequences).advance(lambda: False)
        assert vectors is not None  # noqa: S101 - it was not told to stop
        return vectors

    def begin(self, sequences: Sequence[Sequence[int]]) -> "BertPass":
        """Return the forward pass that computes the vectors of ``encode``."""
        return BertPass(self, sequences)

    def embedded(self, sequences: Sequence[Sequence[int]], bounds: Sequence[tuple[int, int]]) -> Matrix:
        """Return what the first layer takes: a row for each token, and rows of zeros until a group is full."""
        tokens = [token for sequence in sequences for token in sequence]
        hidden = np.zeros((len(tokens) + -len(tokens) % _ROWS_AT_ONCE, self.shape.hidden), np.float32)
        hidden[: len(tokens)] = self._words[tokens]
        for start, end in bounds:
            hidden[start:end] += self._positions[: end - start]
        self._embedding_norm(hidden)
        return hidden

    def transform(self, number: int, hidden: Matrix, bounds: Sequence[tuple[int, int]], scratch: _Scratch) -> None:
        """Apply one layer to ``hidden``, in place."""
        layer = self._layers[number]
        layer.projections(hidden, scratch.projections)
        for start, end in bounds:
            self._attend(scratch, start, end)
        layer.attended(scratch.context, scratch.attended)
        scratch.attended += hidden
        layer.attention_norm(scratch.attended)
        layer.intermediate(scratch.attended, scratch.intermediate)
        for start in range(0, len(hidden), _GELU_ROWS):
            _gelu(scratch.intermediate[start : start + _GELU_ROWS])
        layer.output(scratch.intermediate, hidden)
        hidden += scratch.attended
        layer.output_norm(hidden)

    def pooled(self, hidden: Matrix) -> Vector:
        """Return the unit vector of one sequence from what the last layer returned for its tokens."""
        return _unit(hidden[0] if self._pooling == "cls" else hidden.mean(axis=0))

    def _attend(self, scratch: _Scratch, start: int, end: int) -> None:
        """Fill the context of one sequence from its projections."""
        heads, length = self.shape.heads, end - start
        projections = scratch.projections[start:end].reshape(length, 3, heads, -1)
        queries, keys, values = projections.transpose(1, 2, 0, 3)
        scores = scratch.scores[: heads * length * length].reshape(heads, length, length)
        np.matmul(queries, keys.transpose(0, 2, 1), out=scores)
        # Maxima by row cost as much as the products; scores too large for exp to do without them are rare.
        if max(scores.max(), -scores.min()) > _LARGE_SCORE:
            scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        context = scratch.context[start:end].reshape(length, heads, -1).transpose(1, 0, 2)
        # Divided after the product, where there are fewer values; a product with ones is the fastest sum.
        np.divide(scores @ values, scores @ scratch.ones[:length], out=context)


class BertPass:
    """A forward pass that may be interrupted between its layers; only ``hidden`` is kept meanwhile."""

    def __init__(self, encoder: BertEncoder, sequences: Sequence[Sequence[int]]) -> None:
        """Begin before the first layer."""
        lengths = [len(sequence) for sequence in sequences]
        self._encoder = encoder
        self._sequences = sequences
        self._bounds = list(pairwise(accumulate(lengths, initial=0)))
        self._longest = max(lengths)
        self._hidden: Matrix | None = None
        self._layer = 0

    def advance(self, stop: Callable[[], bool]) -> list[Vector] | None:
        """Compute layers, at least one, until ``stop`` says so; return the vectors once all are computed."""
        layers = self._encoder.shape.layers
        # The caller detects values that are not finite, so numpy does not warn.
        with np.errstate(all="ignore"):
            if self._hidden is None:
                self._hidden = self._encoder.embedded(self._sequences, self._bounds)
            scratch = _Scratch(self._encoder.shape, len(self._hidden), self._longest)
            while self._layer < layers:
                self._encoder.transform(self._layer, self._hidden, self._bounds, scratch)
                self._layer += 1
                if self._layer < layers and stop():
                    return None
            return [self._encoder.pooled(self._hidden[start:end]) for start, end in self._bounds]


class _Weights:
    """Reads the tensors of a file one at a time, so that no two copies of the model are in memory."""

    def __init__(self, path: Path, shape: BertShape) -> None:
        self._path = path
        self._shape = shape
        try:
            self._file: Any = safe_open(path, framework="numpy")
        except (OSError, SafetensorError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}") from error
        self._prefix = ""

    def __enter__(self) -> Self:
        names = set(self._file.keys())
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in names else ""
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.__exit__(*failure)

    def tensor(self, name: str, *expected: int) -> Matrix:
        """Read one tensor as float32."""
        try:
            tensor = self._file.get_tensor(self._prefix + name)
        except (SafetensorError, TypeError) as error:
            raise ConfigurationError(f"{self._path}: {name} cannot be read: {error}") from error
        if tensor.shape != expected:
            raise ConfigurationError(f"{self._path}: {name} has the shape {tensor.shape}, not {expected}.")
        return np.asarray(tensor, dtype=np.float32)

    def positions(self) -> Matrix:
        """Read the position embeddings, with the embedding of the only token type used here added."""
        positions = self.tensor("embeddings.position_embeddings.weight", self._shape.positions, self._shape.hidden)
        types = self.tensor("embeddings.token_type_embeddings.weight", self._shape.types, self._shape.hidden)
        positions += types[0]
        return positions

    def weights(self, name: str, inputs: int, outputs: int) -> tuple[Matrix, Matrix]:
        """Read the weights of a linear layer, with one row for each input, and its biases."""
        return self.tensor(f"{name}.weight", outputs, inputs).T, self.tensor(f"{name}.bias", outputs)

    def norm(self, name: str) -> _Norm:
        """Read one layer norm."""
        hidden = self._shape.hidden
        weight, bias = self.tensor(f"{name}.weight", hidden), self.tensor(f"{name}.bias", hidden)
        return _Norm(weight, bias, np.float32(self._shape.epsilon))

    def layer(self, prefix: str) -> _Layer:
        """Read one layer of the encoder."""
        hidden, intermediate = self._shape.hidden, self._shape.intermediate
        projections = [
            self.weights(f"{prefix}attention.self.{name}", hidden, hidden) for name in ("query", "key", "value")
        ]
        weight, bias = (np.concatenate(parts, axis=-1) for parts in zip(*projections, strict=True))
        scale = np.float32((hidden / self._shape.heads) ** -0.5)
        weight[:, :hidden] *= scale
        bias[:hidden] *= scale
        return _Layer(
            projections=linear(weight, bias),
            attended=linear(*self.weights(f"{prefix}attention.output.dense", hidden, hidden)),
            attention_norm=self.norm(f"{prefix}attention.output.LayerNorm"),
            intermediate=linear(*self.weights(f"{prefix}intermediate.dense", hidden, intermediate)),
            output=linear(*self.weights(f"{prefix}output.dense", intermediate, hidden)),
            output_norm=self.norm(f"{prefix}output.LayerNorm"),
        )


def _gelu(inputs: Matrix) -> None:
    """Apply the Gaussian error linear unit with the exact erf, in place."""
    squares = inputs * inputs
    erf = squares * _ERF[0]
    for coefficient in _ERF[1:-1]:
        erf += coefficient
        erf *= squares
    erf += _ERF[-1]
    erf *= inputs
    np.tanh(erf, out=erf)
    erf += np.float32(1)
    inputs *= erf
    inputs *= np.float32(0.5)


def _unit(vector: Matrix) -> Vector:
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


def _positive(path: Path, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{path}: {name} is {value!r}, not a positive integer.")
    return value
