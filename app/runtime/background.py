"""The periodic work of a shard's runtime: what is done, how often, and where."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat

from app.indexing.jobs.merge_words import merge_words
from app.runtime import archive, ingestions, language_model, processes, recall_log, snapshots, windows
from app.runtime.backends import Backends
from app.runtime.periodic import READY_SECONDS, PeriodicWork

_MERGE_STEPS = 300
"""Of making the index of words again, in the time between two merges."""


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
    """The pause between two looks for memories that wait for the reader, and that no store here has noted."""
    gather_seconds: float = 0.2
    """For how long stored memories are gathered before the reader reads them: their answers go first."""


def periodic_works(
    backends: Backends,
    pace: Pace,
    *,
    served: Callable[[], bool],
    may_work: Callable[[], bool],
    words_missing: asyncio.Event,
) -> Sequence[PeriodicWork]:
    """Return what is done again and again over the data of a shard, beside the work of the indexer and of the reader.

    Work begins where requests are ``served``, or where it ``may_work``: also not where few calls are left.
    ``words_missing`` is set where the index of words lacks some.
    """
    resume, settle = partial(ingestions.resume_once, backends), partial(windows.settle_once, backends)
    resumed = chain([ingestions.LEASED_SECONDS], repeat(ingestions.LOOK_SECONDS))
    merge = partial(merge_words, backends.database, pause=pace.words_seconds / _MERGE_STEPS)
    write_recalls, recalls_seconds = partial(recall_log.write_recalls, backends), recall_log.WRITE_SECONDS
    write_spend, spend_seconds = partial(language_model.write_spend, backends), language_model.WRITE_SECONDS
    keep_snapshots = partial(snapshots.snapshot_all, backends, backends.snapshots_kept, may_work)
    move_old = partial(archive.archive_all, backends, backends.archive_days or 0, may_work)

    def unless_cut_off(seconds: float) -> Callable[[bool], float]:
        return lambda _: seconds if may_work() else READY_SECONDS  # what was cut off goes on soon

    works = [
        PeriodicWork(
            "processes", partial(processes.take_over, backends), "leases_wait", processes.LOOK_SECONDS, may_work
        ),
        PeriodicWork(
            "ingestions", partial(_while, may_work, resume), "ingestions_wait", lambda _: next(resumed), may_work
        ),
        PeriodicWork("windows", partial(_while, may_work, settle), "windows_wait", pace.windows_seconds, may_work),
        PeriodicWork("words", merge, "words_merge_waits", pace.words_seconds, may_work, wanted=words_missing),
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


async def _while(ready: Callable[[], bool], work: Callable[[], Awaitable[int]]) -> None:
    """Do work until nothing of it was finished, or until it may not go on."""
    while ready() and await work():
        pass
