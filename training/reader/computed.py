"""Reads examples as the service does: with the files of a version, computed by OpenVINO."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.adapters.local.bert_weights import BertShape, MappedTensors
from app.adapters.local.reader.encoder import ReaderEncoder
from app.adapters.local.reader.tokens import MAX_TOKENS, ReaderTokens, TokenSequence
from app.adapters.local.reader.weights import ReaderCard, ReaderWeights, reader_shape
from app.adapters.local.wordpiece import WordPiece
from training.reader.examples import Example
from training.reader.figures import Probabilities

_PASS_TOKENS = 512


class ComputedReader:
    """The reader of a directory, without its threads and its cache."""

    def __init__(self, trunk: Path, directory: Path) -> None:
        """Load it; raises ``ConfigurationError`` where it cannot be used."""
        shape = BertShape.read(trunk / "config.json")
        self._tokens = ReaderTokens(WordPiece.from_directory(trunk))
        card = self.card = ReaderCard.read(directory)
        with MappedTensors(trunk / "model.safetensors") as words:
            weights = ReaderWeights(directory, words, shape)
            self._encoder = ReaderEncoder(reader_shape(shape, MAX_TOKENS), weights, card, passes=1)

    def read(self, examples: Sequence[Example]) -> list[Probabilities]:
        """Return for each example the probability of each answer."""
        sequences = [self._tokens.sequence(one.task, one.first, one.second) for one in examples]
        order = sorted(range(len(sequences)), key=lambda number: len(sequences[number]))
        found: dict[int, Probabilities] = {}
        for part in _parts(order, sequences):
            found |= zip(part, self._encoder.read([sequences[number] for number in part]), strict=True)
        return [found[number] for number in range(len(sequences))]


def _parts(order: Sequence[int], sequences: Sequence[TokenSequence]) -> Iterator[list[int]]:
    part: list[int] = []
    for number in order:
        if part and sum(len(sequences[one]) for one in part) + len(sequences[number]) > _PASS_TOKENS:
            yield part
            part = []
        part.append(number)
    if part:
        yield part
