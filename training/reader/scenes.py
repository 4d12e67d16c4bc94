"""Reads the labelled scenes that the reader is trained on and measured with (SCENES.md has the format)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.reading import KIND_NAMES, RelationName

HERE: Final = Path(__file__).parent
TRAINING: Final = HERE / "scenes"
SEALED: Final = HERE / "sealed"
"""Looked at once, when a model is finished: nothing is fitted to these."""

RELATIONS: Final[Mapping[str, RelationName]] = {"~": "holds", ">": "replaces", "x": "ends", "=": "restates"}
_FEWEST_MEMORIES = 12

_MEMORY = re.compile(rf"(m\d+) +(\d{{4}}-\d\d-\d\d)(?:T[\d:]+)? +({'|'.join(KIND_NAMES)}): *(.*)")
_MARK = re.compile(r"\s([>x=~])(m\d+)\s*$")
_QUESTION = re.compile(r"q +([^:]*?): *(.+)")
_CLAIM = re.compile(r"([tf]) +((?:m\d+[ ,]*)+): *(.+)")
_IDS = re.compile(r"[!?]?m\d+")


class UnreadableScene(ValueError):
    """A line that is no part of a scene, with its file and number."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What was said, when, and what kind of statement it is (one of ``KIND_NAMES``)."""

    date: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Relation:
    """How a newer memory bears on an older one: one of the values of ``RELATIONS``."""

    older: str
    newer: str
    name: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the memories that answer it, that no longer do, and that only seem to."""

    text: str
    answers: Sequence[str]
    stale: Sequence[str]
    near: Sequence[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that follows from memories, or looks as if it did."""

    text: str
    sources: Sequence[str]
    follows: bool


@dataclass(slots=True)
class Scene:
    """Memories of one scope in the order in which they were said, and what is known of them."""

    language: str
    topic: str
    memories: dict[str, Memory] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


def read_scenes(paths: Iterable[Path]) -> list[Scene]:
    """Return the scenes of files.

    Raises:
        UnreadableScene: a line is none of a scene's, or names a memory that does not stand before it.
    """
    return [scene for path in paths for scene in _scenes(path)]


def files(folder: Path) -> list[Path]:
    """Return a folder's files of scenes, in a fixed order."""
    return sorted(folder.glob("*.txt"))


def _scenes(path: Path) -> Iterator[Scene]:
    scene: Scene | None = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = line.strip()  # noqa: PLW2901 - what stands in it
        try:
            if line.startswith("# "):
                if scene is not None:
                    yield _whole(scene)
                language, _, topic = line[2:].strip().partition(" ")
                scene = Scene(language, topic)
            elif line:
                _add(scene, line)
        except UnreadableScene as error:
            raise UnreadableScene(f"{path.name}:{number}: {error}") from None
    if scene is not None:
        yield _whole(scene)


def _whole(scene: Scene) -> Scene:
    if len(scene.memories) < _FEWEST_MEMORIES:
        raise UnreadableScene(f"The scene before has only {len(scene.memories)} memories.")
    return scene


def _add(scene: Scene | None, line: str) -> None:
    if scene is None:
        raise UnreadableScene("A scene begins with '# language topic'.")
    if found := _MEMORY.fullmatch(line):
        id_, date, kind, text = found.groups()
        if id_ in scene.memories:
            raise UnreadableScene(f"{id_} is there already.")
        while mark := _MARK.search(text):
            sign, older = mark.groups()
            scene.relations.append(Relation(_known(scene, older), id_, RELATIONS[sign]))
            text = text[: mark.start()].rstrip()
        scene.memories[id_] = Memory(date, kind, text)
    elif found := _QUESTION.fullmatch(line):
        ids = _IDS.findall(found[1])
        stale, near = ([_known(scene, id_[1:]) for id_ in ids if id_[0] == sign] for sign in "!?")
        answers = [_known(scene, id_) for id_ in ids if id_[0] == "m"]
        scene.questions.append(Question(found[2], answers, stale, near))
    elif found := _CLAIM.fullmatch(line):
        sources = [_known(scene, id_) for id_ in _IDS.findall(found[2])]
        scene.claims.append(Claim(found[3], sources, found[1] == "t"))
    else:
        raise UnreadableScene(f"This is no line of a scene: {line[:60]}")


def _known(scene: Scene, id_: str) -> str:
    if id_ not in scene.memories:
        raise UnreadableScene(f"{id_} does not stand before.")
    return id_
