"""What ``make`` runs to install, told by a dry run."""

import re
import shutil
import subprocess

import pytest

from tests.deploy.dockerfile import ROOT


@pytest.fixture(scope="module")
def steps() -> list[str]:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not here")
    told = [make, "--dry-run", "--always-make", ".venv/dev"]
    printed = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return printed.replace("\\\n", " ").splitlines()


def test_every_step_that_takes_long_is_announced_before_it_begins(steps: list[str]) -> None:
    announced = 0
    for step in steps:
        announced += step.startswith("echo ")
        if " venv " in step or " install " in step:
            assert announced, step
    assert announced == 4


def test_everything_from_an_index_is_installed_by_its_hash(steps: list[str]) -> None:
    installs = [step for step in steps if "pip install" in step]
    assert installs
    for step in installs:
        assert "--require-hashes" in step or "--no-build-isolation --editable" in step, step


def test_where_uv_installs_nothing_pip_does(steps: list[str]) -> None:
    with_uv = [step for step in steps if "/uv pip install" in step]
    assert len(with_uv) == 4
    assert all(re.search(r"\|\|\s+\{.* -m pip install", step) for step in with_uv)
