"""Describes the forward pass of a BERT encoder as a graph of OpenVINO."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_weights import WORDS, BertShape, Matrix
from app.adapters.local.inference import Graph, Node, Package, openvino

_MASKED = np.float32(-1e30)
"""Added to the score of two tokens of different sequences: exp makes 0 of it."""


class TensorSource(Protocol):
    """A source of an encoder's weights."""

    def tensor(self, name: str, *expected: int) -> Matrix:
        """Return a tensor as float32; raises ``ConfigurationError`` where it is absent or has another shape."""
        ...


def bert_graph(shape: BertShape, weights: TensorSource) -> Graph:
    """Return a graph that takes sequences laid end to end, and computes the last layer's row of each token.

    Its inputs are for each token the row of its word, its position in its sequence, and the number of its sequence. The
    words are no part of the graph, in which a large vocabulary would be held in memory, and as float32.
    """
    package = openvino()
    steps = EncoderSteps(package.opset15, shape, weights)
    ops = steps.ops
    words = ops.parameter([-1, shape.hidden], np.float32, name="words")
    positions, numbers = (ops.parameter([-1], np.int32, name=name) for name in ("positions", "numbers"))
    rows = steps.embedded(words, positions)
    mask = steps.mask(numbers)
    for layer in range(shape.layers):
        rows = steps.layer(rows, f"encoder.layer.{layer}.", mask)
    return package.Model([ops.result(rows)], [words, positions, numbers])


class EncoderSteps:
    """The steps of a forward pass. Each takes nodes of a graph, and returns the node of what it computes."""

    def __init__(self, ops: Package, shape: BertShape, weights: TensorSource) -> None:
        """Take OpenVINO's operations, and the shape and weights of an encoder."""
        self.ops = ops
        self._shape = shape
        self._weights = weights

    def words(self, ids: Node) -> Node:
        """Return the rows of words."""
        return self._gathered(self._weights.tensor(WORDS, self._shape.vocabulary, self._shape.hidden), ids)

    def embedded(self, words: Node, positions: Node, types: Node | None = None) -> Node:
        """Return the rows that the first layer takes; without types every token is of the first type."""
        shape = self._shape
        position_rows = self._weights.tensor("embeddings.position_embeddings.weight", shape.positions, shape.hidden)
        type_rows = self._weights.tensor("embeddings.token_type_embeddings.weight", shape.types, shape.hidden)
        if types is None:
            rows = self.ops.add(words, self._gathered(position_rows + type_rows[0], positions))
        else:
            placed = self.ops.add(self._gathered(position_rows, positions), self._gathered(type_rows, types))
            rows = self.ops.add(words, placed)
        return self._norm(rows, "embeddings.LayerNorm")

    def mask(self, numbers: Node) -> Node:
        """Return the attention mask, which is added to the scores: a token attends to its own sequence alone."""
        ops = self.ops
        same = ops.equal(ops.unsqueeze(numbers, _axes(0)), ops.unsqueeze(numbers, _axes(1)))
        return ops.unsqueeze(ops.select(same, np.float32(0), _MASKED), _axes(0, 1))

    def layer(self, rows: Node, prefix: str, mask: Node) -> Node:
        """Return what one layer of the encoder computes: attention, then two linear layers for each token."""
        ops, hidden, intermediate = self.ops, self._shape.hidden, self._shape.intermediate
        attended = self._linear(self._attention(rows, prefix, mask), f"{prefix}attention.output.dense", hidden, hidden)
        rows = self._norm(ops.add(attended, rows), f"{prefix}attention.output.LayerNorm")
        inner = ops.gelu(self._linear(rows, f"{prefix}intermediate.dense", hidden, intermediate), "ERF")
        outer = self._linear(inner, f"{prefix}output.dense", intermediate, hidden)
        return self._norm(ops.add(outer, rows), f"{prefix}output.LayerNorm")

    def _attention(self, rows: Node, prefix: str, mask: Node) -> Node:
        ops, hidden, heads = self.ops, self._shape.hidden, self._shape.heads
        queries, keys, values = (
            ops.transpose(
                ops.reshape(
                    self._linear(rows, f"{prefix}attention.self.{name}", hidden, hidden),
                    _axes(1, -1, heads, hidden // heads),
                    special_zero=False,
                ),
                _axes(0, 2, 1, 3),
            )
            for name in ("query", "key", "value")
        )
        scale = np.float32((hidden / heads) ** -0.5)
        context = ops.scaled_dot_product_attention(queries, keys, values, mask, scale)
        return ops.reshape(ops.transpose(context, _axes(0, 2, 1, 3)), _axes(-1, hidden), special_zero=False)

    def weight(self, name: str, outputs: int, inputs: int) -> Node:
        """Return the matrix of a linear layer."""
        return self._constant(self._weights.tensor(name, outputs, inputs))

    def _linear(self, rows: Node, name: str, inputs: int, outputs: int) -> Node:
        weight = self.weight(f"{name}.weight", outputs, inputs)
        bias = self._constant(self._weights.tensor(f"{name}.bias", outputs))
        return self.ops.add(self.ops.matmul(rows, weight, transpose_a=False, transpose_b=True), bias)

    def _norm(self, rows: Node, name: str) -> Node:
        ops, hidden = self.ops, self._shape.hidden
        weight, bias = (self._constant(self._weights.tensor(f"{name}.{kind}", hidden)) for kind in ("weight", "bias"))
        normal = ops.mvn(rows, _axes(-1), normalize_variance=True, eps=self._shape.epsilon, eps_mode="inside_sqrt")
        return ops.add(ops.multiply(normal, weight), bias)

    def _gathered(self, table: Matrix, numbers: Node) -> Node:
        return self.ops.gather(self._constant(table), numbers, np.int32(0))

    def _constant(self, values: Matrix) -> Node:
        """Return weights as a node. Given an array instead, OpenVINO makes a Python list of its values first."""
        return self.ops.constant(values, shared_memory=True)


def _axes(*numbers: int) -> npt.NDArray[np.int32]:
    return np.array(numbers, np.int32)
