"""The stage in which a language model proposes memories, pass by pass.

A proposal that its messages do not support is dropped.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence

from app.domain.errors import QuotaExceeded, Unavailable
from app.domain.learned import Pass, Proposal, ProposalState
from app.domain.messages import Message
from app.services.ingest.at_once import for_each
from app.services.ingest.grounded import Grounding
from app.services.ingest.remembered import remembered
from app.services.ingest.work import IngestionWork
from app.services.learning.extracting import Extracted, extraction, proposals, refused
from app.services.learning.passes import readings
from app.services.learning.transcript import TranscriptLine, numbered
from app.services.models.model_calls import ModelCalls
from app.services.models.reader import TenantReader
from app.storage.learning import KeptProposal, PlannedPass, planned_passes


class Extract:
    """Has the passes of an ingestion read. Implements ``Stage``."""

    async def run(self, work: IngestionWork) -> None:
        """Read the waiting passes; a pass that the model does not answer has failed, and the others go on."""
        if not work.learns:
            return
        (rows,) = await work.run([work.learning.passes()])
        passes = planned_passes(rows)
        groups = groups_of([pass_.planned for pass_ in passes])
        skipped: list[int] = []

        async def read(each: PlannedPass) -> None:
            if work.model.away is not None:
                skipped.append(each.number)
            else:
                await _read(work, each.planned, groups)

        await for_each((pass_ for pass_ in passes if pass_.state == "waiting"), read)
        if skipped and work.model.away is not None:
            await work.run([work.learning.fail_passes(skipped, work.model.away.code)])


async def _read(work: IngestionWork, pass_: Pass, groups: Mapping[str, int]) -> None:
    work.check_held()
    messages = await remembered(work, pass_.message_ids)
    try:
        found = await extracted(work.model, pass_, messages, groups, work.backends.models.reader)
    except (QuotaExceeded, Unavailable) as error:
        await work.run([work.learning.fail_passes([pass_.number], error.code)])
        return
    await work.run(work.learning.extracted(pass_.number, found))


async def extracted(
    model: ModelCalls,
    pass_: Pass,
    messages: Mapping[str, Message],
    groups: Mapping[str, int],
    reader: TenantReader | None = None,
) -> list[KeptProposal]:
    """Return the proposals that a model makes of a pass, including those that are dropped.

    ``messages`` has by id the messages of the pass that are still there. ``groups``: see ``groups_of``. ``reader``
    decides what follows from the messages. Raises as ``ModelCalls.ask`` does, and ``ReaderUnavailable``.
    """
    lines = numbered(pass_, messages)
    found: dict[str, KeptProposal] = {}
    for reading in readings(lines):
        answer = await model.ask(lambda mark, reading=reading: extraction(pass_.kind, reading, mark))  # type: ignore[misc]
        for kept in await _judged(answer, reading, groups, pass_, reader):
            if kept.id not in found or (found[kept.id].state == "dropped" and kept.state != "dropped"):
                found[kept.id] = kept
    return list(found.values())


def groups_of(passes: Iterable[Pass]) -> dict[str, int]:
    """Return the number of the full pass that reads each message for the first time."""
    full = [pass_ for pass_ in passes if pass_.kind == "extract"]
    return {id_: each.number for each in full for id_ in each.message_ids[each.context :]}


async def _judged(
    answer: Extracted,
    reading: Sequence[TranscriptLine],
    groups: Mapping[str, int],
    pass_: Pass,
    reader: TenantReader | None,
) -> list[KeptProposal]:
    """Return an answer's proposals; those refused, or not supported by the lines, are dropped with a reason."""
    proposed, others = await asyncio.to_thread(lambda: (proposals(answer, reading), refused(answer, reading)))
    objections = await Grounding(reading, reader).objections(proposed)
    return [
        *(_kept(Proposal(each.content, each.message_ids), groups, pass_, each.reason) for each in others),
        *(_kept(each, groups, pass_, reason) for each, reason in zip(proposed, objections, strict=True)),
    ]


def _kept(proposal: Proposal, groups: Mapping[str, int], pass_: Pass, reason: str | None) -> KeptProposal:
    cited: Sequence[str] = proposal.message_ids
    group = next((groups[id_] for id_ in cited if id_ in groups), pass_.number)
    id_ = hashlib.sha256(proposal.content.encode()).hexdigest()[:32]
    state: ProposalState = "proposed" if reason is None else "dropped"
    return KeptProposal(id_, group, proposal.content, cited, proposal.happened_at, state, reason)
