"""Stores as large as somebody's who has used a service for long: what is asked about, among other memories."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from bench.quality.dataset import Conversation, DataInvalid, Memory, Question
from training.reader.scenes import TRAINING, read_scenes

_FILES = "en-*01.txt"
_SEED = 0


def neighbours(count: int, folder: Path = TRAINING) -> list[Memory]:
    """Return so many memories that have nothing to do with any question, always the same ones in the same order.

    Raises:
        DataInvalid: there are not so many.
    """
    scenes = read_scenes(sorted(folder.glob(_FILES)))
    texts = list(dict.fromkeys(memory.text for scene in scenes for memory in scene.memories.values()))
    if count > len(texts):
        raise DataInvalid(f"there are {len(texts)} neighbours, and not {count}")
    Random(_SEED).shuffle(texts)
    return [Memory(f"neighbour/{number}", text, None, None) for number, text in enumerate(texts[:count])]


def asked(conversations: Sequence[Conversation], most: int | None = None) -> list[Conversation]:
    """Keep the questions that have evidence: all, or at most so many of each data set, always the same ones.

    Raises:
        DataInvalid: no question has evidence.
    """
    kept: set[tuple[str, str]] = set()
    for group in _by_dataset(conversations):
        names = [(one.conv_id, question.qid) for one in group for question in one.questions if question.gold]
        kept.update(names if most is None or most >= len(names) else Random(_SEED).sample(names, most))
    if not kept:
        raise DataInvalid("no question has evidence")
    return [
        replace(one, questions=tuple(question for question in one.questions if (one.conv_id, question.qid) in kept))
        for one in conversations
    ]


def sized(conversations: Sequence[Conversation], others: Sequence[Memory]) -> list[Conversation]:
    """Return the stores of one size: the others first, then what is asked about.

    Without others each conversation is a store. Beside others the conversations of a data set without any session,
    which are small, are one store. A store that is asked nothing is left out.
    """
    if not others:
        return [one for one in conversations if one.questions]
    stores = []
    for group in _by_dataset(conversations):
        single = not any(one.sessions for one in group)
        stores += [together(group)] if single else group
    return [beside(others, one) for one in stores if one.questions]


def together(conversations: Sequence[Conversation]) -> Conversation:
    """Put conversations of a data set into one, told one after the other; a turn's id begins with its conversation."""
    first = conversations[0]
    memories: list[Memory] = []
    questions: list[Question] = []
    for one in conversations:
        questions += [_moved(question, f"{one.conv_id}/", len(memories)) for question in one.questions]
        memories += [replace(memory, turn_id=f"{one.conv_id}/{memory.turn_id}") for memory in one.memories]
    return Conversation(
        dataset=first.dataset,
        conv_id=f"{first.dataset}, together",
        memories=tuple(memories),
        questions=tuple(questions),
        cut=sum(one.cut for one in conversations),
        repeated=sum(one.repeated for one in conversations),
    )


def beside(others: Sequence[Memory], conversation: Conversation) -> Conversation:
    """Put other memories before a conversation's own."""
    questions = tuple(_moved(question, "", len(others)) for question in conversation.questions)
    return replace(conversation, memories=(*others, *conversation.memories), questions=questions)


def _moved(question: Question, prefix: str, behind: int) -> Question:
    """Return the question of a conversation that is told behind so many memories, with its turns renamed."""
    return replace(
        question,
        qid=f"{prefix}{question.qid}",
        gold=frozenset(f"{prefix}{turn}" for turn in question.gold),
        stated=tuple(f"{prefix}{turn}" for turn in question.stated),
        told=None if question.told is None else question.told + behind,
    )


def _by_dataset(conversations: Sequence[Conversation]) -> Iterator[list[Conversation]]:
    for name in dict.fromkeys(one.dataset for one in conversations):
        yield [one for one in conversations if one.dataset == name]
