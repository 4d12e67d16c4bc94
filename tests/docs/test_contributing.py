"""The worked example of docs/contributing.md, performed in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|diff) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def perform(kind: str, path: Path, block: str) -> None:
    """Write a new file, or change one as a diff says."""
    if kind == "python":
        assert not path.exists(), path
        path.write_text(block, encoding="utf-8")
        return
    lines = block.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_a_channel_is_added_with_four_files_and_its_test(tmp_path: Path) -> None:
    steps = BLOCK.findall((ROOT / "docs" / "contributing.md").read_text(encoding="utf-8"))
    changed = {path for _, path, _ in steps}
    assert len([path for path in changed if path.startswith("app/")]) == 4
    for folder in ("app", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for kind, path, block in steps:
        perform(kind, tmp_path / path, block)
    (test,) = (path for path in changed if path.startswith("tests/"))
    command = [sys.executable, "-m", "pytest", "-q", test]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    where = [sys.executable, "-c", "import app; print(app.__file__)"]
    assert str(tmp_path) in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
