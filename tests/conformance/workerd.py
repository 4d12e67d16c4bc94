"""Programs of node that run a Worker on workerd, Cloudflare's own runtime."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

from tests.conformance.toolchain import FOLDER, NODE

START_SECONDS = 300.0
"""A start takes three seconds. The bound is for a machine that does much else, and a program that never answers."""
_STOP_SECONDS = 10.0


@contextmanager
def running_program(program: str, *arguments: str, temporary: Path) -> Iterator[Any]:
    """Run a program as a process group, so that workerd never outlives it, and give the JSON that it begins with."""
    process = subprocess.Popen(
        [NODE, program, *arguments],
        cwd=FOLDER,
        env={"TMPDIR": str(temporary), "HOME": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    too_late = Timer(START_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    too_late.start()
    try:
        with process.stdin, process.stdout:
            said = process.stdout.readline()
            too_late.cancel()
            assert said, f"{program} did not start"
            yield json.loads(said)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    finally:
        too_late.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
