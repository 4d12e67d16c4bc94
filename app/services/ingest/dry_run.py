"""Shows what an ingestion would store and learn, and writes nothing."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest, QuotaExceeded, Unavailable
from app.domain.memory import Scope
from app.domain.messages import Item, Message, NewMessage
from app.services.ingest.at_once import for_each
from app.services.ingest.classify import SHOWN, classified, words_of
from app.services.ingest.extract import extracted, groups_of
from app.services.ingest.identify import Conversation, identify, screened
from app.services.ingest.messages import Taking
from app.services.ingest.verify import batches, merged, verified
from app.services.learning import classifying
from app.services.learning.passes import OVERLAP, plan
from app.services.models.model_calls import ModelCalls
from app.services.tenant.backends import TenantBackends
from app.storage.ingestions import Ingestion
from app.storage.learning import KeptProposal, KnownTopic, Learning, known_topics
from app.storage.learning_report import (
    MOST_TOLD,
    FailedPass,
    LearningCounts,
    LearningReport,
    Told,
    ToldProposal,
)

MAX_PASSES = 16
"""Passes of one dry run at most, so that it answers in time."""
SECONDS = 45.0
"""How long a dry run asks the model; a call that is not answered by then has failed."""
_TOLD: Final[Mapping[str, Told]] = {"verified": "learned", "dropped": "dropped", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What an ingestion would do; ``learning`` is None where no language model is set."""

    ingestion: Ingestion
    learning: LearningReport | None


async def dry_run(
    backends: TenantBackends, agent_id: str, messages: Sequence[NewMessage], session_id: str | None
) -> Shown:
    """Return what ingesting the messages would do.

    Raises:
        InvalidRequest: a field is outside its bounds, or a model would read more than a dry run shows.
        Erasing, LongTermDisabled, NotFound, Unauthenticated, QuotaExceeded, Unavailable: as the ingestion is refused.
    """
    limits.check(("agent_id", limits.AGENT_ID, agent_id))
    scope, now = Scope(backends.tenant_id, agent_id), backends.clock()
    messages, session_id = await screened(backends, messages, session_id, now)
    conversation = await identify(messages, session_id, now)
    known = await Taking(backends, scope, conversation).known()
    ingestion = _ingestion(agent_id, conversation, known, now)
    if backends.models.model is None:
        return Shown(ingestion, None)
    ends = asyncio.get_running_loop().time() + SECONDS
    learning = _DryLearning(backends, scope, conversation, ModelCalls(backends.models.model, agent_id, ends=ends))
    return Shown(ingestion, await learning.run(known))


def _ingestion(agent_id: str, conversation: Conversation, known: set[str], now: int) -> Ingestion:
    seen = set(known)
    items: list[Item] = []
    for id_ in conversation.ids:
        items.append(Item(id_, "known" if id_ in seen else "stored"))
        seen.add(id_)
    there = sum(item.status == "known" for item in items)
    return Ingestion(
        None, agent_id, conversation.session_id, now, len(items), there, len(items) - there, now, None, items
    )


class _DryLearning:
    """The stages of learning, whose proposals are held in this object and not in the database."""

    def __init__(self, backends: TenantBackends, scope: Scope, conversation: Conversation, model: ModelCalls) -> None:
        """Bind the conversation, its scope and the model."""
        self._backends = backends
        self._learning = Learning(scope, conversation.session_id, "")
        self._messages: dict[str, Message] = {message.id: message for message in conversation.messages}
        self._model = model
        self._failed: list[FailedPass] = []
        self._passes = 0
        self._proposals: dict[str, KeptProposal] = {}
        self._supersedes: dict[str, str] = {}
        """The id of the memory that holds for a topic now, by the topic."""

    async def run(self, known: set[str]) -> LearningReport:
        """Go through the stages, and report their proposals."""
        await self._extract(known)
        await self._verify()
        await self._classify()
        return self._report()

    async def _extract(self, known: set[str]) -> None:
        order = sorted(self._messages.values(), key=lambda each: each.said_at)
        new = [(message.id, len(message.content)) for message in order if message.id not in known]
        first = next((place for place, message in enumerate(order) if message.id not in known), 0)
        before = [(message.id, len(message.content)) for message in order[max(0, first - OVERLAP) : first]]
        passes = plan(new, before)
        if len(passes) > MAX_PASSES:
            detail = f"would take a language model {len(passes)} passes to read; a dry run shows at most {MAX_PASSES}"
            raise InvalidRequest(f"messages {detail}. Send fewer.", errors=[FieldError("messages", detail)])
        groups = groups_of(passes)
        found: dict[int, list[KeptProposal]] = {}

        async def read(number: int) -> None:
            each = passes[number]
            try:
                found[number] = await extracted(self._model, each, self._messages, groups, self._backends.models.reader)
            except (QuotaExceeded, Unavailable) as error:
                self._failed.append(FailedPass(each.number, each.kind, each.message_ids, each.context, error.code))

        await for_each(range(len(passes)), read)
        self._passes = len(passes)
        ranked = sorted((proposal for number in sorted(found) for proposal in found[number]), key=_rank, reverse=True)
        self._proposals = {proposal.id: proposal for proposal in ranked}

    async def _verify(self) -> None:
        proposed = [proposal for proposal in self._proposals.values() if proposal.state == "proposed"]
        groups: dict[int, list[KeptProposal]] = {}
        for each in sorted(proposed, key=lambda each: each.id):
            groups.setdefault(each.group, []).append(each)

        async def verify(group: int) -> None:
            once = await merged(groups[group], self._messages, self._backends.models.reader)
            self._keep(once)
            for batch in batches([each for each in once if each.state == "proposed"], self._messages):
                try:
                    self._keep(await verified(self._model, batch, self._messages, self._backends.models.reader))
                except (QuotaExceeded, Unavailable) as error:
                    self._keep([replace(each, state="failed", reason=error.code) for each in batch])

        await for_each(sorted(groups), verify)

    async def _classify(self) -> None:
        waiting = sorted(
            (proposal for proposal in self._proposals.values() if proposal.state == "verified"),
            key=lambda each: (each.group, each.id),
        )
        for first in range(0, len(waiting), classifying.AT_ONCE):
            batch = waiting[first : first + classifying.AT_ONCE]
            profile = await self._topics(batch)
            given = [proposal.topic for proposal in self._proposals.values() if proposal.topic is not None][
                : SHOWN // 2
            ]
            shown = list(dict.fromkeys([*given, *(topic.topic for topic in profile)]))[:SHOWN]
            self._supersedes |= {topic.topic: topic.memory_id for topic in profile if topic.memory_id is not None}
            try:
                self._keep(await classified(self._model, batch, shown, self._backends.models.reader))
            except (QuotaExceeded, Unavailable) as error:
                self._keep([replace(each, state="failed", reason=error.code) for each in batch])

    async def _topics(self, batch: Sequence[KeptProposal]) -> list[KnownTopic]:
        profile, _ = self._learning.topics(words_of(batch), most=SHOWN)
        (rows,) = await self._backends.data.database.run([profile])
        return known_topics(rows)

    def _keep(self, proposals: Sequence[KeptProposal]) -> None:
        self._proposals |= {proposal.id: proposal for proposal in proposals}

    def _report(self) -> LearningReport:
        told: dict[Told, list[ToldProposal]] = {kind: [] for kind in get_args(Told)}
        for proposal in sorted(self._proposals.values(), key=lambda each: (each.group, each.id)):
            one = self._told(proposal)
            told[_TOLD[proposal.state]].append(one)
            if proposal.corrected_from is not None:
                told["corrected"].append(one)
        passes = Counter({"done": self._passes - len(self._failed), "failed": len(self._failed)})
        counts = LearningCounts(
            passes,
            {kind: len(each) for kind, each in told.items() if kind != "corrected"},
            len(told["corrected"]),
            sum(len(each.supersedes) for each in told["learned"]),
        )
        failed = sorted(self._failed, key=lambda each: each.number)
        return LearningReport(counts, failed[:MOST_TOLD], {kind: each[:MOST_TOLD] for kind, each in told.items()})

    def _told(self, proposal: KeptProposal) -> ToldProposal:
        holds = (
            self._supersedes.get(proposal.topic)
            if proposal.topic is not None and proposal.state == "verified"
            else None
        )
        return ToldProposal(
            proposal.content,
            proposal.message_ids,
            proposal.type,
            proposal.topic,
            proposal.corrected_from,
            proposal.reason,
            supersedes=[] if holds is None else [holds],
        )


def _rank(proposal: KeptProposal) -> tuple[bool, int, Sequence[str]]:
    """Return a sort key: of two proposals with the same words, the one with the least key is kept."""
    return proposal.state == "dropped", proposal.group, list(proposal.message_ids)
