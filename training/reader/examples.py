"""Makes examples of scenes: two texts, or one, what is asked about them, and what is to be answered."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from app.adapters.local.reader.tokens import Task
from app.domain.reading import KIND_NAMES, RELATION_NAMES
from training.reader.scenes import Scene

_NEAREST_OLDER = 3
"""Each memory is paired in each epoch with one of so many unmarked older ones that are nearest to it."""
_NEGATIVES, _NEGATIVES_OF_ABSENT = (1, 4), (3, 6)
"""Memories without a mark beside which a question is asked in each epoch: so many drawn of the nearest."""

_Choice = TypeVar("_Choice")
Vectors = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Returns the unit vectors of texts."""


@dataclass(frozen=True, slots=True)
class Example:
    """What is asked about two texts, or one, and the number of the answer."""

    task: Task
    first: str
    second: str | None
    answer: int
    hard: bool = False
    """Whether its writer has marked it as one that seems to have another answer."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which share an epoch has of what is easy or frequent; it has all marked pairs and claims."""

    unmarked: float = 1.0
    """Of pairs and claims that nobody has marked, and of kinds."""
    questions: float = 1.0


_ALL: Final = Sampling()
TO_TRAIN: Final = Sampling(unmarked=0.25, questions=0.5)
"""What is hard comes twice as often as it would: a model of this size gets the rest right with few examples."""


class Examples:
    """The examples of scenes; those that are not marked are drawn anew for each epoch."""

    def __init__(self, scenes: Sequence[Scene], vectors: Vectors, sampling: Sampling = _ALL) -> None:
        """Find out what is near what in each scene."""
        self._scenes = [_Nearness(scene, vectors, sampling) for scene in scenes]

    def epoch(self, seed: int) -> list[Example]:
        """Return the examples of an epoch."""
        return [example for of_scene in self.by_scene(seed) for example in of_scene]

    def by_scene(self, seed: int) -> list[list[Example]]:
        """Return the examples of an epoch, those of each scene by themselves."""
        draw = random.Random(seed)  # noqa: S311 - no secret
        return [list(scene.examples(draw)) for scene in self._scenes]


class _Nearness:
    """A scene, with the order in which its memories are near each other and near its questions."""

    def __init__(self, scene: Scene, vectors: Vectors, sampling: Sampling) -> None:
        self._scene, self._sampling = scene, sampling
        self._ids = list(scene.memories)
        self._text = {id_: memory.text for id_, memory in scene.memories.items()}
        memories = vectors([self._text[id_] for id_ in self._ids])
        cosines = memories @ memories.T
        marked = {(one.older, one.newer) for one in scene.relations}
        self._older: dict[str, Sequence[str]] = {}
        for place, newer in enumerate(self._ids):
            nearest = (self._ids[number] for number in np.argsort(-cosines[place, :place]))
            self._older[newer] = [older for older in nearest if (older, newer) not in marked][:_NEAREST_OLDER]
        asked = vectors([question.text for question in scene.questions]) @ memories.T
        self._near = [[self._ids[number] for number in np.argsort(-row)] for row in asked]

    def examples(self, draw: random.Random) -> Iterator[Example]:
        yield from self._relations(draw)
        yield from self._relevances(draw)
        for memory in self._scene.memories.values():
            if draw.random() < self._sampling.unmarked:
                yield Example(Task.KIND, memory.text, None, KIND_NAMES.index(memory.kind))
        yield from self._claims(draw)

    def _relations(self, draw: random.Random) -> Iterator[Example]:
        text = self._text
        for one in self._scene.relations:
            yield Example(
                Task.RELATION,
                text[one.older],
                text[one.newer],
                RELATION_NAMES.index(one.name),
                hard=one.name == "holds",
            )
        for newer, nearest in self._older.items():
            if nearest and draw.random() < self._sampling.unmarked:
                yield Example(Task.RELATION, text[draw.choice(nearest)], text[newer], 0)

    def _relevances(self, draw: random.Random) -> Iterator[Example]:
        for question, near in zip(self._scene.questions, self._near, strict=True):
            if draw.random() >= self._sampling.questions:
                continue
            for ids, answer, hard in (
                (question.answers, 1, False),
                (question.stale, 1, False),
                (question.near, 0, True),
            ):
                for id_ in ids:
                    yield Example(Task.RELEVANCE, question.text, self._text[id_], answer, hard)
            told = {*question.answers, *question.stale, *question.near}
            rest = [id_ for id_ in near if id_ not in told]
            drawn, among = _NEGATIVES if question.answers else _NEGATIVES_OF_ABSENT
            for id_ in _drawn(draw, rest[:among], drawn):
                yield Example(Task.RELEVANCE, question.text, self._text[id_], 0, hard=not question.answers)

    def _claims(self, draw: random.Random) -> Iterator[Example]:
        for claim in self._scene.claims:
            sources = "\n".join(self._text[id_] for id_ in claim.sources)
            yield Example(Task.FOLLOWS, sources, claim.text, int(claim.follows), hard=not claim.follows)
            others = [id_ for id_ in self._ids if id_ not in claim.sources]
            if claim.follows and draw.random() < self._sampling.unmarked:
                yield Example(Task.FOLLOWS, self._text[draw.choice(others)], claim.text, 0)


def _drawn(draw: random.Random, choices: Sequence[_Choice], count: int) -> Sequence[_Choice]:
    return draw.sample(choices, min(count, len(choices)))
