"""Replays labelled corrections: which texts are superseded by keys."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from app.statements.rules import keys_asked, statements

CASES = Path(__file__).parent.parent / "data" / "corrections"


@dataclass(frozen=True)
class Outcome:
    """What the rules make of one case."""

    case: dict[str, Any]
    wanted: frozenset[int]
    superseded: frozenset[int]
    keyed: bool
    """The rules find a key in the text that answers the question."""
    answered: bool
    """The question asks for this key."""

    @property
    def false(self) -> frozenset[int]:
        return self.superseded - self.wanted

    @property
    def caught(self) -> frozenset[int]:
        return self.superseded & self.wanted


def outcomes(path: Path = CASES / "open.jsonl") -> list[Outcome]:
    return [outcome(case) for case in cases(path)]


def cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def outcome(case: dict[str, Any]) -> Outcome:
    """Replay a case: of the versions of a key in order of time, all but the last are superseded."""
    claims: dict[str, list[tuple[str, int, str]]] = {}
    keys: dict[int, set[str]] = {}
    for place, said in enumerate(case["statements"]):
        for statement in statements(said["text"], said.get("role")):
            if statement.key is not None and statement.value is not None:
                claims.setdefault(statement.key, []).append((said["at"], place, statement.value))
                keys.setdefault(place, set()).add(statement.key)
    superseded = frozenset(place for each in claims.values() for place in _replaced(each))
    right = keys.get(case["right"], set())
    answered = bool(right & set(keys_asked(case["question"])))
    return Outcome(case, frozenset(case["superseded"]), superseded, bool(right), answered)


def _replaced(claims: list[tuple[str, int, str]]) -> Iterator[int]:
    """Give the places of the claims that a later one with another value replaces."""
    ordered = sorted(claims, key=lambda claim: claim[:2])
    versions = [[claim[1] for claim in version] for _, version in groupby(ordered, key=lambda claim: claim[2])]
    for version in versions[:-1]:
        yield from version


def table(found: Iterable[Outcome]) -> str:
    """Return the figures by kind, language and voice: what the keys supersede, and what falsely."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in found:
        voice = [f"voice {each.case['voice']}"] if "voice" in each.case else []
        for row in (each.case["kind"], each.case["language"], *voice, "all"):
            counts[row, "labelled"] += len(each.wanted)
            counts[row, "caught"] += len(each.caught)
            counts[row, "false"] += len(each.false)
            counts[row, "texts"] += len(each.case["statements"])
    rows = sorted({row for row, _ in counts})
    lines = (
        f"{row:15}{counts[row, 'caught']:3} of {counts[row, 'labelled']:3}; "
        f"false {counts[row, 'false']:2} of {counts[row, 'texts'] - counts[row, 'labelled']:3}"
        for row in rows
    )
    return "\n".join(("", *lines))
