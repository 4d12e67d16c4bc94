"""Computes the forward pass of a BERT encoder in numpy, from token ids to unit vectors."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from app.adapters.local.arithmetic import Arithmetic, fastest
from app.adapters.local.bert_weights import BertShape, Weights
from app.adapters.local.linear import Matrix
from app.domain.embedding import Vector

Pooling: TypeAlias = Literal["mean", "cls"]
"""What a sequence's vector is made of: the mean of its tokens' vectors, or the first token's alone."""

_GELU_ROWS = 32
"""How many rows are computed at once: their temporaries fit a core's cache."""
_ROWS_AT_ONCE = 4
"""BLAS multiplies rows in groups of so many; for one that is not full it takes up to a third longer for all."""
_LARGE_SCORE = 64.0
"""Sums of exp neither overflow nor underflow in float32 up to this score."""


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

    def __init__(self, directory: Path, *, pooling: Pooling = "mean", arithmetic: Arithmetic | None = None) -> None:
        """Load config.json and model.safetensors.

        Args:
            directory: where they are.
            pooling: what a sequence's vector is made of.
            arithmetic: in which numbers to compute; None means the fastest.

        Raises:
            ConfigurationError: the model cannot be read, or is not one this encoder computes.
        """
        self._pooling = pooling
        self.shape = BertShape.read(directory / "config.json")
        with Weights(directory / "model.safetensors", self.shape, arithmetic or fastest()) as weights:
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
            layer.activation(scratch.intermediate[start : start + _GELU_ROWS])
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


def _unit(vector: Matrix) -> Vector:
    unit: Vector = vector / np.linalg.norm(vector)
    return unit
