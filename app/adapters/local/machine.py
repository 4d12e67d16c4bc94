"""What this process may use of the machine: its processors and its memory, within a container's limits (cgroups).

https://docs.kernel.org/admin-guide/cgroup-v2.html; of version 1 the same limits are read by their older names.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def processors(root: Path = ROOT) -> int:
    """Return how many processors this process may use, at least 1; of a quota of 1.5 processors 1 is counted."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    quotas = [
        *(_share(*words) for words in _limits(root, "", "cpu.max")),
        *(
            _share(*quota, *period)
            for quota, period in zip(
                _limits(root, "cpu", "cpu.cfs_quota_us"), _limits(root, "cpu", "cpu.cfs_period_us"), strict=False
            )
        ),
    ]
    return max(1, int(min([count, *quotas])))


def memory_bytes(root: Path = ROOT) -> int | None:
    """Return how many bytes of memory this process and those beside it may use; None where the system does not tell."""
    sizes = [
        int(words[0])
        for words in [*_limits(root, "", "memory.max"), *_limits(root, "memory", "memory.limit_in_bytes")]
        if words[0].isdigit()
    ]
    try:
        told = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes += [int(line.split()[1]) * 1024 for line in told if line.startswith("MemTotal:")]
    return min(sizes, default=None)


def _share(quota: str, period: str) -> float:
    """Return the processors of a quota; "max", or a negative one, is no limit."""
    return int(quota) / int(period) if quota.isdigit() and int(period) else float("inf")


def _limits(root: Path, controller: str, file: str) -> Iterator[list[str]]:
    """Give the words of a file of this process's group and of each group around it; ``controller`` is empty in v2."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in groups):
        if controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / controller
        group = top / path.lstrip("/")
        for folder in [group, *group.parents]:
            if folder.is_relative_to(top) and (folder / file).is_file() and (words := _words(folder / file)):
                yield words


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []
