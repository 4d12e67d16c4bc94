"""Trains the reader: a few passes over the examples, the weights averaged over the last of them."""

import hashlib
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from app.adapters.local.reader.tokens import ReaderTokens, Task, TokenSequence
from training.reader.examples import Example, Examples
from training.reader.figures import Figures, Probabilities, figures
from training.reader.network import ReaderNetwork, batch_of

_CLASS_WEIGHTS: Final = {
    Task.RELATION: (1.0, 2.0, 2.0, 2.0),
    Task.RELEVANCE: (1.0, 2.0),
    Task.KIND: (1.0,) * 4,
    Task.FOLLOWS: (1.0, 1.0),
}
_SMOOTHING = 0.05
_WARM_UP = 0.06
_SORTED_TOGETHER = 20
"""Batches whose examples are sorted by length, so that little is padded."""
_READ_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train."""

    epochs: int = 2
    batch: int = 32
    rate: float = 1.2e-4
    rate_of_heads: float = 5e-4
    decay: float = 0.01
    average: float = 0.999
    """How slowly the averaged weights follow."""
    seed: int = 1


class Trainer:
    """Trains one network."""

    def __init__(self, directory: Path, tokens: ReaderTokens, plan: Plan, begun: Path | None = None) -> None:
        """Begin with the embedding model of a directory, and go on from weights that were ``begun``, if any were."""
        torch.manual_seed(plan.seed)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokens, self._plan = tokens, plan
        self.network = ReaderNetwork(directory).to(self._device)
        if begun is not None:
            self.network.load_state_dict(torch.load(begun, weights_only=True)["weights"])
        self._averaged = AveragedModel(self.network, multi_avg_fn=get_ema_multi_avg_fn(plan.average))
        heads = list(self.network.heads.parameters())
        others = [one for name, one in self.network.named_parameters() if not name.startswith("heads.")]
        self._optimizer = torch.optim.AdamW(
            [{"params": others, "lr": plan.rate}, {"params": heads, "lr": plan.rate_of_heads}], weight_decay=plan.decay
        )

    def train(self, examples: Examples, kept_aside: Sequence[Example]) -> Iterator[tuple[int, float, Figures]]:
        """Give after each epoch its number, the mean loss, and the figures of the averaged weights."""
        plan, seconds = self._plan, time.monotonic
        epochs = [examples.epoch(plan.seed * 1000 + number) for number in range(plan.epochs)]
        steps = sum(-(-len(epoch) // plan.batch) for epoch in epochs)
        warm = max(1, int(steps * _WARM_UP))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: min(1.0, (step + 1) / warm) * max(0.0, 1 - step / steps)
        )
        draw, begun, done = random.Random(plan.seed), seconds(), 0  # noqa: S311 - no secret
        for number, epoch in enumerate(epochs):
            self.network.train()
            total = 0.0
            for batch in self._batches(epoch, draw):
                loss = self._loss(batch)
                self._optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                self._optimizer.step()
                schedule.step()
                self._averaged.update_parameters(self.network)
                total, done = total + float(loss.detach()) * len(batch), done + 1
                if done % 400 == 0:
                    left = (seconds() - begun) / done * (steps - done)
                    print(f"step {done} of {steps}, {left / 60:.0f} minutes left", flush=True)
            yield number, total / len(epoch), figures(kept_aside, self.read(kept_aside))

    def result(self) -> dict[str, Tensor]:
        """Return the averaged weights by their names."""
        return {name: value.detach().float().cpu() for name, value in self._averaged.module.state_dict().items()}

    @torch.no_grad()
    def read(self, examples: Sequence[Example]) -> list[Probabilities]:
        """Return for each example the probability of each answer, by the averaged weights."""
        network: ReaderNetwork = self._averaged.module
        network.eval()
        sequences = [self._sequence(one) for one in examples]
        order = sorted(range(len(examples)), key=lambda number: len(sequences[number].ids))
        found: dict[int, Probabilities] = {}
        for start in range(0, len(order), _READ_AT_ONCE):
            chosen = order[start : start + _READ_AT_ONCE]
            looked_at = network(*batch_of([sequences[number] for number in chosen], self._device))
            for task in Task:
                rows = [row for row, number in enumerate(chosen) if examples[number].task == task]
                if rows:
                    answers = functional.softmax(network.answers(looked_at[rows], task), dim=-1).double().cpu().numpy()
                    found |= {chosen[row]: answer for row, answer in zip(rows, answers, strict=True)}
        return [found[number] for number in range(len(examples))]

    def _batches(
        self, examples: Sequence[Example], draw: random.Random
    ) -> Iterator[list[tuple[Example, TokenSequence]]]:
        """Give batches of examples that are about as long as each other."""
        order = draw.sample(examples, len(examples))
        size = self._plan.batch
        for start in range(0, len(order), size * _SORTED_TOGETHER):
            part = [(one, self._sequence(one)) for one in order[start : start + size * _SORTED_TOGETHER]]
            part.sort(key=lambda pair: len(pair[1].ids))
            batches = [part[first : first + size] for first in range(0, len(part), size)]
            draw.shuffle(batches)
            yield from batches

    def _loss(self, batch: Sequence[tuple[Example, TokenSequence]]) -> Tensor:
        looked_at = self.network(*batch_of([sequence for _, sequence in batch], self._device))
        loss = torch.zeros((), device=self._device)
        for task in Task:
            rows = [row for row, (one, _) in enumerate(batch) if one.task == task]
            if rows:
                answers = torch.tensor([batch[row][0].answer for row in rows], device=self._device)
                weights = torch.tensor(_CLASS_WEIGHTS[task], device=self._device)
                logits = self.network.answers(looked_at[rows], task)
                share = len(rows) / len(batch)
                loss = loss + share * functional.cross_entropy(
                    logits, answers, weight=weights, label_smoothing=_SMOOTHING
                )
        return loss

    def _sequence(self, example: Example) -> TokenSequence:
        return self._tokens.sequence(example.task, example.first, example.second)


def digest(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of parts, by which data and weights are told apart."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def digest_of(weights: dict[str, Tensor]) -> str:
    """Return the SHA-256 of weights."""
    return digest(np.ascontiguousarray(weights[name].numpy()).tobytes() for name in sorted(weights))


def save(weights: dict[str, Tensor], path: Path, **history: object) -> None:
    """Write weights with what they were trained of."""
    torch.save({"weights": weights, "history": {**history, "weights": digest_of(weights)}}, path)


def averaged(paths: Sequence[Path]) -> tuple[dict[str, npt.NDArray[np.float32]], list[object]]:
    """Return the mean of the weights of files, and what each of them was trained of."""
    found = [torch.load(path, weights_only=True) for path in paths]
    names = found[0]["weights"]
    mean = {name: torch.stack([one["weights"][name] for one in found]).mean(dim=0).numpy() for name in names}
    return mean, [one["history"] for one in found]
