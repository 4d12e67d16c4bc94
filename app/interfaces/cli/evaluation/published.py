"""The published sets that are measured, each read as it is published or as bench/quality has it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from app.interfaces.cli.evaluation import beam, factconsolidation, locomo, longmemeval, realmem
from app.interfaces.cli.evaluation.dataset import DataInvalid, SetConversation, SetQuestion, conversation
from app.interfaces.cli.evaluation.records import records

Lines = Callable[[Path], Iterator[tuple[str, Mapping[str, Any]]]]


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of conversations and questions that somebody has published."""

    lines: Lines
    """Gives the conversations of a file, in the form of bench/quality, each with its place."""
    expected: str
    """What a file of it is."""


SETS: Mapping[str, PublishedSet] = {
    "longmemeval": PublishedSet(longmemeval.lines, longmemeval.EXPECTED),
    "locomo": PublishedSet(locomo.lines, locomo.EXPECTED),
    "beam": PublishedSet(beam.lines, beam.EXPECTED),
    "factconsolidation": PublishedSet(factconsolidation.lines, factconsolidation.EXPECTED),
    "realmem": PublishedSet(realmem.lines, realmem.EXPECTED),
}


def read_set(name: str, files: Sequence[Path], most: int | None = None) -> list[SetConversation]:
    """Read the conversations of files, the first ``most`` of all.

    Raises:
        DataInvalid: a file has another form, a conversation comes twice, or there is none; the message names the file,
            the line or the path in it, and what was expected.
    """
    try:
        found = list(islice(_conversations(name, files), most))
    except DataInvalid as error:
        raise DataInvalid(
            f"{error}. Expected of --set {name}: {SETS[name].expected}; or lines of bench/quality's form."
        ) from error
    ids = [each.conv_id for each in found]
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise DataInvalid(f"The conversation {twice!r} is there twice.")
    return found


def drawn_questions(conversations: Sequence[SetConversation], most: int) -> list[SetConversation]:
    """Keep ``most`` of the questions that have evidence, drawn of all conversations, always the same."""
    asked = [(each.conv_id, one.qid) for each in conversations for one in each.questions if has_evidence(one)]
    kept = set(Random(most).sample(asked, min(most, len(asked))))  # noqa: S311 - a draw, and no secret
    chosen = []
    for each in conversations:
        questions = tuple(one for one in each.questions if (each.conv_id, one.qid) in kept)
        if questions:
            chosen.append(replace(each, questions=questions))
    return chosen


def has_evidence(question: SetQuestion) -> bool:
    """Whether the set says where the answer is."""
    return bool(question.gold or question.sessions)


def _conversations(name: str, files: Sequence[Path]) -> Iterator[SetConversation]:
    for file in files:
        normal = file.is_file() and _is_normal(file)
        for place, line in records(file) if normal else SETS[name].lines(file):
            yield conversation(line, place, name)


def _is_normal(file: Path) -> bool:
    """Whether a file has the form of bench/quality: its first line is a conversation with turns."""
    with file.open("rb") as content:
        if content.read(1) != b"{":
            return False
        content.seek(0)
        try:
            first = json.loads(content.readline())
        except ValueError:
            return False
    return isinstance(first, dict) and {"conv_id", "turns"} <= first.keys()
