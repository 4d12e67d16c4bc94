"""Pairs of statements: whether the newer one comes first where it has to, and nothing is hidden that holds."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bench.reading.asking import Answer, Asked, Asking, Told
from bench.reading.figure import Figure, share

DATA = Path(__file__).parent / "data"
_WRITERS = (1, 2)
_EARLIER, _LATER = "2026-01-12", "2026-03-20"
_Asked = Sequence[tuple[dict[str, Any], Answer]]


async def measure(asking: Asking, few: int | None) -> list[Figure]:
    """Return the figures of updates, by their words, and of pairs that both hold, by why they do."""
    updates, both = read("updates")[:few], read("both_hold")[:few]
    await asking.tell(
        [
            one
            for kind, pairs in (("update", updates), ("both", both))
            for number, pair in enumerate(pairs)
            for one in _told(f"{kind}-{number}", pair)
        ]
    )
    answers = await asking.ask([Asked(f"update-{number}", pair["question"]) for number, pair in enumerate(updates)])
    figures = _updates(list(zip(updates, answers, strict=True)))
    answers = await asking.ask([Asked(f"both-{number}", pair["question_older"]) for number, pair in enumerate(both)])
    return [*figures, *_both_hold(list(zip(both, answers, strict=True))), asking.degraded()]


def read(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of data; ``data/ORIGIN.md`` says what they have."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines() if line.strip()]


def _updates(asked: _Asked) -> list[Figure]:
    figures = []
    for writer, words in product(_WRITERS, ("same", "other")):
        chosen = [(pair, answer) for pair, answer in asked if (pair["writer"], pair["words"]) == (writer, words)]
        first = sum(answer.place([pair["newer"]]) < answer.place([pair["older"]]) for pair, answer in chosen)
        hidden = sum(pair["older"] not in answer.texts for pair, answer in chosen)
        figures += [
            share(f"updates of writer {writer} in the {words} words: newer first", first, len(chosen)),
            share(f"updates of writer {writer} in the {words} words: older not returned", hidden, len(chosen)),
        ]
    return figures


def _both_hold(asked: _Asked) -> list[Figure]:
    figures = []
    for writer in _WRITERS:
        chosen = [(pair, answer) for pair, answer in asked if pair["writer"] == writer]
        first = sum(answer.place([pair["older"]]) == 0 for pair, answer in chosen)
        figures += [
            share(f"pairs of writer {writer} that both hold: one hidden", _hidden(chosen), len(chosen)),
            share(f"pairs of writer {writer} that both hold: what is asked for first", first, len(chosen)),
        ]
    for why in sorted({pair["why"] for pair, _ in asked}):
        chosen = [(pair, answer) for pair, answer in asked if pair["why"] == why]
        figures.append(share(f"pairs that both hold, {why}: one hidden", _hidden(chosen), len(chosen)))
    return figures


def _hidden(asked: _Asked) -> int:
    """Return of how many pairs one of the two is not returned."""
    return sum(not {pair["older"], pair["newer"]} <= set(answer.texts) for pair, answer in asked)


def _told(agent: str, pair: dict[str, Any]) -> list[Told]:
    return [Told(agent, pair["older"], _EARLIER), Told(agent, pair["newer"], _LATER)]
