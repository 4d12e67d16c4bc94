"""Facts of which a later one contradicts an earlier one: whether the latest comes first (FactConsolidation).

The file is MemoryAgentBench's task of conflict resolution as JSON lines, facts in the order in which they are said
and then questions:

    {"kind": "fact", "id": 0, "text": "..."}
    {"kind": "query", "query": "...", "gold": [310], "stale": [223]}

``gold`` names the fact that holds, ``stale`` its rivals: facts that said otherwise before.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.reading.asking import Asked, Asking, Told
from bench.reading.figure import Figure, share

_AGENT = "facts"


Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


async def measure(asking: Asking, lines: Sequence[Line], few: int | None) -> list[Figure]:
    """Tell an agent all facts in their order, and ask the questions of which the fact that holds is known."""
    facts = {line["id"]: line["text"] for line in lines if line["kind"] == "fact"}
    asked = [line for line in lines if line["kind"] == "query" and line["gold"]][:few]
    await asking.tell([Told(_AGENT, text) for text in facts.values()])
    answers = await asking.ask([Asked(_AGENT, line["query"]) for line in asked])
    found = [
        ([facts[id_] for id_ in line["gold"]], [facts[id_] for id_ in line["stale"]], answer)
        for line, answer in zip(asked, answers, strict=True)
    ]
    rivals = [(answer.place(gold), answer.place(stale), answer) for gold, stale, answer in found if stale]
    single = [answer.place(gold) for gold, stale, answer in found if not stale]
    return [
        share("with a rival: the latest before it", sum(gold < stale for gold, stale, _ in rivals), len(rivals)),
        share("with a rival: the latest first of all", sum(gold == 0 for gold, _, _ in rivals), len(rivals)),
        share("with a rival: it is not returned", sum(stale > len(one.texts) for _, stale, one in rivals), len(rivals)),
        share("without a rival: first of all", sum(gold == 0 for gold in single), len(single)),
        asking.degraded(),
    ]
