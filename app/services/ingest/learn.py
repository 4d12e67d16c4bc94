"""The stage in which verified proposals become memories, by the writer that writes every memory."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ulid import ULID

from app.domain.comparing import MACHINES
from app.domain.errors import AccessRefused, Conflict, QuotaExceeded, Unavailable
from app.domain.explicit import permitted
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.domain.limits import TASK_DAYS
from app.domain.memory import Memory
from app.services.ingest.lines import write_lines
from app.services.ingest.work import IngestionWork
from app.services.memories.write_outcomes import MetadataDiffers
from app.services.tenant.backends import settled
from app.storage.agents import Agents, agent_settings
from app.storage.learning import OWN_CHARACTERS, KeptProposal, kept_proposals
from app.storage.memories import MemoryWrite
from app.storage.messages import holders

_AT_ONCE = 50
"""Proposals that are written in one run."""
_MAX_TRIES = 5
"""Tries to write a batch while other requests write the same memories."""
_DAY_MS = 86_400_000
_KEYED = {"fact", "instruction"}
_GONE = "A message that it cites, or the memory itself, was deleted."


@dataclass(frozen=True, slots=True)
class _ProposedMemory:
    """A proposal, and the memory that the proposal is to become."""

    proposal: KeptProposal
    memory: Memory


@dataclass(frozen=True, slots=True)
class _Said:
    """The moment of a message, in ms since the epoch, and its speaker: "" is the user."""

    at: int
    speaker: str


class Learn:
    """Writes the memories that were learned of an ingestion's messages. Implements ``Stage``."""

    async def run(self, work: IngestionWork) -> None:
        """Write the proposals that are left; a proposal that may not be written has failed, with the reason.

        Raises:
            QuotaExceeded: a limit of each minute is reached; the stage goes on after that minute.
            LeaseLost, Unavailable: as ``Stage`` says.
        """
        if not work.learns:
            return
        tries, most = _MAX_TRIES, _AT_ONCE
        while True:
            work.check_held()
            (rows,) = await work.run([work.learning.verified(classified=True, most=most)])
            if not rows:
                return
            proposals = kept_proposals(rows)
            try:
                await settled(lambda proposals=proposals: _learned(work, proposals))  # type: ignore[misc]
            except MetadataDiffers as error:  # another request wrote since the batch was read
                tries -= 1
                if not tries:
                    raise Unavailable("What is to be learned is just being written by others.") from error
                continue
            except QuotaExceeded as error:
                if most == 1 and error.retry_after is not None:
                    raise
                if most == 1:
                    await work.run([work.learning.fail("verified", error.code)])
                most = 1  # there may be room for single memories
                continue
            except (AccessRefused, Conflict) as error:
                await work.run([work.learning.fail("verified", error.code)])
                return
            tries = _MAX_TRIES


async def _learned(work: IngestionWork, proposals: Sequence[KeptProposal]) -> None:
    """Write the memories of proposals, and the outcome of each proposal; raises as ``write_lines`` does."""
    said, expires_at = await _sources(work, proposals)
    made = [
        _ProposedMemory(proposal, _memory(work, proposal, number, said, expires_at))
        for number, proposal in enumerate(proposals)
        if said.keys() >= set(proposal.message_ids)
    ]
    hashes = [learned.memory.content_hash for learned in made]
    (rows,) = await work.run([holders(work.scope, hashes)])
    expired = {str(row["content_hash"]): bool(row["held_expired"]) for row in rows}
    ends = [
        work.learning.learned(
            [(learned.proposal.id, learned.memory.id, learned.memory.content_hash) for learned in made]
        ),
        work.learning.settle(_unwritten(proposals, made, expired)),
    ]
    # Two proposals that were corrected to the same words are one memory.
    new = {
        learned.memory.content_hash: learned for learned in reversed(made) if learned.memory.content_hash not in expired
    }
    lines = [_line(work, each.memory) for each in reversed(new.values())]
    if lines:
        outcomes = await write_lines(work, lines, ends, {"model": work.model.name})
        if all(outcome.written for outcome in outcomes):
            return
    await work.run(ends)


def _unwritten(
    proposals: Sequence[KeptProposal], made: Sequence[_ProposedMemory], expired: Mapping[str, bool]
) -> list[KeptProposal]:
    """Return the proposals with the state that they end in if no memory has their content in the end."""
    waiting = {learned.proposal.id for learned in made if expired.get(learned.memory.content_hash)}
    return [
        replace(proposal, state="failed", reason=Unavailable.code)  # until the expired memory is deleted
        if proposal.id in waiting
        else replace(proposal, state="dropped", reason=_GONE)
        for proposal in proposals
    ]


async def _sources(work: IngestionWork, proposals: Sequence[KeptProposal]) -> tuple[Mapping[str, _Said], int]:
    """Return the messages that proposals cite and that are still there, and the moment at which a task expires."""
    cited = sorted({id_ for proposal in proposals for id_ in proposal.message_ids})
    settings = Agents(work.backends.tenant_id).settings(work.scope.agent_id)
    rows, agent = await work.run([work.learning.remembered(cited), settings])
    days = agent_settings(agent).retention_days
    expires_at = work.backends.clock() + min(TASK_DAYS, days or TASK_DAYS) * _DAY_MS
    return {str(row["id"]): _Said(int(row["said_at"] or 0), str(row["speaker"] or "")) for row in rows}, expires_at


def _memory(
    work: IngestionWork, proposal: KeptProposal, number: int, said: Mapping[str, _Said], expires_at: int
) -> Memory:
    happened_at = proposal.happened_at
    cited = [said[id_] for id_ in proposal.message_ids]
    metadata = _metadata(cited)
    topic = proposal.topic if proposal.type in _KEYED and not metadata else None
    return Memory(
        id=_memory_id(work.ingestion_id, proposal.id),
        scope=work.scope,
        content=proposal.content,
        metadata=metadata,
        session_id=work.session_id,
        occurred_at=max(one.at for one in cited) if happened_at is None else happened_at,
        created_at=work.backends.clock() + number,
        expires_at=expires_at if proposal.type == "task" else None,
        type=proposal.type,
        learned=Learned(tuple(proposal.message_ids), topic, tuple(proposal.search_queries or ())),
    )


def _metadata(said: Sequence[_Said]) -> dict[str, Json]:
    """Return the speaker of a memory where machines alone said it: such a memory replaces no statement of a person."""
    speakers = sorted({one.speaker for one in said})
    return {"speaker": speakers[0]} if speakers and MACHINES.issuperset(speakers) else {}


def _memory_id(ingestion_id: str, proposal_id: str) -> str:
    """Return an id for a proposal's memory: by the id's beginning, a second write of it finds the memory.

    The end of the id differs each time: no other memory takes an id whose vector a stopped run has left in the index.
    """
    digest = hashlib.sha256(f"{ingestion_id}{proposal_id}".encode()).digest()
    own = str(ULID.from_bytes(ULID.from_str(ingestion_id).bytes[:6] + digest[:10]))
    return own[:OWN_CHARACTERS] + str(ULID())[OWN_CHARACTERS:]


def _line(work: IngestionWork, memory: Memory) -> MemoryWrite:
    return MemoryWrite(memory, {}, {}, stated=permitted(memory, work.backends.author))
