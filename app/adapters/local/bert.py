"""Computes sentence vectors with a BERT encoder, from token ids to unit vectors."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_graph import bert_graph
from app.adapters.local.bert_weights import WORDS, BertShape, MappedTensors, Matrix
from app.adapters.local.inference import InferRequest, compiled
from app.domain.embedding import Vector
from app.domain.errors import EmbeddingUnavailable

Pooling: TypeAlias = Literal["mean", "cls"]
"""How a sequence's vector is made: as the mean of its tokens' vectors, or as the first token's vector alone."""

_ROWS = 16
"""The rows of a pass are a multiple of this, because the first pass of each size takes some ten milliseconds more."""
_FIRST_PASSES = (16, 64)
"""The rows of the passes in which OpenVINO makes its own copies of the weights; after them it reads only embeddings."""
_NO_SEQUENCE = -1


class BertEncoder:
    """A BERT encoder.

    The sequences of a batch are laid end to end, without padding between them, and only attention looks at them one by
    one: in float32 a sequence's vector does not depend on its batch (ADR 0004).
    """

    def __init__(self, directory: Path, *, pooling: Pooling = "mean", passes: int = 1, exact: bool = False) -> None:
        """Load config.json and model.safetensors.

        Args:
            directory: the directory of the two files.
            pooling: how a sequence's vector is made.
            passes: how many batches are computed at a time.
            exact: True computes in float32, also where bfloat16 is faster.

        Raises:
            ConfigurationError: the model cannot be read, or is not one this encoder computes.
        """
        self._pooling = pooling
        self.shape = BertShape.read(directory / "config.json")
        # The words have a mapping of their own: pages of one that is only read can be given back (ADR 0096).
        words = MappedTensors(directory / "model.safetensors", for_openvino=False)
        self._words = words.stored(WORDS, self.shape.vocabulary, self.shape.hidden)
        with MappedTensors(directory / "model.safetensors") as weights:
            self._compiled = compiled(bert_graph(self.shape, weights), passes=passes, exact=exact)
            self._idle: list[InferRequest] = []
            """OpenVINO's memory of passes that have ended, for the next passes."""
            for rows in _FIRST_PASSES:
                self.encode([[0] * min(rows, self.shape.positions)])

    def encode(self, sequences: Sequence[Sequence[int]]) -> list[Vector]:
        """Return the unit vectors of token sequences of one to ``shape.positions`` tokens; threads may call it.

        A model with broken weights returns values that are not finite.

        Raises:
            EmbeddingUnavailable: OpenVINO could not compute the vectors, for example because memory was missing.
        """
        bounds = list(pairwise(accumulate(map(len, sequences), initial=0)))
        try:
            request = self._request()
            (rows,) = request.infer(self._inputs(sequences, bounds), share_inputs=True, share_outputs=True).values()
        except (RuntimeError, MemoryError) as error:
            raise EmbeddingUnavailable(f"The local model could not be computed: {error}") from error
        # The caller detects values that are not finite, so numpy does not warn.
        with np.errstate(all="ignore"):
            vectors = [self._pooled(rows[start:end]) for start, end in bounds]
        self._idle.append(request)  # its next pass overwrites the rows
        return vectors

    def _request(self) -> InferRequest:
        """Return memory for a pass. The memory of a failed pass is not used again."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._compiled.create_infer_request()

    def _inputs(self, sequences: Sequence[Sequence[int]], bounds: Sequence[tuple[int, int]]) -> list[npt.NDArray[Any]]:
        """Return each token's word, position and sequence, and rows of no sequence up to a multiple of ``_ROWS``."""
        total = bounds[-1][1]
        rows = total + -total % _ROWS
        ids, positions = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        numbers = np.full(rows, _NO_SEQUENCE, np.int32)
        for number, (sequence, (start, end)) in enumerate(zip(sequences, bounds, strict=True)):
            ids[start:end] = sequence
            positions[start:end] = np.arange(end - start)
            numbers[start:end] = number
        return [self._words[ids].astype(np.float32, copy=False), positions, numbers]

    def _pooled(self, rows: Matrix) -> Vector:
        vector = rows[0] if self._pooling == "cls" else rows.mean(axis=0)
        unit: Vector = vector / np.linalg.norm(vector)
        return unit
