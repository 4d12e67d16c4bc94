"""Computes the reader's answers to token sequences: the encoder's rows, and the heads' probabilities."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_graph import EncoderSteps
from app.adapters.local.bert_weights import BertShape, Matrix
from app.adapters.local.inference import Graph, InferRequest, Node, compiled, openvino
from app.adapters.local.reader.tokens import ANSWERS, Task, TokenSequence
from app.adapters.local.reader.weights import ReaderCard, ReaderWeights
from app.domain.errors import ReaderUnavailable

_ROWS = 16
"""The rows of a pass are a multiple of this, because the first pass of each size takes some ten milliseconds more."""
_FIRST_PASSES = (256, 64)
_NO_SEQUENCE = -1


class ReaderEncoder:
    """Reads sequences, which are laid end to end as in ``BertEncoder``; threads may call it."""

    def __init__(self, shape: BertShape, weights: ReaderWeights, card: ReaderCard, *, passes: int) -> None:
        """Compile the graph.

        Raises:
            ConfigurationError: the weights are not of this shape, or OpenVINO does not run on this machine.
        """
        package = openvino()
        steps = _ReaderSteps(package.opset15, shape, weights)
        self._compiled = compiled(_graph(steps, shape), passes=passes, exact=False, quantised=True)
        self._heads = {
            task: (
                weights.tensor(f"heads.{task.name.lower()}.weight", count, 2 * shape.hidden),
                weights.tensor(f"heads.{task.name.lower()}.bias", count),
                card.temperatures[task.name.lower()],
            )
            for task, count in ANSWERS.items()
        }
        self._idle: list[InferRequest] = []
        for rows in _FIRST_PASSES:
            length = min(rows, shape.positions)
            self.read([TokenSequence([0] * length, [0] * length, Task.KIND)] * (rows // length))

    def read(self, sequences: Sequence[TokenSequence]) -> list[npt.NDArray[np.float64]]:
        """Return for each sequence the probability of each answer of its task.

        Raises:
            ReaderUnavailable: OpenVINO could not compute the answers.
        """
        bounds = list(pairwise(accumulate(map(len, sequences), initial=0)))
        try:
            request = self._idle.pop() if self._idle else self._compiled.create_infer_request()
            (rows,) = request.infer(_inputs(sequences, bounds), share_inputs=True, share_outputs=True).values()
        except (RuntimeError, MemoryError) as error:
            raise ReaderUnavailable(f"The reader could not be computed: {error}") from error
        answers = [
            self._answers(one.task, rows[start:end]) for one, (start, end) in zip(sequences, bounds, strict=True)
        ]
        self._idle.append(request)  # its next pass overwrites the rows
        return answers

    def _answers(self, task: Task, rows: Matrix) -> npt.NDArray[np.float64]:
        weight, bias, temperature = self._heads[task]
        logits = (weight @ np.concatenate([rows[0], rows.mean(axis=0)]) + bias).astype(np.float64) / temperature
        odds = np.exp(logits - logits.max())
        probabilities: npt.NDArray[np.float64] = odds / odds.sum()
        return probabilities


class _ReaderSteps(EncoderSteps):
    """The steps of a forward pass with weights of int8."""

    def __init__(self, ops: Node, shape: BertShape, weights: ReaderWeights) -> None:
        super().__init__(ops, shape, weights)
        self._quantised = weights

    def weight(self, name: str, outputs: int, inputs: int) -> Node:
        held = self._quantised.quantised(name, outputs, inputs)
        if held is None:
            return super().weight(name, outputs, inputs)
        levels, scale = (self.ops.constant(part, shared_memory=True) for part in held)
        return self.ops.multiply(self.ops.convert(levels, np.float32), scale)


def _graph(steps: EncoderSteps, shape: BertShape) -> Graph:
    """Return a graph of a forward pass; its inputs are one int32 for each token."""
    ops = steps.ops
    names = ("ids", "positions", "types", "numbers")
    ids, positions, types, numbers = (ops.parameter([-1], np.int32, name=name) for name in names)
    rows, mask = steps.embedded(steps.words(ids), positions, types), steps.mask(numbers)
    for layer in range(shape.layers):
        rows = steps.layer(rows, f"encoder.layer.{layer}.", mask)
    return openvino().Model([ops.result(rows)], [ids, positions, types, numbers])


def _inputs(sequences: Sequence[TokenSequence], bounds: Sequence[tuple[int, int]]) -> list[npt.NDArray[np.int32]]:
    """Return each token's id, position, type and sequence, and rows of no sequence up to a multiple of ``_ROWS``."""
    total = bounds[-1][1]
    rows = total + -total % _ROWS
    ids, positions, types = (np.zeros(rows, np.int32) for _ in range(3))
    numbers = np.full(rows, _NO_SEQUENCE, np.int32)
    for number, (one, (start, end)) in enumerate(zip(sequences, bounds, strict=True)):
        ids[start:end], types[start:end] = one.ids, one.types
        positions[start:end] = np.arange(end - start)
        numbers[start:end] = number
    return [ids, positions, types, numbers]
