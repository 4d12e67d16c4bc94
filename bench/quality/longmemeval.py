"""Turns LongMemEval's files into this package's form of data: ``python -m bench.quality.longmemeval FILE...``.

A file is a JSON list of instances: a question, and the history of sessions that it is asked of
(https://github.com/xiaowu0162/LongMemEval). Each instance becomes a conversation with one question. Those whose id ends
with ``_abs`` have no answer. An instance that marks no turn as its evidence is left out and named.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DATASET = "longmemeval"
_ABSTAINED = "_abs"


def converted(instance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make an instance into a conversation; None where it does not say which turns answer."""
    turns = list(_turns(instance))
    answered = not instance["question_id"].endswith(_ABSTAINED)
    gold = [turn["id"] for turn, answers in turns if answers and answered]
    if answered and not gold:
        return None
    question = {
        "qid": instance["question_id"],
        "question": instance["question"],
        "gold": gold,
        "sessions": sorted(instance["answer_session_ids"]) if answered else [],
        "category": instance["question_type"] if answered else "abstention",
    }
    return {
        "dataset": DATASET,
        "conv_id": instance["question_id"],
        "asked_at": instance["question_date"],
        "turns": [turn for turn, _ in turns],
        "questions": [question],
    }


def _turns(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Give the turns that say something, in the order of the sessions, and whether each is evidence."""
    named = zip(
        instance["haystack_session_ids"], instance["haystack_dates"], instance["haystack_sessions"], strict=True
    )
    for place, (session, date, turns) in enumerate(named):
        for number, turn in enumerate(turns):
            if turn["content"].strip():
                told = {"speaker": turn["role"], "session": session, "date": date, "text": turn["content"]}
                yield {"id": f"{place}:{number}", **told}, bool(turn.get("has_answer"))


def main() -> None:
    """Write a line for each instance of the files that are named."""
    for path in map(Path, sys.argv[1:]):
        for instance in json.loads(path.read_text("utf-8")):
            conversation = converted(instance)
            if conversation is None:
                print(f"{instance['question_id']} marks no turn as its evidence: left out", file=sys.stderr)
            else:
                print(json.dumps(conversation, ensure_ascii=False))


if __name__ == "__main__":
    main()
