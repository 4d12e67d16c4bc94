"""What the npm package does when things go wrong, in node's own test runner, in the oldest node and in a newer one."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conformance.npm_package import Project, archive, run
from tests.conformance.toolchain import CLIENT, NEWER_NODE, OLDEST_NODE

__all__ = ["archive"]

TESTS = sorted(path.name for path in (CLIENT / "tests").glob("*.test.mjs"))


@pytest.mark.parametrize("node", [OLDEST_NODE, NEWER_NODE], ids=["oldest", "newer"])
def test_the_behaviours_hold(archive: Path, tmp_path: Path, node: Path) -> None:
    project = Project.new(tmp_path / "project", archive)
    shutil.copytree(CLIENT / "tests", project.folder, dirs_exist_ok=True)
    done = run(node, "--test", "--test-reporter=tap", *TESTS, within=project.folder)
    assert done.returncode == 0, done.stdout[-20_000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE), done.stdout[-2_000:]
