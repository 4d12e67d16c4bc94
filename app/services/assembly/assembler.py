"""Assembles an agent's context from the tiers. No other module reads several tiers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from app.domain import limits
from app.domain.episodes import EpisodesWanted
from app.domain.errors import FieldError, InvalidRequest, LongTermDisabled, MemoryGatewayError, NotFound, TenantMoved
from app.domain.json_types import Json, to_json
from app.domain.moments import format_moment
from app.domain.query import Query
from app.services.assembly.budget import PARTS, Fitted, Offer, Part, Piece, fit
from app.services.assembly.gathering import GatheringDatabase
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.tenant.backends import TenantBackends
from app.services.tiers.context import SharedContext
from app.services.tiers.episodic import EpisodicMemory
from app.services.tiers.facts import SemanticMemory
from app.services.tiers.procedural import ProceduralMemory
from app.services.tiers.windows import WindowService

_EPISODES = 10
_FACTS = 20
_RECALLED = 10


@dataclass(frozen=True, slots=True)
class ContextWanted:
    """A request for an agent's context at the start of a turn. It checks its bounds when it is made.

    Attributes:
        instance: The instance whose window is read; None: no window.
        agent_type: The type whose last episodes are read and that a workflow is for; None: the agent's own episodes.
        task_type: The type of the task that a workflow is chosen for; None: no workflow.
        names: The shared documents; None: all.
        query: The text that long-term memory is searched for, with ``prefetch``.
        prefetch: Whether long-term memory is searched before the turn; else the agent searches by its tool (ADR 0036).
        only_agent: The agent that the credential is bound to: episodes and runs of other agents may not be read.

    Raises:
        InvalidRequest: a field is outside its bounds.
    """

    agent_id: str
    max_tokens: int
    instance: str | None = None
    agent_type: str | None = None
    task_type: str | None = None
    names: Sequence[str] | None = None
    query: str | None = None
    prefetch: bool = False
    run_id: str | None = None
    seed: int | None = None
    only_agent: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds, and that a field which needs another field has it."""
        limits.check(
            ("agent_id", limits.AGENT_ID, self.agent_id),
            ("max_tokens", limits.WINDOW_TOKEN_LIMIT, self.max_tokens),
            ("instance", limits.AGENT_ID, self.instance),
            ("agent_type", limits.AGENT_ID, self.agent_type),
            ("task_type", limits.AGENT_ID, self.task_type),
            ("query", limits.QUERY, self.query),
            ("run_id", limits.RUN_ID, self.run_id),
            ("seed", limits.SEED, self.seed),
            *(("context", limits.CONTEXT_NAME, name) for name in self.names or ()),
        )
        if self.prefetch and self.query is None:
            raise _lacks("query", "is missing: prefetch recalls what it asks")
        if self.task_type is not None and self.agent_type is None:
            raise _lacks("agent_type", "is missing: a workflow is chosen for an agent type and a task type")


def _lacks(name: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{name} {message}.", errors=[FieldError(name, message)])


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that did not answer, or a document that was named and is not there, with the error."""

    part: Part
    error: MemoryGatewayError


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The pieces that fit into the budget, and the parts or documents that are missing."""

    fitted: Fitted
    missing: Sequence[Missing] = field(default_factory=list)

    def of(self, part: Part) -> Sequence[Piece]:
        """Return the pieces of a part."""
        return [piece for piece in self.fitted.pieces if piece.part == part]


class Assembler:
    """Assembles the context of one tenant's agents; the tenant is bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._database = GatheringDatabase(backends.data.database)
        self._backends = backends.with_database(self._database)

    async def assemble(self, wanted: ContextWanted) -> AssembledContext:
        """Read the parts side by side, and return the pieces that fit; a part that does not answer is named.

        Raises:
            InvalidRequest, NotFound: as the parts say of a field.
            TenantMoved: the tenant lives in another shard, or is just moving there.
            Unavailable: no part answers.
        """
        started = perf_counter()
        assembled = await self._assembled(wanted)
        entry: dict[str, Json] = {
            "event": "assembled",
            "pieces": len(assembled.fitted.pieces),
            "tokens": assembled.fitted.tokens,
            "missing": len(assembled.missing),
            "ms": round((perf_counter() - started) * 1000, 3),
        }
        self._backends.audit.note(wanted.agent_id, wanted.run_id, entry)
        return assembled

    async def _assembled(self, wanted: ContextWanted) -> AssembledContext:
        parts = self._parts(wanted)
        found = await asyncio.gather(*(self._offer(part) for part in parts.values()))
        offers: dict[Part, Offer] = {}
        missing: list[Missing] = []
        for part, offer in zip(parts, found, strict=True):
            if isinstance(offer, MemoryGatewayError):
                missing.append(Missing(part, offer))
            else:
                offers[part] = offer
        if missing and not offers:
            raise missing[0].error
        # Long-term memory that is switched off is no outage.
        self._backends.audit.degraded([each.part for each in missing if not isinstance(each.error, LongTermDisabled)])
        missing += [
            Missing(part, NotFound(f"There is no {name}.")) for part, offer in offers.items() for name in offer.absent
        ]
        return AssembledContext(fit(_once(offers), wanted.max_tokens), missing)

    def _parts(self, wanted: ContextWanted) -> Mapping[Part, Callable[[], Awaitable[Offer]]]:
        asked: dict[Part, Callable[[], Awaitable[Offer]]] = {
            "shared_context": lambda: self._shared_context(wanted),
            "facts": lambda: self._facts(wanted),
            "episodes": lambda: self._episodes(wanted),
        }
        if wanted.task_type is not None:
            asked["workflow"] = lambda: self._workflow(wanted)
        if wanted.instance is not None:
            asked["summaries"] = lambda: self._summaries(wanted)
            asked["window"] = lambda: self._window(wanted)
        if wanted.prefetch:
            asked["long_term"] = lambda: self._long_term(wanted)
        return {part: asked[part] for part in PARTS if part in asked}

    async def _offer(self, part: Callable[[], Awaitable[Offer]]) -> Offer | MemoryGatewayError:
        async with self._database.part():
            try:
                return await part()
            except (InvalidRequest, NotFound, TenantMoved):  # where the tenant lives now, every part answers
                raise
            except MemoryGatewayError as error:
                return error

    async def _shared_context(self, wanted: ContextWanted) -> Offer:
        documents = await SharedContext(self._backends).documents(wanted.names)
        there = {document.name for document in documents}
        absent = [f"document {name}" for name in wanted.names or () if name not in there]
        return Offer(
            [
                Piece.of("shared_context", f"context/{document.name}@{document.version}", document.content)
                for document in documents
            ],
            absent=absent,
        )

    async def _workflow(self, wanted: ContextWanted) -> Offer:
        agent_type, task_type = wanted.agent_type or "", wanted.task_type or ""
        memory = ProceduralMemory(self._backends)
        try:
            chosen = await memory.select(
                agent_type,
                task_type,
                seed=wanted.seed,
                run_id=wanted.run_id,
                agent_id=wanted.only_agent,
                chooser=wanted.agent_id,
            )
        except NotFound as error:
            if error.errors:  # the caller names a run that is not there
                raise
            return Offer()
        return Offer([Piece.of("workflow", f"workflows/{chosen.workflow_id}", to_json(dict(chosen.spec)))])

    async def _facts(self, wanted: ContextWanted) -> Offer:
        held = await SemanticMemory(self._backends).holding(wanted.agent_id, _FACTS)
        texts = {row.memory_id: row.content for row in held}  # one text may state several facts
        pieces = [Piece.of("facts", f"facts/{memory_id}", text) for memory_id, text in texts.items()]
        return Offer(pieces, newest_first=True)

    async def _episodes(self, wanted: ContextWanted) -> Offer:
        of_type = EpisodesWanted(wanted.only_agent, wanted.agent_type)
        asked = of_type if wanted.agent_type is not None else EpisodesWanted(wanted.agent_id)
        page = await EpisodicMemory(self._backends).episodes(asked, limit=_EPISODES)
        pieces = [
            Piece.of("episodes", f"episodes/{item.id} {format_moment(item.occurred_at)} {item.type}", item.content)
            for item in page.items
        ]
        return Offer(pieces, newest_first=True)

    async def _summaries(self, wanted: ContextWanted) -> Offer:
        instance = wanted.instance or ""
        summaries = await WindowService(self._backends).summaries(wanted.agent_id, instance)
        pieces = [
            Piece.of(
                "summaries",
                f"summaries/{instance} {format_moment(summary.since)} {format_moment(summary.until)} "
                f"{summary.turns} turns",
                summary.text,
            )
            for summary in reversed(summaries)
            if summary.sentences
        ]
        return Offer(pieces, unbroken=True, newest_first=True)

    async def _window(self, wanted: ContextWanted) -> Offer:
        instance = wanted.instance or ""
        turns = await WindowService(self._backends).turns(wanted.agent_id, instance, max_tokens=wanted.max_tokens)
        pieces = [
            Piece.of(
                "window", f"window/{instance} {format_moment(turn.said_at)} {turn.role}", turn.content, turn.tokens
            )
            for turn in reversed(turns)
        ]
        return Offer(pieces, unbroken=True, newest_first=True)

    async def _long_term(self, wanted: ContextWanted) -> Offer:
        query = Query(wanted.query or "", top_k=_RECALLED, for_model=True, collapse="restatements")
        recall = await LongTermMemoryGateway(self._backends).recall(wanted.agent_id, query, run_id=wanted.run_id)
        return Offer(
            [
                Piece.of("long_term", f"memories/{entry.id} {format_moment(entry.happened_at)}", entry.content)
                for entry in recall.entries
            ]
        )


def _once(offers: Mapping[Part, Offer]) -> Mapping[Part, Offer]:
    """Leave out facts whose texts the recall returned: the entries of the recall are nearer to the query."""
    if "facts" not in offers or "long_term" not in offers:
        return offers
    recalled = {piece.content for piece in offers["long_term"].pieces}
    others = [piece for piece in offers["facts"].pieces if piece.content not in recalled]
    return {**offers, "facts": replace(offers["facts"], pieces=others)}
