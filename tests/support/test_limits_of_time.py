"""A test that waits for ever fails, instead of keeping the others from their end."""

import subprocess
import sys
from pathlib import Path

import pytest

# The loop sleeps when the alarm comes: one that falls into a callback of the loop is only logged.
WAITS = """
import asyncio
import threading

import pytest

@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"

@pytest.mark.parametrize("lock", [threading.Lock()])
@pytest.mark.timeout(0.3)
def test_waits_for_a_lock(lock):
    lock.acquire()
    lock.acquire()

@pytest.mark.timeout(0.3)
async def test_waits_for_an_event():
    await asyncio.Event().wait()

@pytest.mark.timeout(0.3)
async def test_polls():
    while True:
        await asyncio.sleep(0.2)

async def test_of_the_same_process():
    await asyncio.sleep(0)
"""


def test_every_test_has_a_limit_of_time(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.hasplugin("timeout")
    assert all(item.get_closest_marker("timeout") for item in request.session.items)


@pytest.mark.thorough
def test_a_test_beyond_its_limit_fails_and_those_after_it_run(tmp_path: Path) -> None:
    (tmp_path / "test_waits.py").write_text(WAITS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    command += ["-p", "no:langsmith_plugin"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert "3 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert run.stdout.count("Timeout") >= 3
