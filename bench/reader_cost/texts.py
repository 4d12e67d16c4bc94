"""The texts that are stored, asked and compared: those of English scenes, each once."""

from collections.abc import Iterator
from itertools import islice

from training.reader.scenes import TRAINING, Scene, files, read_scenes


class Texts:
    """Gives texts that it has not given before; an iterator ends where there are no more."""

    def __init__(self) -> None:
        """Read the scenes."""
        scenes = [scene for scene in read_scenes(files(TRAINING)) if scene.language == "en"]
        self._memories = iter(dict.fromkeys(memory.text for scene in scenes for memory in scene.memories.values()))
        self._questions = iter(dict.fromkeys(question.text for scene in scenes for question in scene.questions))
        self._pairs = iter(dict.fromkeys(pair for scene in scenes for pair in _pairs(scene)))
        self._claims = iter(dict.fromkeys(claim for scene in scenes for claim in _claims(scene)))

    def memories(self, count: int) -> list[str]:
        """Return memories."""
        return list(islice(self._memories, count))

    def questions(self, count: int) -> list[str]:
        """Return questions."""
        return list(islice(self._questions, count))

    def pairs(self, count: int) -> list[tuple[str, str]]:
        """Return older and newer statements of one subject."""
        return list(islice(self._pairs, count))

    def claims(self, count: int) -> list[tuple[str, str]]:
        """Return sources with claims about them."""
        return list(islice(self._claims, count))


def _pairs(scene: Scene) -> Iterator[tuple[str, str]]:
    return ((scene.memories[one.older].text, scene.memories[one.newer].text) for one in scene.relations)


def _claims(scene: Scene) -> Iterator[tuple[str, str]]:
    return (("\n".join(scene.memories[id_].text for id_ in one.sources), one.text) for one in scene.claims)
