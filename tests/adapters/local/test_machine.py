"""What a process may use of the machine is what its container lets it use."""

import os
from pathlib import Path

import pytest

from app.adapters.local.machine import memory_bytes, processors

GIB = 1024**3


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)


def machine(root: Path, groups: str = "", **files: str) -> Path:
    """Write the files of a machine with 16 GiB; ``files`` have paths below /sys/fs/cgroup, with ``__`` for ``/``."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal:       {16 * 1024**2} kB\nMemFree: 1 kB\n")
    if groups:
        (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_a_container_all_processors_and_all_memory_are_counted(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert (processors(root), memory_bytes(root)) == (8, 16 * GIB)


@pytest.mark.parametrize(
    ("quota", "count"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 1),
        ("50000 100000", 1),
        ("1600000 100000", 8),
        ("", 8),
        ("100000 0", 8),
    ],
)
def test_a_quota_of_processors_is_counted_in_whole_ones(tmp_path: Path, quota: str, count: int) -> None:
    assert processors(machine(tmp_path, "0::/\n", cpu_DOT_max=quota)) == count


def test_the_limit_of_a_group_around_this_one_holds_too(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        "0::/pod/service\n",
        pod__cpu_DOT_max="300000 100000",
        pod__service__cpu_DOT_max="max 100000",
        pod__memory_DOT_max=str(2 * GIB),
        pod__service__memory_DOT_max="max",
    )
    assert (processors(root), memory_bytes(root)) == (3, 2 * GIB)


@pytest.mark.parametrize("group", ["", "docker__abc__"])
def test_the_limits_of_the_older_version_hold_also_where_the_path_is_the_hosts(tmp_path: Path, group: str) -> None:
    root = machine(
        tmp_path,
        "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
        **{
            f"cpu__{group}cpu_DOT_cfs_quota_us": "200000",
            f"cpu__{group}cpu_DOT_cfs_period_us": "100000",
            f"memory__{group}memory_DOT_limit_in_bytes": str(GIB),
        },
    )
    assert (processors(root), memory_bytes(root)) == (2, GIB)


def test_the_older_versions_numbers_for_no_limit_are_none(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        "5:cpu:/\n4:memory:/\n",
        cpu__cpu_DOT_cfs_quota_us="-1",
        cpu__cpu_DOT_cfs_period_us="100000",
        memory__memory_DOT_limit_in_bytes="9223372036854771712",
    )
    assert (processors(root), memory_bytes(root)) == (8, 16 * GIB)


def test_a_system_that_does_not_tell_has_no_known_memory(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path) is None
    assert processors(tmp_path) == 8
