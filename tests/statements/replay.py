"""Replays labelled corrections: which texts are superseded by keys, and which a recall finds to be corrected."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from app.retrieval.channels.channel import ParsedQuery
from app.retrieval.newer.pairs import newer_values
from app.retrieval.pool import Candidate
from app.statements.rules import keys_asked, statements
from tests.retrieval.pools import candidate

CASES = Path(__file__).parent.parent / "data" / "corrections"


@dataclass(frozen=True)
class Outcome:
    """What the rules make of one case."""

    case: dict[str, Any]
    wanted: frozenset[int]
    superseded: frozenset[int]
    corrected: frozenset[int]
    """A recall of the question finds that a later one changed it."""
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

    @property
    def replaced(self) -> frozenset[int]:
        return self.superseded | self.corrected


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
    return Outcome(case, frozenset(case["superseded"]), superseded, corrected(case), bool(right), answered)


def corrected(case: dict[str, Any], *others: dict[str, Any]) -> frozenset[int]:
    """Return which statements of a case one of its own, or of others said later, corrects for its question."""
    said = case["statements"]
    own = sorted(range(len(said)), key=lambda place: (said[place]["at"], place))
    told = [(str(place), said[place]) for place in own]
    told += [(f"other {n}", other) for n, other in enumerate(one for each in others for one in each["statements"])]
    made = [_candidate(id_, statement, moment) for moment, (id_, statement) in enumerate(told)]
    changed = newer_values(ParsedQuery(case["question"]), made, {one.id: 1.0 for one in made})
    if others:
        changed = {older: [id_ for id_ in later if not id_.isdecimal()] for older, later in changed.items()}
    return frozenset(int(older) for older, later in changed.items() if later and older.isdecimal())


def _candidate(id_: str, statement: dict[str, Any], moment: int) -> Candidate:
    metadata = {"speaker": statement["role"]} if statement.get("role") else {}
    return candidate(id_, statement["text"], happened_at=moment, metadata=metadata)


def crossed(found: list[dict[str, Any]], others: int, seed: int = 1) -> Iterator[bool]:
    """Tell of each case, beside each of some others of its language, whether one of those corrects a text of it."""
    chosen = random.Random(seed)
    for case in found:
        alike = [one for one in found if one["language"] == case["language"] and one is not case]
        for other in chosen.sample(alike, others):
            yield bool(corrected(case, other))


def _replaced(claims: list[tuple[str, int, str]]) -> Iterator[int]:
    """Give the places of the claims that a later one with another value replaces."""
    ordered = sorted(claims, key=lambda claim: claim[:2])
    versions = [[claim[1] for claim in version] for _, version in groupby(ordered, key=lambda claim: claim[2])]
    for version in versions[:-1]:
        yield from version


def table(found: Iterable[Outcome]) -> str:
    """Return the figures by kind, language and voice: what each way finds, alone and together, and what falsely."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in found:
        voice = [f"voice {each.case['voice']}"] if "voice" in each.case else []
        for row in (each.case["kind"], each.case["language"], *voice, "all"):
            counts[row, "labelled"] += len(each.wanted)
            for way, places in (("keys", each.superseded), ("recall", each.corrected), ("both", each.replaced)):
                counts[row, way] += len(places & each.wanted)
                counts[row, f"{way} false"] += len(places - each.wanted)
            counts[row, "texts"] += len(each.case["statements"])
    rows = sorted({row for row, _ in counts})
    ways = ("keys", "recall", "both")
    lines = (
        f"{row:15}of {counts[row, 'labelled']:3}: "
        + ", ".join(f"{way} {counts[row, way]:3}" for way in ways)
        + f"; false of {counts[row, 'texts'] - counts[row, 'labelled']:3}: "
        + ", ".join(f"{way} {counts[row, f'{way} false']:2}" for way in ways)
        for row in rows
    )
    return "\n".join(("", *lines))
