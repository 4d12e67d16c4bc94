"""Asks a model whether messages support the proposals that cite them, by eight checks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from app.domain.learned import Proposal
from app.services.learning.sifting import one_line, whats_wrong
from app.services.learning.transcript import TranscriptLine, excerpts, transcript
from app.services.models.request import ModelRequest, asked, fenced, request

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
class ProposalVerdict:
    """The verdict on a proposal."""

    kind: Literal["pass", "correct", "drop"]
    content: str
    """The text of the proposal from now on; of a dropped proposal, its text before."""
    check: Check | None
    """The check that the proposal did not pass, or None."""
    reason: str
    """Why the proposal was corrected or dropped; "" where it passed."""


def verification(proposals: Sequence[Proposal], lines: Sequence[TranscriptLine], mark: str) -> ModelRequest[Verified]:
    """Return the request that verifies proposals, at most ``AT_ONCE``, beside their messages.

    ``lines`` may be more than the proposals cite, of several passes, and parts of messages: they are numbered anew. Of
    lines that are too long to be read at once, the sentences that have words of the proposals are shown.

    Raises:
        ValueError: there are too many proposals, which is a defect.
    """
    if len(proposals) > AT_ONCE:
        raise ValueError(f"{AT_ONCE} proposals are verified at once.")
    numbers: dict[str, int] = {}
    for line in lines:
        numbers.setdefault(line.message_id, len(numbers) + 1)
    cited = {id_ for proposal in proposals for id_ in proposal.message_ids}
    shown = [replace(line, number=numbers[line.message_id]) for line in lines]
    memories = "\n".join(
        f"({place}) from {[numbers[id_] for id_ in each.message_ids if id_ in numbers]}: {each.content}"
        for place, each in enumerate(proposals, 1)
    )
    read = transcript(excerpts(shown, cited, [proposal.content for proposal in proposals]), mark)
    return request("verify", Verified, MAX_TOKENS, asked("verify", mark, read, fenced("memories", memories, mark)))


def verdicts(verified: Verified, proposals: Sequence[Proposal]) -> list[ProposalVerdict]:
    """Return a verdict for each proposal, in their order; a proposal that the answer leaves out is dropped.

    Of several verdicts on a proposal the strictest counts.
    """
    dropped = {each.memory: each for each in verified.dropped}
    corrected = {each.memory: each for each in verified.corrected}
    found = []
    for number, proposal in enumerate(proposals, 1):
        if number in dropped:
            drop = dropped[number]
            found.append(_drop(proposal, drop.check, one_line(drop.reason)))
        elif number in corrected:
            found.append(_corrected(corrected[number], proposal))
        elif number in verified.passed:
            found.append(ProposalVerdict("pass", proposal.content, None, ""))
        else:
            found.append(_drop(proposal, "supported", "The verification says nothing of it."))
    return found


def _corrected(correction: Correction, proposal: Proposal) -> ProposalVerdict:
    content = one_line(correction.statement)
    if content == proposal.content:
        return ProposalVerdict("pass", content, None, "")
    if wrong := whats_wrong(content, [proposal.content]):
        return _drop(proposal, correction.check, f"What it was corrected to is no memory. {wrong}")
    return ProposalVerdict("correct", content, correction.check, "corrected")


def _drop(proposal: Proposal, check: Check, reason: str) -> ProposalVerdict:
    return ProposalVerdict("drop", proposal.content, check, reason or "not so")
