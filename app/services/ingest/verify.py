"""The stage in which a language model checks proposals against their messages; its corrections are checked again."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.errors import QuotaExceeded, Unavailable
from app.domain.learned import Pass
from app.domain.messages import Message
from app.services.ingest.at_once import for_each
from app.services.ingest.grounded import Grounding, following
from app.services.ingest.remembered import remembered
from app.services.ingest.work import IngestionWork
from app.services.learning import verifying
from app.services.learning.merging import alike, merge
from app.services.learning.transcript import excerpts, numbered
from app.services.learning.verifying import ProposalVerdict, verdicts, verification
from app.services.models.model_calls import ModelCalls
from app.services.models.reader import TenantReader
from app.storage.learning import KeptProposal, kept_proposals

_CHARACTERS_AT_ONCE = 40_000
"""Characters of the messages that the proposals of one call cite together; a single proposal may cite more."""
_SAID_ALREADY = "Another proposal says the same."
_GONE = "A message that it cites is gone."


class Verify:
    """Has the proposals of an ingestion verified, group by group. Implements ``Stage``."""

    async def run(self, work: IngestionWork) -> None:
        """Verify the proposals; where the model does not answer, a batch has failed and the others go on."""
        if not work.learns:
            return
        (rows,) = await work.run([work.learning.groups()])

        async def verify(group: int) -> None:
            if work.model.away is None:
                await _verify(work, group)

        await for_each([int(row["group"] or 0) for row in rows], verify)
        if rows and work.model.away is not None:
            await work.run([work.learning.fail("proposed", work.model.away.code)])


async def _verify(work: IngestionWork, group: int) -> None:
    work.check_held()
    (rows,) = await work.run([work.learning.proposed(group)])
    proposals = kept_proposals(rows)
    messages = await remembered(work, sorted({id_ for proposal in proposals for id_ in proposal.message_ids}))
    once = await merged(proposals, messages, work.backends.models.reader)
    changed = [each for each, before in zip(once, proposals, strict=True) if each != before]
    if changed:
        await work.run([work.learning.settle(changed)])
    for batch in batches([each for each in once if each.state == "proposed"], messages):
        try:
            found = await verified(work.model, batch, messages, work.backends.models.reader)
        except (QuotaExceeded, Unavailable) as error:
            found = [replace(each, state="failed", reason=error.code) for each in batch]
        await work.run([work.learning.settle(found)])


async def merged(
    proposals: Sequence[KeptProposal], messages: Mapping[str, Message], reader: TenantReader | None = None
) -> list[KeptProposal]:
    """Return the proposals; one is dropped where another says the same, or where a message that it cites is gone.

    ``reader`` decides whether a proposal follows from another, more complete one.
    """
    there = [proposal.proposal for proposal in proposals if all(id_ in messages for id_ in proposal.message_ids)]
    order = sorted(messages, key=lambda id_: (messages[id_].said_at, id_))
    said_twice = await following(await asyncio.to_thread(alike, there), reader)
    kept = {each.content: each for each in merge(there, order, said_twice)}
    found = []
    for proposal in proposals:
        if any(id_ not in messages for id_ in proposal.message_ids):
            found.append(replace(proposal, state="dropped", reason=_GONE))
        elif proposal.content in kept:
            found.append(replace(proposal, message_ids=list(kept[proposal.content].message_ids)))
        else:
            found.append(replace(proposal, state="dropped", reason=_SAID_ALREADY))
    return found


def batches(proposals: Sequence[KeptProposal], messages: Mapping[str, Message]) -> Iterator[list[KeptProposal]]:
    """Yield the proposals of each call, within the bounds ``verifying.AT_ONCE`` and ``_CHARACTERS_AT_ONCE``."""
    batch: list[KeptProposal] = []
    cited: set[str] = set()
    for proposal in proposals:
        together = cited.union(proposal.message_ids)
        size = sum(len(messages[id_].content) for id_ in together)
        if batch and (len(batch) == verifying.AT_ONCE or size > _CHARACTERS_AT_ONCE):
            yield batch
            batch, together = [], set(proposal.message_ids)
        batch.append(proposal)
        cited = together
    if batch:
        yield batch


async def verified(
    model: ModelCalls,
    batch: Sequence[KeptProposal],
    messages: Mapping[str, Message],
    reader: TenantReader | None = None,
) -> list[KeptProposal]:
    """Return proposals, at most ``verifying.AT_ONCE``, with the outcome of each; raises as ``extracted`` does."""
    cited = {id_ for proposal in batch for id_ in proposal.message_ids}
    order = sorted(cited, key=lambda id_: (messages[id_].said_at, id_))
    lines = numbered(Pass(0, "extract", order), messages)
    proposals = [proposal.proposal for proposal in batch]
    answer = await model.ask(lambda mark: verification(proposals, lines, mark))
    judged = dict(zip((proposal.id for proposal in batch), verdicts(answer, proposals), strict=True))
    corrections = [proposal for proposal in batch if _corrects(proposal, judged[proposal.id])]
    corrected = [replace(correction.proposal, content=judged[correction.id].content) for correction in corrections]
    shown = excerpts(lines, messages.keys(), [proposal.content for proposal in corrected]) if corrected else ()
    reasons = await Grounding(shown, reader).objections(corrected)
    wrong = {each.id: reason for each, reason in zip(corrections, reasons, strict=True)}
    return [_as_judged(proposal, judged[proposal.id], wrong.get(proposal.id)) for proposal in batch]


def _corrects(proposal: KeptProposal, verdict: ProposalVerdict) -> bool:
    return verdict.kind == "correct" and verdict.content != proposal.content


def _as_judged(proposal: KeptProposal, verdict: ProposalVerdict, wrong: str | None) -> KeptProposal:
    """Return a proposal with its verdict; ``wrong``: the parts of its correction that its messages do not say."""
    reason = f"{verdict.check}: {verdict.reason}" if verdict.check else verdict.reason
    if verdict.kind == "drop":
        return replace(proposal, state="dropped", reason=reason)
    if not _corrects(proposal, verdict):
        return replace(proposal, state="verified")
    corrected = replace(proposal, content=verdict.content, corrected_from=proposal.content)
    if wrong is not None:
        return replace(corrected, state="dropped", reason=wrong)
    return replace(corrected, state="verified", reason=reason)
