"""Measures a reader alone on scenes, by language, and at the thresholds that its service uses."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.adapters.local.transformer import TransformerEmbedder
from training.reader.computed import ComputedReader
from training.reader.examples import Examples, Vectors
from training.reader.figures import Figures, at_thresholds, figures
from training.reader.scenes import Scene, files

ALL = "all"
DRAW = 7
"""The seed that what is not marked is drawn with."""
_KEPT_ASIDE = "03"
"""The number of each writer's file that thresholds are set with; nothing is trained on it."""


def divided(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files to train with, and those that thresholds are set with."""
    paths = files(folder)
    aside = [path for path in paths if path.stem.endswith(_KEPT_ASIDE)]
    return [path for path in paths if path not in aside], aside


def by_language(scenes: Sequence[Scene], reader: ComputedReader, vectors: Vectors) -> Mapping[str, Figures]:
    """Return the figures of all scenes, and of those of each language."""
    examples = Examples(scenes, vectors).by_scene(DRAW)
    rows = iter(reader.read([one for of_scene in examples for one in of_scene]))
    answered = [[next(rows) for _ in of_scene] for of_scene in examples]
    found = {}
    for language in (ALL, *sorted({scene.language for scene in scenes})):
        chosen = [number for number, scene in enumerate(scenes) if language in (ALL, scene.language)]
        of_language = [one for number in chosen for one in examples[number]]
        probabilities = [row for number in chosen for row in answered[number]]
        found[language] = {
            **figures(of_language, probabilities),
            **at_thresholds(of_language, probabilities, reader.card.thresholds),
        }
    return found


class Embedded:
    """Embeds texts with the embedding model; a text once. It is called outside of an event loop."""

    def __init__(self, directory: Path) -> None:
        """Load the model of a directory."""
        self._runner = asyncio.Runner()
        self._embedder = TransformerEmbedder(directory)
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the unit vectors of texts, in their order."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            found = self._runner.run(self._embedder.embed(missing, "document")).vectors
            self._vectors |= dict(zip(missing, found, strict=True))
        return np.array([self._vectors[text] for text in texts])
