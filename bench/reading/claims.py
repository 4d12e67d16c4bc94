"""Claims of a language model: how many that follow from their lines are dropped, and how many that do not pass."""

from collections.abc import Sequence
from typing import Any

from app.grounding import Checker, Source
from app.ports.reader import Reader
from app.services.models.grounding import CitedStatement, checked, decided
from app.services.models.reader import TenantReader
from app.services.turns.shares import Shares
from bench.reading.figure import Figure, share
from bench.reading.pairs import read

_SPEAKER = "user"
_SECONDS = 60.0


async def measure(reader: Reader | None) -> list[Figure]:
    """Ground all claims as an ingestion does, and return the figures, of the false ones by how they differ."""
    lines = read("claims")
    claims = [CitedStatement(line["claim"], [Source(line["source"], None, _SPEAKER)]) for line in lines]
    found = checked(claims, Checker())
    asked = None if reader is None else TenantReader("", reader, Shares(1), _SECONDS)
    objections = await decided(claims, found, asked)
    grounded = [(line, not objection) for line, objection in zip(lines, objections, strict=True)]
    rejected = [(line, bool(check.ungrounded)) for line, check in zip(lines, found, strict=True)]
    return [*_true(grounded, rejected), *_false(grounded, rejected)]


_Judged = Sequence[tuple[dict[str, Any], bool]]


def _true(grounded: _Judged, rejected: _Judged) -> list[Figure]:
    dropped = [not passes for line, passes in grounded if line["follows"]]
    by_code = sum(wrong for line, wrong in rejected if line["follows"])
    return [
        share("free paraphrases dropped", sum(dropped), len(dropped)),
        share("free paraphrases dropped by a guard", by_code, len(dropped)),
    ]


def _false(grounded: _Judged, rejected: _Judged) -> list[Figure]:
    passed = [(line["differs"], passes) for line, passes in grounded if not line["follows"]]
    by_code = sum(wrong for line, wrong in rejected if not line["follows"])
    kinds = dict.fromkeys(differs for differs, _ in passed)
    return [
        share("false claims passed", sum(passes for _, passes in passed), len(passed)),
        share("false claims dropped by a guard", by_code, len(passed)),
        *(
            share(
                f"false in {kind}: passed",
                sum(passes for differs, passes in passed if differs == kind),
                sum(differs == kind for differs, _ in passed),
            )
            for kind in kinds
        ),
    ]
