"""The labelled questions that the weights are fitted to: the project's own, and conversations that are given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.quality.bar.stores import beside, neighbours, together
from bench.quality.dataset import Conversation, Memory, Question, read
from training.reader.measuring import divided
from training.reader.scenes import TRAINING, Scene, read_scenes

NOTES: Final = Path(__file__).parent / "notes"
_QUALITY: Final = Path(__file__).parents[2] / "bench" / "quality"
_MIXED: Final = _QUALITY / "mixed" / "mixed.jsonl"
_ASSISTANT: Final = _QUALITY / "everyday" / "agent-open.jsonl"
_EVERYDAY: Final = _QUALITY / "everyday" / "everyday-open.jsonl"
_SIZES: Final = (200, 2_000)
_EACH = 4
"""One of so many scenes is asked."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Stores that are asked, and what the set counts beside others: all of its questions together."""

    name: str
    stores: Sequence[Conversation]
    foreign: Sequence[str]
    """Questions of other sets: nothing answers them."""
    weight: float


def sets(conversations: Sequence[Path]) -> Iterator[LabelledSet]:
    """Give the project's own sets, and each file of conversations that is given.

    Notes and scenes are asked each alone and together: what counts is to hold in small stores and in large ones.
    """
    notes, assistant = read([NOTES]), read([_ASSISTANT])
    yield from _small_and_large("notes", notes, _asked_of(assistant), 0.5)
    yield from _small_and_large("assistant", assistant, _asked_of(notes), 0.23)
    yield from _small_and_large("everyday", read([_EVERYDAY]), _asked_of(notes), 0.15)
    scenes = [_store_of(scene, number) for number, scene in enumerate(read_scenes(divided(TRAINING)[1])[::_EACH])]
    yield LabelledSet("scenes", scenes, [], 0.5)
    for language in sorted({store.dataset for store in scenes}):
        alone = [store for store in scenes if store.dataset == language]
        yield LabelledSet(f"scenes in {language}", [together(alone)], _asked_of(notes), 0.5 * len(alone) / len(scenes))
    for file in (_MIXED, *conversations):
        yield LabelledSet(file.stem, read([file]), _asked_of(notes), 1.0)


def _small_and_large(
    name: str, stores: Sequence[Conversation], foreign: Sequence[str], weight: float
) -> Iterator[LabelledSet]:
    yield LabelledSet(name, stores, foreign, weight)
    for size in _SIZES:
        yield LabelledSet(f"{name}, {size}", [beside(neighbours(size), together(stores))], foreign, weight)


def _store_of(scene: Scene, number: int) -> Conversation:
    """Make a store of a scene that thresholds are set with, and not the reader's weights."""
    memories = tuple(
        Memory(name, memory.text, None, f"{memory.date}T09:00:00Z") for name, memory in scene.memories.items()
    )
    questions = tuple(
        Question(str(number), each.text, frozenset(each.answers), "scene", stated=(*each.stale, *each.answers))
        for number, each in enumerate(scene.questions)
    )
    return Conversation(scene.language, f"scene {number}", memories, questions, cut=0, repeated=0)


def _asked_of(stores: Sequence[Conversation]) -> Sequence[str]:
    return [question.text for store in stores for question in store.questions if question.gold]
