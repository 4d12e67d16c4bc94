"""The model that is trained: the encoder of the embedding model, with a head for each task."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from app.adapters.local.bert_weights import BertShape, MappedTensors
from app.adapters.local.reader.tokens import ANSWERS, TYPES, Task, TokenSequence

COMPUTED = torch.bfloat16
"""In which all is computed between the embeddings and the heads; the weights are kept in float32."""
_MULTIPLE = 8
"""Of which the length of a batch is, so that few lengths occur."""


class ReaderNetwork(nn.Module):
    """A BERT encoder whose word embeddings stay as they were, so that they need not be carried twice."""

    def __init__(self, directory: Path) -> None:
        """Begin with the embedding model of a directory; only the heads and the types of tokens are new."""
        super().__init__()
        shape = BertShape.read(directory / "config.json")
        with MappedTensors(directory / "model.safetensors") as weights:

            def tensor(name: str, *expected: int) -> Tensor:
                return torch.from_numpy(weights.tensor(name, *expected).copy())

            self.words = tensor("embeddings.word_embeddings.weight", shape.vocabulary, shape.hidden)
            positions = tensor("embeddings.position_embeddings.weight", shape.positions, shape.hidden)
            types = tensor("embeddings.token_type_embeddings.weight", shape.types, shape.hidden)
            first, second = types[0], types[-1] if shape.types > 1 else types[0]
            self.positions = nn.Parameter(positions)
            self.types = nn.Parameter(torch.stack([first, second] * 2 + [first] * (TYPES - 4)))
            self.norm = _norm(tensor, "embeddings.LayerNorm", shape)
            self.layers = nn.ModuleList(
                _Layer(tensor, f"encoder.layer.{number}.", shape) for number in range(shape.layers)
            )
        self.heads = nn.ModuleList(nn.Linear(2 * shape.hidden, ANSWERS[task]) for task in Task)

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor) -> Tensor:
        """Return of each sequence what the heads look at: its first token's row, and the mean of all."""
        present = torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None]
        # A mask is added: it takes less than its usual form. No dropout: the model learns too little, not too much.
        masked = torch.zeros(present.shape, dtype=COMPUTED, device=ids.device).masked_fill_(~present, float("-inf"))
        rows = functional.embedding(ids, self.words) + self.positions[: ids.shape[1]] + self.types[types]
        rows = _normal(rows.to(COMPUTED), self.norm)
        for layer in self.layers:
            rows = layer(rows, masked[:, None, None, :])
        rows = rows.float()
        mean = (rows * present[..., None]).sum(1) / lengths[:, None]
        return torch.cat([rows[:, 0], mean], 1)

    def answers(self, looked_at: Tensor, task: Task) -> Tensor:
        """Return the logits of a task's answers."""
        logits: Tensor = self.heads[task](looked_at)
        return logits

    def _apply(self, function, recurse=True):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, FBT002 - torch's
        self.words = function(self.words)
        return super()._apply(function, recurse)


class _Layer(nn.Module):
    def __init__(self, tensor, prefix: str, shape: BertShape) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        super().__init__()

        def linear(name: str, outputs: int, inputs: int) -> nn.Linear:
            layer = nn.Linear(inputs, outputs)
            layer.weight.data = tensor(f"{prefix}{name}.weight", outputs, inputs)
            layer.bias.data = tensor(f"{prefix}{name}.bias", outputs)
            return layer

        hidden = shape.hidden
        self.query, self.key, self.value = (
            linear(f"attention.self.{name}", hidden, hidden) for name in ("query", "key", "value")
        )
        self.output = linear("attention.output.dense", hidden, hidden)
        self.attention_norm = _norm(tensor, f"{prefix}attention.output.LayerNorm", shape)
        self.inner = linear("intermediate.dense", shape.intermediate, hidden)
        self.outer = linear("output.dense", hidden, shape.intermediate)
        self.output_norm = _norm(tensor, f"{prefix}output.LayerNorm", shape)
        self._heads = shape.heads

    def forward(self, rows: Tensor, masked: Tensor) -> Tensor:
        batch, length, hidden = rows.shape
        asked = _linear(rows, self.query, self.key, self.value).view(batch, length, 3, self._heads, -1)
        query, key, value = asked.permute(2, 0, 3, 1, 4)
        # In plain steps: of the fused one the gradient takes a third of the time on a CPU.
        scores = query @ key.transpose(2, 3) * (hidden / self._heads) ** -0.5 + masked
        attended = functional.softmax(scores, dim=-1) @ value
        attended = _linear(attended.transpose(1, 2).reshape(batch, length, hidden), self.output)
        rows = _normal(rows + attended, self.attention_norm)
        outer = _linear(functional.gelu(_linear(rows, self.inner)), self.outer)
        return _normal(rows + outer, self.output_norm)


def _linear(rows: Tensor, *layers: nn.Linear) -> Tensor:
    """Return what several layers make of the same rows, beside each other."""
    weight, bias = (torch.cat([getattr(one, name) for one in layers]) for name in ("weight", "bias"))
    return functional.linear(rows, weight.to(COMPUTED), bias.to(COMPUTED))


def _normal(rows: Tensor, norm: nn.LayerNorm) -> Tensor:
    return functional.layer_norm(
        rows, norm.normalized_shape, norm.weight.to(COMPUTED), norm.bias.to(COMPUTED), norm.eps
    )


def _norm(tensor, name: str, shape: BertShape) -> nn.LayerNorm:  # type: ignore[no-untyped-def]  # noqa: ANN001
    norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
    norm.weight.data, norm.bias.data = tensor(f"{name}.weight", shape.hidden), tensor(f"{name}.bias", shape.hidden)
    return norm


def batch_of(sequences: Sequence[TokenSequence], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ids, types and lengths of sequences, padded to one length."""
    lengths = np.array([len(one.ids) for one in sequences])
    longest = int(lengths.max())
    longest += -longest % _MULTIPLE
    ids, types = (np.zeros((len(sequences), longest), np.int64) for _ in range(2))
    for row, one in enumerate(sequences):
        ids[row, : lengths[row]] = one.ids
        types[row, : lengths[row]] = one.types
    ids_, types_, lengths_ = (torch.from_numpy(each).to(device) for each in (ids, types, lengths))
    return ids_, types_, lengths_
