"""Dialogues with an assistant over weeks: whether what a message needs is found in what was said before it.

A file has one dialogue as JSON lines, in the order in which it was held:

    {"kind": "turn", "id": "a:0", "session": "a", "day": "2025-12-15", "speaker": "User", "content": "...",
     "is_query": true}
    {"kind": "query", "asked_in": "a", "query": "...", "category": "...", "evidence_turns": ["..."]}

A query is a turn with ``is_query``. It is asked before that turn is stored.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.domain.limits import CONTENT_BYTES
from bench.reading.asking import Asked, Asking, Told
from bench.reading.figure import Figure, share

Line = dict[str, Any]
Dialogue = Sequence[Line]
_ALL = "all"
_FIRST = 5
_PAUSE = 1


def read(path: Path) -> Dialogue:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


async def measure(asking: Asking, dialogues: Sequence[Dialogue], few: int | None) -> list[Figure]:
    """Hold the dialogues, one after the other, each with an agent of its own, and count the evidence found."""
    shares: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for number, dialogue in enumerate(dialogues):
        for category, found in await _hold(asking, f"dialogue-{number}", dialogue, few):
            for name in (_ALL, category):
                shares[name].append(found)
    figures = [
        share(f"{name}: evidence among the first {most}", sum(found[place] for found in counted), len(counted))
        for name, counted in shares.items()
        for place, most in enumerate((_FIRST, 10))
    ]
    return [*figures, asking.degraded()]


async def _hold(
    asking: Asking, agent: str, dialogue: Dialogue, few: int | None
) -> list[tuple[str, tuple[float, float]]]:
    queries = {(line["asked_in"], line["query"]): line for line in dialogue if line["kind"] == "query"}
    turns = [line for line in dialogue if line["kind"] == "turn"]
    texts = {turn["id"]: _text(turn) for turn in turns}
    found: list[tuple[str, tuple[float, float]]] = []
    waiting: list[Told] = []
    for turn in turns:
        query = queries.get((turn["session"], turn["content"])) if turn["is_query"] else None
        if query is not None and query["evidence_turns"]:
            await asking.tell(waiting, windows=_PAUSE)
            waiting = []
            (answer,) = await asking.ask([Asked(agent, _cut(query["query"]))])
            wanted = {texts[id_] for id_ in query["evidence_turns"]}
            first, ten = (len(wanted & set(answer.texts[:most])) / len(wanted) for most in (_FIRST, None))
            found.append((query["category"], (first, ten)))
            if few is not None and len(found) >= few:
                break
        waiting.append(Told(agent, texts[turn["id"]], turn["day"], turn["session"]))
    return found


def _text(turn: Line) -> str:
    return _cut(f"{turn['speaker']}: {turn['content']}")


def _cut(text: str) -> str:
    """Return as much of a text as a memory may have."""
    return text.encode()[:CONTENT_BYTES].decode(errors="ignore")
