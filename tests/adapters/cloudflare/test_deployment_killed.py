"""A deployment whose run ends anywhere, by a kill or by a call that goes wrong, is gone on with by the next run."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import UpstreamTimeout
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault, Faults
from memory_gateway_double.server import running
from tests.support.deployments import NAME, NOTHING, Account, Deploying, StruckCall, whole, write_wrangler
from tests.support.generation import LONG

pytestmark = pytest.mark.thorough


@pytest.fixture
def deploying(tmp_path: Path) -> Iterator[Deploying]:
    write_wrangler(tmp_path)
    with running(DoubleOptions(visibility_seconds=(0, 0), rate_limit=False)) as account:
        yield Deploying(account, tmp_path)


STRIKES = [
    pytest.param(Fault(kind="cut"), 1 if LONG else 7, id="before"),
    pytest.param(Fault(kind="after_effect_cut"), 1 if LONG else 5, id="after"),
    pytest.param(Fault(kind="half_body"), 5 if LONG else 11, id="half an answer"),
    pytest.param(Fault(status=429, headers={"retry-after": "1"}), 5 if LONG else 11, id="429"),
    pytest.param(Fault(status=500), 5 if LONG else 13, id="500"),
    pytest.param(Fault(kind="invalid_json"), 5 if LONG else 13, id="nonsense"),
]
"""What goes wrong, and at each of how many calls."""


@pytest.mark.parametrize(("fault", "step"), STRIKES)
def test_whatever_call_goes_wrong_another_run_ends_in_the_same_state(tmp_path: Path, fault: Fault, step: int) -> None:
    """A call of a deployment, and then one of its destruction, goes wrong once in a run of its own."""
    struck, number = True, 0
    while struck:
        number += step
        folder = tmp_path / f"{number}"
        folder.mkdir()
        write_wrangler(folder)
        with running(DoubleOptions(visibility_seconds=(0, 0), rate_limit=False)) as account:
            deploying = Deploying(account, folder)
            struck = fails_once(deploying, number, fault, "--yes")
            assert deploying.run("--yes").exit_code == 0, f"call {number}"
            assert Account.of(account) == whole(deploying), f"call {number}"
            assert set(deploying.states().values()) == {"exists"}, f"call {number}"
            struck = fails_once(deploying, number, fault, "destroy", "--yes", "--name", NAME) or struck
            assert deploying.run("destroy", "--yes", "--name", NAME).exit_code == 0, f"call {number}"
            assert Account.of(account) == NOTHING, f"call {number}"
    assert number > 40


def test_a_deployment_that_ended_half_way_is_taken_back(tmp_path: Path) -> None:
    struck, number = True, 0
    while struck:
        number += 3 if LONG else 7
        folder = tmp_path / f"{number}"
        folder.mkdir()
        write_wrangler(folder)
        with running(DoubleOptions(visibility_seconds=(0, 0), rate_limit=False)) as account:
            deploying = Deploying(account, folder)
            struck = fails_once(deploying, number, Fault(kind="after_effect_cut"), "--yes")
            assert deploying.run("destroy", "--yes", "--name", NAME).exit_code == 0, f"call {number}"
            assert Account.of(account) == NOTHING, f"call {number}"
    assert number > 40


@pytest.mark.parametrize("operation", ["d1.create", "vectorize.create", "r2_buckets.create"])
def test_a_creation_whose_answer_comes_too_late_is_found_by_the_next_run(deploying: Deploying, operation: str) -> None:
    late = Fault(kind="delay", delay_seconds=11)
    deploying.account.double.faults = StruckCall(2, late, operation=operation)  # the first finds out the rights
    assert isinstance(deploying.run("--yes").exception, UpstreamTimeout)
    deploying.account.double.faults = Faults()
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)


def fails_once(deploying: Deploying, number: int, fault: Fault, *words: str) -> bool:
    """Run the command with one call that goes wrong; return whether it came to this call."""
    faults = deploying.account.double.faults = StruckCall(number, fault)
    deploying.run(*words)
    deploying.account.double.faults = Faults()
    return faults.struck


@pytest.mark.parametrize("at", range(10, 70, 6 if LONG else 30))
def test_a_run_that_is_killed_is_gone_on_with(deploying: Deploying, at: int) -> None:
    """The process is killed at a call, which is carried out and answered to nobody."""
    line = "from app.interfaces.cli import main; main()"
    words = [sys.executable, "-c", line, "deploy", "cloudflare", "--yes", "--poll-seconds", "0.01"]
    env = {**os.environ, **deploying.env}
    process: Any = None
    faults = deploying.account.double.faults = StruckCall(at, None, lambda: process.send_signal(signal.SIGKILL))
    process = subprocess.Popen(words, cwd=deploying.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode == -signal.SIGKILL) == faults.struck, output
    deploying.account.double.faults = Faults()
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)
    assert set(deploying.states().values()) == {"exists"}
