"""The background work of a shard's runtime, and its pace."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import Any

import structlog

from app.domain.errors import Unavailable
from app.indexing.jobs.backfill import backfill_claims, free_tasks
from app.indexing.jobs.merge_words import merge_words
from app.ports.reader import Reader
from app.runtime import archive, credential_uses, ingestions, language_model, processes, recall_log, snapshots, windows
from app.runtime.backends import Backends
from app.runtime.language_model import name_missing_models
from app.runtime.periodic import READY_SECONDS, PeriodicWork
from app.runtime.relating import keep_related

RETRY_SECONDS = 1.0
"""The pause before work is tried again after an outage; after each further failure the pause is twice as long."""
MAX_RETRY_SECONDS = 60.0
_MERGE_STEPS = 300
"""How many steps of rebuilding the index of words are made in the time between two merges."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the process does its background work; calls to a metered service are less frequent."""

    indexer_seconds: float = 1.0
    """The pause between two rounds of the indexer."""
    look_again_seconds: float = 0.0
    """How long the result of a check of the parts is reused."""
    windows_seconds: float = 30.0
    """The pause between two looks for windows whose turns are to fall out of them."""
    schema_seconds: float = 60.0
    """The pause between two looks at the version of the schema."""
    words_seconds: float = 30.0
    """The pause between two merges of the index of words."""
    relations_seconds: float = 60.0
    """The pause between two looks for memories that wait for the reader, and that this process has not stored."""
    gather_seconds: float = 0.2
    """How long stored memories are gathered before the reader reads them: the answers to the stores go first."""


def periodic_works(
    backends: Backends,
    pace: Pace,
    *,
    served: Callable[[], bool],
    may_work: Callable[[], bool],
    words_missing: asyncio.Event,
) -> Sequence[PeriodicWork]:
    """Return the periodic work over the data of a shard, without the work of the indexer and of the reader.

    ``served`` tells whether requests are served, and ``may_work`` whether few calls are left besides: each kind of work
    begins only where its condition holds. ``words_missing`` is set where the index of words lacks memories.
    """
    resume, settle = partial(ingestions.resume_once, backends), partial(windows.settle_once, backends)
    resumed = chain([ingestions.LEASED_SECONDS], repeat(ingestions.LOOK_SECONDS))
    merge = partial(merge_words, backends.database, pause=pace.words_seconds / _MERGE_STEPS)
    write_recalls, recalls_seconds = partial(recall_log.write_recalls, backends), recall_log.WRITE_SECONDS
    write_uses, uses_seconds = partial(credential_uses.write_uses, backends), credential_uses.WRITE_SECONDS
    write_spend, spend_seconds = partial(language_model.write_spend, backends), language_model.WRITE_SECONDS
    keep_snapshots = partial(snapshots.snapshot_all, backends, backends.snapshots_kept, may_work)
    move_old = partial(archive.archive_all, backends, backends.archive_days or 0, may_work)

    def unless_cut_off(seconds: float) -> Callable[[bool], float]:
        return lambda _: seconds if may_work() else READY_SECONDS  # work that was cut off goes on soon

    works = [
        PeriodicWork(
            "processes", partial(processes.take_over, backends), "leases_wait", processes.LOOK_SECONDS, may_work
        ),
        PeriodicWork(
            "ingestions", partial(_while, may_work, resume), "ingestions_wait", lambda _: next(resumed), may_work
        ),
        PeriodicWork("windows", partial(_while, may_work, settle), "windows_wait", pace.windows_seconds, may_work),
        PeriodicWork("words", merge, "words_merge_waits", pace.words_seconds, may_work, wanted=words_missing),
        PeriodicWork("credential uses", write_uses, "credential_uses_wait", uses_seconds, served, delay=uses_seconds),
        PeriodicWork("recall log", write_recalls, "recall_log_waits", recalls_seconds, served, delay=recalls_seconds),
    ]
    if backends.model is not None:
        works += [
            PeriodicWork("model spend", write_spend, "model_spend_waits", spend_seconds, served, delay=spend_seconds)
        ]
    if backends.snapshots_kept:
        pause = unless_cut_off(snapshots.LOOK_SECONDS)
        works += [PeriodicWork("snapshots", keep_snapshots, "snapshots_wait", pause, may_work)]
    if backends.archive_days:
        works += [PeriodicWork("archive", move_old, "archive_waits", unless_cut_off(archive.LOOK_SECONDS), may_work)]
    return works


def background_works(
    backends: Backends,
    pace: Pace,
    *,
    served: Callable[[], bool],
    may_work: Callable[[], bool],
    words_missing: asyncio.Event,
) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
    """Return all background work over the data of a shard but the indexer's, by its name; it runs until cancelled.

    The arguments are those of ``periodic_works``.
    """
    works = periodic_works(backends, pace, served=served, may_work=may_work, words_missing=words_missing)
    older_read = asyncio.Event()
    relate = partial(_keep_related, backends, pace, may_work, older_read)
    return {
        "backfill": partial(_read_older_memories, backends, may_work, older_read),
        **({} if backends.reader is None else {"relations": partial(relate, backends.reader)}),
        **({} if backends.model is None else {"models": partial(name_missing_models, backends.model)}),
        **{work.name: work.run for work in works},
    }


async def _keep_related(
    backends: Backends, pace: Pace, may_work: Callable[[], bool], older_read: asyncio.Event, reader: Reader
) -> None:
    """Compare memories, once those of older versions are up to date: these may lose the expiry they had as tasks."""
    await older_read.wait()
    await keep_related(backends, reader, may_work, seconds=pace.relations_seconds, gather_seconds=pace.gather_seconds)


async def _read_older_memories(backends: Backends, may_work: Callable[[], bool], older_read: asyncio.Event) -> None:
    """Bring memories of older versions up to date; an outage only delays this."""
    seconds = RETRY_SECONDS
    while True:
        try:
            if may_work():
                if read := await backfill_claims(backends.database):
                    structlog.get_logger().info("statements_read", memories=read)
                if freed := await free_tasks(backends.database, backends.reader):
                    structlog.get_logger().info("tasks_freed", memories=freed)
                break
        except Unavailable as error:
            structlog.get_logger().warning("backfill_waits", code=error.code, reason=error.detail, seconds=seconds)
        except Exception:  # noqa: BLE001 - a defect is logged and must not keep the service from stopping
            structlog.get_logger().exception("background_failed")
            break
        await asyncio.sleep(seconds)
        seconds = min(2 * seconds, MAX_RETRY_SECONDS)
    older_read.set()


async def _while(ready: Callable[[], bool], work: Callable[[], Awaitable[int]]) -> None:
    """Repeat work until it finishes nothing more, or until the process is not ``ready`` any more."""
    while ready() and await work():
        pass
