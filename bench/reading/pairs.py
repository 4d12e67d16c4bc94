"""Pairs of statements: whether the newer one comes first where it has to, and nothing is hidden that holds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.reading.asking import Asked, Asking, Told

_DATA = Path(__file__).parent / "data"
_EARLIER, _LATER = "2026-01-12", "2026-03-20"


async def measure(asking: Asking) -> list[tuple[str, int, int]]:
    """Return rows of a figure, how many pairs it is true of, and of how many."""
    updates, both = _read("updates"), _read("both_hold")
    for kind, pairs in (("update", updates), ("both", both)):
        await asking.tell([one for number, pair in enumerate(pairs) for one in _told(f"{kind}-{number}", pair)])
    rows = []
    answers = await asking.ask([Asked(f"update-{number}", pair["question"]) for number, pair in enumerate(updates)])
    for words in ("same", "other"):
        chosen = [(pair, answer) for pair, answer in zip(updates, answers, strict=True) if pair["words"] == words]
        first = sum(answer.place([pair["newer"]]) < answer.place([pair["older"]]) for pair, answer in chosen)
        hidden = sum(pair["older"] not in answer.texts for pair, answer in chosen)
        rows += [
            (f"updates in the {words} words: newer first", first, len(chosen)),
            (f"updates in the {words} words: older not returned", hidden, len(chosen)),
        ]
    answers = await asking.ask([Asked(f"both-{number}", pair["question_older"]) for number, pair in enumerate(both)])
    found = list(zip(both, answers, strict=True))
    rows += [
        ("pairs that both hold: one hidden", sum(not _both(pair, answer.texts) for pair, answer in found), len(found)),
        (
            "pairs that both hold: what is asked for first",
            sum(answer.place([pair["older"]]) == 0 for pair, answer in found),
            len(found),
        ),
    ]
    return rows


def _both(pair: dict[str, Any], texts: Sequence[str]) -> bool:
    return pair["older"] in texts and pair["newer"] in texts


def _told(agent: str, pair: dict[str, Any]) -> list[Told]:
    return [Told(agent, pair["older"], _EARLIER), Told(agent, pair["newer"], _LATER)]


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / f"{name}.jsonl").read_text("utf-8").splitlines() if line.strip()]
