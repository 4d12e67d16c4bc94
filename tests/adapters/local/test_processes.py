"""Who uses a file on this machine: one that lives is never taken for dead, and one that has died is."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.adapters.local.processes import LockedProcesses

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")

ENTERS = """
import sys
from pathlib import Path
from app.adapters.local.processes import LockedProcesses
LockedProcesses(Path(sys.argv[1]), sys.argv[2]).enter()
print("entered", flush=True)
sys.stdin.read()
"""


@contextmanager
def another(folder: Path, name: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-c", ENTERS, str(folder), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"entered\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_process_is_dead_until_it_is_forgotten(tmp_path: Path) -> None:
    own = LockedProcesses(tmp_path / "processes", "own")
    own.enter()
    with another(tmp_path / "processes", "a.host:1:ff") as process:
        assert own.dead() == []
        process.kill()
        process.wait()
        assert own.dead() == own.dead() == ["a.host:1:ff"]
    own.forget("a.host:1:ff")
    assert own.dead() == []
    assert [path.name for path in (tmp_path / "processes").iterdir()] == ["own"]


def test_only_one_releases_what_the_dead_held(tmp_path: Path) -> None:
    one, other = LockedProcesses(tmp_path, "one"), LockedProcesses(tmp_path, "other")
    with another(tmp_path, "dead") as process:
        process.kill()
        process.wait()
    assert (one.dead(), other.dead()) == (["dead"], [])
    one.leave()
    assert other.dead() == ["dead"], "the first stopped before it had released anything"
    other.leave()


def test_one_that_leaves_is_not_dead(tmp_path: Path) -> None:
    one, other = LockedProcesses(tmp_path, "one"), LockedProcesses(tmp_path, "other")
    one.enter()
    other.enter()
    other.enter()
    other.leave()
    assert one.dead() == []
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    one.leave()


def test_where_no_lock_can_be_made_nobody_is_taken_for_dead(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    own = LockedProcesses(tmp_path / "file", "own")
    own.enter()
    assert own.dead() == []
    own.leave()


HAS_ITS_TURN = """
import sys
from pathlib import Path
from app.adapters.local.processes import LockedProcesses
assert LockedProcesses(Path(sys.argv[1]), "another").begin_turn()
print("begun", flush=True)
sys.stdin.read()
"""


def test_one_process_has_its_turn_at_a_time_and_a_killed_one_no_longer(tmp_path: Path) -> None:
    own, folder = LockedProcesses(tmp_path / "processes", "own"), tmp_path / "processes"
    own.enter()
    assert own.begin_turn()
    assert not LockedProcesses(folder, "same").begin_turn()
    own.end_turn()
    command = [sys.executable, "-c", HAS_ITS_TURN, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        assert not own.begin_turn()
        assert own.dead() == []
        process.kill()
        process.wait()
    assert own.begin_turn()
    own.end_turn()
    own.leave()


def test_where_no_file_can_be_made_every_process_has_its_turn(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    processes = LockedProcesses(tmp_path / "file", "own")
    assert processes.begin_turn()
    processes.end_turn()
    assert processes.begin_turn()
