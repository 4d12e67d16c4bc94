"""Turns RealMem's working dialogues into this package's form of data: ``python -m bench.quality.realmem FILE...``.

A file is one person's: JSON lines of the kinds ``turn`` and ``query``. A query is a whole message of a later session,
and is asked before the first turn of that session, so against nothing but what came before.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DATASET = "realmem"


def converted(lines: Iterable[str], conv_id: str) -> dict[str, Any]:
    """Make the lines of a file into one conversation."""
    rows = [json.loads(line) for line in lines if line.strip()]
    turns = [row for row in rows if row["kind"] == "turn"]
    first: dict[str, str] = {}
    for turn in turns:
        first.setdefault(turn["session"], turn["id"])
    return {
        "dataset": DATASET,
        "conv_id": conv_id,
        "turns": [_turn(turn) for turn in turns],
        "questions": [_question(row, first[row["asked_in"]]) for row in rows if row["kind"] == "query"],
    }


def main() -> None:
    """Write a line for each file that is named."""
    for path in map(Path, sys.argv[1:]):
        with path.open(encoding="utf-8") as lines:
            print(json.dumps(converted(lines, path.stem), ensure_ascii=False))


def _turn(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "speaker": row["speaker"],
        "session": row["session"],
        "date": row["day"],
        "text": row["content"],
    }


def _question(row: dict[str, Any], before: str) -> dict[str, Any]:
    return {
        "qid": row["id"],
        "question": row["query"],
        "gold": row["evidence_turns"],
        "sessions": row["evidence_sessions"],
        "category": row["category"],
        "before": before,
    }


if __name__ == "__main__":
    main()
