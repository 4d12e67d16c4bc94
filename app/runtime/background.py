"""The periodic work of a shard's runtime: what is done, how often, and where."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat

from app.indexing.jobs.merge_words import merge_words
from app.runtime import archive, ingestions, language_model, processes, recall_log, snapshots
from app.runtime.archive import archive_all
from app.runtime.backends import Backends
from app.runtime.ingestions import resume_once
from app.runtime.language_model import write_spend
from app.runtime.periodic import READY_SECONDS, PeriodicWork
from app.runtime.processes import take_over
from app.runtime.recall_log import write_recalls
from app.runtime.snapshots import snapshot_all
from app.runtime.windows import settle_once

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


@dataclass(frozen=True, slots=True)
class Conditions:
    """What periodic work asks of the runtime."""

    served: Callable[[], bool]
    """Whether requests are served."""
    may_work: Callable[[], bool]
    """Whether work may begin: also not where few calls are left."""
    words_missing: asyncio.Event
    """Is set where the index of words lacks some."""


def periodic_works(backends: Backends, pace: Pace, on: Conditions) -> Sequence[PeriodicWork]:
    """Return all work over the data of a shard that is done again and again, beside the indexer's and the reader's."""
    resumed = chain([ingestions.LEASED_SECONDS], repeat(ingestions.LOOK_SECONDS))
    works = [
        PeriodicWork(
            "processes", partial(take_over, backends), "leases_wait", pause=processes.LOOK_SECONDS, ready=on.may_work
        ),
        PeriodicWork(
            "ingestions",
            partial(_while, on.may_work, partial(resume_once, backends)),
            "ingestions_wait",
            pause=lambda _: next(resumed),
            ready=on.may_work,
        ),
        PeriodicWork(
            "windows",
            partial(_while, on.may_work, partial(settle_once, backends)),
            "windows_wait",
            pause=pace.windows_seconds,
            ready=on.may_work,
        ),
        PeriodicWork(
            "words",
            partial(merge_words, backends.database, pause=pace.words_seconds / _MERGE_STEPS),
            "words_merge_waits",
            pause=pace.words_seconds,
            ready=on.may_work,
            wanted=on.words_missing,
        ),
        PeriodicWork(
            "recall log",
            partial(write_recalls, backends),
            "recall_log_waits",
            pause=recall_log.WRITE_SECONDS,
            delay=recall_log.WRITE_SECONDS,
            ready=on.served,
            unready_seconds=recall_log.WRITE_SECONDS,
        ),
        PeriodicWork(
            "model spend",
            partial(write_spend, backends),
            "model_spend_waits",
            pause=language_model.WRITE_SECONDS,
            delay=language_model.WRITE_SECONDS,
            ready=on.served,
            unready_seconds=language_model.WRITE_SECONDS,
            needed=backends.model is not None,
        ),
        PeriodicWork(
            "snapshots",
            partial(snapshot_all, backends, backends.snapshots_kept, on.may_work),
            "snapshots_wait",
            pause=_unless_cut_off(snapshots.LOOK_SECONDS, on.may_work),
            ready=on.may_work,
            needed=bool(backends.snapshots_kept),
        ),
        PeriodicWork(
            "archive",
            partial(archive_all, backends, backends.archive_days or 0, on.may_work),
            "archive_waits",
            pause=_unless_cut_off(archive.LOOK_SECONDS, on.may_work),
            ready=on.may_work,
            needed=bool(backends.archive_days),
        ),
    ]
    return [work for work in works if work.needed]


async def _while(ready: Callable[[], bool], work: Callable[[], Awaitable[int]]) -> None:
    """Do work until nothing of it was finished, or until it may not go on."""
    while ready() and await work():
        pass


def _unless_cut_off(seconds: float, ready: Callable[[], bool]) -> Callable[[bool], float]:
    """Return a pause of so many seconds; a short one after work that was cut off, which goes on soon."""
    return lambda _: seconds if ready() else READY_SECONDS
