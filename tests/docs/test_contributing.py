"""The worked examples of docs/contributing.md, each performed in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^## Worked example: (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|sql|diff) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(SECTION.findall((ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")))
FILES = {"a retrieval channel": 4, "a field of a memory": 9, "a route with its command": 6}
"""How many files of the product each of them changes."""


def perform(kind: str, path: Path, block: str) -> None:
    """Write a new file, or change one as a diff says."""
    if kind != "diff":
        assert not path.exists(), path
        path.write_text(block, encoding="utf-8")
        return
    lines = block.splitlines(keepends=True)
    before = "".join(line[1:] or line for line in lines if not line.startswith("+"))
    after = "".join(line[1:] or line for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_every_worked_example_is_performed() -> None:
    assert EXAMPLES.keys() == FILES.keys()


@pytest.mark.parametrize("example", FILES)
def test_a_change_fits_the_tree_and_touches_so_many_files(tmp_path: Path, example: str) -> None:
    steps = BLOCK.findall(EXAMPLES[example])
    changed = {path for _, path, _ in steps}
    assert len([path for path in changed if path.startswith("app/")]) == FILES[example]
    for path in changed:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).exists():
            shutil.copy(ROOT / path, tmp_path / path)
    for kind, path, block in steps:
        perform(kind, tmp_path / path, block)


@pytest.mark.thorough
@pytest.mark.parametrize("example", FILES)
def test_the_tests_of_a_change_pass_in_a_copy_of_the_tree(tmp_path: Path, example: str) -> None:
    steps = BLOCK.findall(EXAMPLES[example])
    for folder in ("app", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for kind, path, block in steps:
        perform(kind, tmp_path / path, block)
    tests = sorted({path for _, path, _ in steps if path.startswith("tests/")})
    command = [sys.executable, "-m", "pytest", "-q", *tests]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[1-9]\d* passed", done.stdout, re.MULTILINE)
    where = [sys.executable, "-c", "import app; print(app.__file__)"]
    assert str(tmp_path) in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
