"""Asks a model whether proposals are what their messages say, by eight checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from app.domain.learned import Proposal
from app.services.learning.request import Request, asked, clipped_schema, fenced
from app.services.learning.sifting import whats_wrong
from app.services.learning.transcript import Line, transcript

Check: TypeAlias = Literal["entity", "object", "place", "time", "organisation", "completeness", "relation", "supported"]
AT_ONCE = 20
"""Proposals that one call verifies at most."""
MAX_TOKENS = 2_500


@dataclass(frozen=True, slots=True)
class Correction:
    """What a proposal has to say instead."""

    memory: int
    check: Check
    statement: Annotated[str, Field(max_length=1_200)]


@dataclass(frozen=True, slots=True)
class Drop:
    """A proposal that its messages do not support."""

    memory: int
    check: Check
    reason: Annotated[str, Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class Verified:
    """The answer of the stage ``verify``: the number of each proposal stands in one of the lists."""

    passed: Annotated[list[int], Field(max_length=AT_ONCE)]
    corrected: Annotated[list[Correction], Field(max_length=AT_ONCE)]
    dropped: Annotated[list[Drop], Field(max_length=AT_ONCE)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a proposal."""

    kind: Literal["pass", "correct", "drop"]
    content: str
    """What it says from now on; of one that is dropped, what it said."""
    check: Check | None
    """The check that it did not pass."""
    reason: str
    """Why it was corrected or dropped; "" where it passed."""


_FORM = clipped_schema("verify", Verified)


def verification(proposals: Sequence[Proposal], lines: Sequence[Line], mark: str) -> Request[Verified]:
    """Return what a model is asked of proposals, at most ``AT_ONCE``, beside the lines that they cite."""
    numbers = {line.message_id: line.number for line in lines}
    memories = "\n".join(
        f"({place}) from {[numbers[id_] for id_ in each.message_ids if id_ in numbers]}: {each.content}"
        for place, each in enumerate(proposals, 1)
    )
    return Request(
        asked("verify", mark, transcript(lines, mark), fenced("memories", memories, mark)),
        _FORM,
        "verify",
        MAX_TOKENS,
    )


def verdicts(verified: Verified, proposals: Sequence[Proposal]) -> list[Verdict]:
    """Return a verdict for each proposal, in their order; one of which nothing is said is dropped.

    Of several verdicts on one the strictest counts.
    """
    dropped = {each.memory: each for each in verified.dropped}
    corrected = {each.memory: each for each in verified.corrected}
    found = []
    for number, proposal in enumerate(proposals, 1):
        if number in dropped:
            drop = dropped[number]
            found.append(Verdict("drop", proposal.content, drop.check, " ".join(drop.reason.split()) or drop.check))
        elif number in corrected:
            found.append(_corrected(corrected[number], proposal))
        elif number in verified.passed:
            found.append(Verdict("pass", proposal.content, None, ""))
        else:
            found.append(Verdict("drop", proposal.content, "supported", "The verification does not mention it."))
    return found


def _corrected(correction: Correction, proposal: Proposal) -> Verdict:
    content = " ".join(correction.statement.split())
    wrong = whats_wrong(content, ())
    if wrong:
        return Verdict("drop", proposal.content, correction.check, f"Its correction is none. {wrong}")
    return Verdict("correct", content, correction.check, f"corrected: {correction.check}")
