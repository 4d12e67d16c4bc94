"""Runs a labelled set through ingest and recall, on data of its own."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bootstrap import build_runtime
from app.domain.errors import Unavailable
from app.domain.messages import message_id
from app.runtime.runtime import Runtime
from app.runtime.tenant_services import TenantServices
from app.services.profiles.profile import ProfileService
from app.settings import Settings
from bench.evaluation.judging import EVIDENCE_AMONG, Judged, evidence, is_right
from bench.evaluation.labelled import LabelledConversation, sessions

_POLL_SECONDS = 0.2
_INGEST_SECONDS = 3600
"""How long the ingestion of a session may take."""


@dataclass(frozen=True, slots=True)
class EvaluatedSide:
    """One way to serve, by settings."""

    name: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """One run of a side: everything ingested anew, and every question asked once."""

    judged: Sequence[Judged]
    calls: int
    """Calls of the language model."""
    tokens: int
    ingest_seconds: float


async def measure(
    side: EvaluatedSide, conversations: Sequence[LabelledConversation], runs: int, progress: Callable[[str], None]
) -> list[EvaluationRun]:
    """Make so many runs. Nothing of them touches other data: they are kept in a folder that is deleted in the end.

    Raises:
        ConfigurationError: the settings cannot be served.
        Unavailable: something does not answer, or messages could not be stored; there is no half of a run.
    """
    made = []
    for number in range(1, runs + 1):
        with TemporaryDirectory(prefix="memory-gateway-eval-") as folder:
            runtime = build_runtime(side.settings.model_copy(update={"data_dir": Path(folder)}), embedded=True)
            try:
                await runtime.prepare()
                await _ping(runtime)
                made.append(await _run(runtime, conversations))
            finally:
                await runtime.close()
        progress(f"{side.name}: run {number} of {runs}")
    return made


async def _ping(runtime: Runtime) -> None:
    """Check that the embedder and the model answer: an ingestion would wait for days. Raises Unavailable."""
    await runtime.backends.embedder.ping()
    if runtime.backends.model is not None:
        await runtime.backends.model.ping()


async def _run(runtime: Runtime, conversations: Sequence[LabelledConversation]) -> EvaluationRun:
    services = runtime.services("eval")
    started = time.monotonic()
    for conversation in conversations:
        await _ingest(services, conversation)
    ingested = time.monotonic() - started
    judged = [each for conversation in conversations for each in await _asked(services.profiles, conversation)]
    usage = await services.browser.model_usage()
    calls, tokens = (0, 0) if usage is None else (usage.calls_today, usage.tokens_today)
    return EvaluationRun(judged, calls, tokens, ingested)


async def _ingest(services: TenantServices, conversation: LabelledConversation) -> None:
    for session_id, turns in sessions(conversation):
        ends = time.monotonic() + _INGEST_SECONDS
        ingestion = await services.ingester.ingest(conversation.id, [turn.message for turn in turns], session_id)
        while ingestion.id is not None and ingestion.status == "running":
            if time.monotonic() > ends:
                raise Unavailable(f"A session of {conversation.id} is not ingested after {_INGEST_SECONDS} seconds.")
            await asyncio.sleep(_POLL_SECONDS)
            ingestion = await services.ingester.ingestion(conversation.id, ingestion.id)
        if ingestion.status != "done" or any(item.status == "failed" for item in ingestion.items):
            raise Unavailable(
                f"Not all messages of {conversation.id} were stored: {ingestion.failure or 'unavailable'}."
            )


async def _asked(profiles: ProfileService, conversation: LabelledConversation) -> list[Judged]:
    turns = {
        message_id(session_id, turn.message.role, turn.message.content): turn.id
        for session_id, some in sessions(conversation)
        for turn in some
    }
    judged = []
    for question in conversation.questions:
        started = time.monotonic()
        recall = await profiles.recall(conversation.id, question.text, reference_time=conversation.asked_at)
        seconds = time.monotonic() - started
        found = []
        for entry in recall.entries[:EVIDENCE_AMONG]:
            detail = await profiles.get(conversation.id, entry.id)
            found.append({turns[source.id] for source in detail.sources if source.id in turns})
        judged.append(
            Judged(
                f"{conversation.id}/{question.id}",
                question.category,
                evidence(question.gold, found),
                is_right(question, recall.answer),
                bool(recall.answer),
                bool(recall.degraded),
                seconds,
            )
        )
    return judged
