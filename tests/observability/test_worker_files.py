"""The counts of workers that have ended stay in the sums, and their files do not."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from app.observability.worker_files import WorkersCollector, add_to_ended

FILES = {"counter": "stores_total", "histogram": "seconds_sum", "gauge_livemin": "left"}


def worker(folder: Path, pid: int, count: float) -> None:
    """Leave the files of a worker."""
    for kind, name in FILES.items():
        file = MmapedDict(str(folder / f"{kind}_{pid}.db"))  # type: ignore[no-untyped-call]
        key = mmap_key(name.partition("_")[0], name, [], [], "help")
        file.write_value(key, count, 1.0)  # type: ignore[no-untyped-call]
        file.close()  # type: ignore[no-untyped-call]


def shown(folder: Path) -> Mapping[str, float]:
    registry = CollectorRegistry()
    WorkersCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    return {sample.name: sample.value for metric in registry.collect() for sample in metric.samples}


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.db")}


def test_however_many_workers_have_ended_their_counts_are_in_one_file_of_each_kind(tmp_path: Path) -> None:
    worker(tmp_path, 1, 100)
    for pid in range(2, 30):
        worker(tmp_path, pid, pid)
        before = shown(tmp_path)
        add_to_ended(pid, tmp_path)
        sums = {name: value for name, value in before.items() if name != "left"}
        assert shown(tmp_path) == {**sums, "left": 100}
    assert files(tmp_path) == {
        *(f"{kind}_1.db" for kind in FILES),
        "counter_ended.db",
        "histogram_ended.db",
    }
    assert shown(tmp_path)["stores_total"] == 100 + sum(range(2, 30))


def test_a_worker_that_comes_under_the_number_of_one_that_has_ended_counts_anew(tmp_path: Path) -> None:
    for _ in range(3):
        worker(tmp_path, 7, 2)
        add_to_ended(7, tmp_path)
    assert shown(tmp_path)["stores_total"] == 6


@pytest.mark.parametrize("damage", [b"\xff" * 100, b"\x00\x10\x00\x00" + b"\xff" * 60, b"", b"\x01"])
def test_a_damaged_file_of_a_worker_that_was_killed_keeps_no_metrics_from_being_shown(
    tmp_path: Path, damage: bytes
) -> None:
    worker(tmp_path, 1, 4)
    (tmp_path / "counter_2.db").write_bytes(damage)
    add_to_ended(2, tmp_path)
    assert shown(tmp_path)["stores_total"] == 4


def test_a_worker_without_files_changes_nothing(tmp_path: Path) -> None:
    worker(tmp_path, 1, 4)
    add_to_ended(2, tmp_path)
    assert files(tmp_path) == {f"{kind}_1.db" for kind in FILES}


def test_sums_that_are_read_while_workers_end_never_fall_or_rise(tmp_path: Path) -> None:
    pids = range(1, 40)
    for pid in pids:
        worker(tmp_path, pid, 1)

    def end() -> None:
        for pid in pids:
            add_to_ended(pid, tmp_path)

    ending = threading.Thread(target=end)
    ending.start()
    read = {shown(tmp_path)["stores_total"]}
    while ending.is_alive():
        read.add(shown(tmp_path)["stores_total"])
    ending.join()
    assert read | {shown(tmp_path)["stores_total"]} == {len(pids)}
