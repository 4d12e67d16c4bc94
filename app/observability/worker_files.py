"""The files in which the workers of a service keep their counters and histograms, as prometheus_client has them."""

import json
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if sys.platform != "win32":  # there is one worker
    import fcntl

_SUMS = ("counter", "histogram")
_ENDED = "ended"
"""Stands for the process in the name of the files that have the sums of workers that have ended."""
_DAMAGED = (RuntimeError, ValueError, struct.error)


class WorkersCollector(MultiProcessCollector):
    """Adds up the metrics of all workers, while none that has ended is moved from its own files into the sums."""

    def collect(self) -> Iterable[Metric]:
        """Read the files."""
        with _locked(Path(self._path), alone=False):
            found: Iterable[Metric] = super().collect()  # type: ignore[no-untyped-call]
            return found


def add_to_ended(pid: int, folder: Path) -> None:
    """Add the counts of a worker that has ended to those of all that have, and remove its files.

    They would be one file more for each, which every reading of the metrics reads.
    """
    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
    with _locked(folder, alone=True):
        for kind in _SUMS:
            of_worker = folder / f"{kind}_{pid}.db"
            if of_worker.exists():
                _add(of_worker, folder / f"{kind}_{_ENDED}.db")
                of_worker.unlink()


def _add(of_worker: Path, of_ended: Path) -> None:
    try:
        read = MmapedDict.read_all_values_from_file(str(of_worker))  # type: ignore[no-untyped-call]
        counts = [(key, value) for key, value, *_ in read if json.loads(key)]
    except _DAMAGED as error:  # the worker was killed at a write, and no reading of the metrics may fail for ever
        structlog.get_logger().warning("metrics_of_a_worker_lost", reason=str(error))
        return
    sums = MmapedDict(str(of_ended))  # type: ignore[no-untyped-call]
    for key, count in counts:
        before, _ = sums.read_value(key)  # type: ignore[no-untyped-call]
        sums.write_value(key, before + count, 0.0)  # type: ignore[no-untyped-call]
    sums.close()  # type: ignore[no-untyped-call]


@contextmanager
def _locked(folder: Path, *, alone: bool) -> Iterator[None]:
    """Keep the files as they are; ``alone``: keep others from reading them, for as long as a small file takes."""
    if sys.platform == "win32":
        yield
        return
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(file)
