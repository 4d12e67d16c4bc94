"""Reads LoCoMo's ``locomo10.json``: a list of samples, each a conversation of two people and questions about it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from app.interfaces.cli.evaluation.dataset import in_form
from app.interfaces.cli.evaluation.records import PublishedForm, records

EXPECTED = "a JSON list of samples with sample_id, conversation (session_1, session_1_date_time, ...) and qa"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""What the numbers of the file stand for."""
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
"""A turn that a question names; some name several in one text, and some write ``D30:05`` or ``D:11:26``."""


class _Utterance(PublishedForm):
    speaker: str
    dia_id: str
    text: str = ""
    blip_caption: str | None = None


class _AskedOfBoth(PublishedForm):
    question: str
    category: int
    evidence: tuple[str, ...] = ()


class _Sample(PublishedForm):
    sample_id: str
    conversation: dict[str, Any]
    qa: tuple[_AskedOfBoth, ...]


_Utterances = TypeAdapter(tuple[_Utterance, ...])


def lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Make each sample into a conversation; raises ``DataInvalid``."""
    for place, record in records(file):
        yield place, _converted(_Sample.of(record, place), place)


def _converted(sample: _Sample, place: str) -> dict[str, Any]:
    turns = list(_turns(sample.conversation, place))
    known = {turn["id"] for turn in turns}
    return {
        "dataset": "locomo",
        "conv_id": sample.sample_id,
        "turns": turns,
        "questions": [
            {
                "qid": f"{sample.sample_id}/q{number}",
                "question": asked.question,
                "gold": [turn for turn in _named(asked.evidence) if turn in known],
                "category": CATEGORIES.get(asked.category, str(asked.category)),
            }
            for number, asked in enumerate(sample.qa)
        ],
    }


def _named(evidence: Sequence[str]) -> list[str]:
    found = (f"D{day}:{number.lstrip('0')}" for text in evidence for day, number in _EVIDENCE.findall(text))
    return list(dict.fromkeys(found))


def _turns(conversation: Mapping[str, Any], place: str) -> Iterator[dict[str, Any]]:
    """Give the turns that say or show something, in the order of their sessions."""
    numbers = sorted(int(match[1]) for name in conversation if (match := _SESSION.fullmatch(name)))
    if not numbers:
        with in_form(f"{place}.conversation"):
            raise ValueError("there is no session_1")
    for number in numbers:
        name = f"session_{number}"
        with in_form(f"{place}.conversation.{name}"):
            utterances = _Utterances.validate_python(conversation[name])
        date = conversation.get(f"{name}_date_time")
        for told in utterances:
            if told.text.strip() or told.blip_caption:
                text = {"text": told.text, "caption": told.blip_caption}
                yield {"id": told.dia_id, "speaker": told.speaker, "session": number, "date": date, **text}
