"""Cloudflare's own D1 engine: workerd, run by miniflare, behind the REST query endpoint of ``node/d1-worker.js``."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from tests.conformance.toolchain import FOLDER, NODE

_DATABASES = 540
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class D1Engine:
    """A running engine and the databases of it that nobody has used yet."""

    url: str
    unused: list[str]

    def empty_database(self) -> str:
        """Return the id of a database no other test has."""
        return self.unused.pop()


@contextmanager
def running_engine(temporary: Path) -> Iterator[D1Engine]:
    """Run the engine as a process group, so that workerd never outlives the node that started it."""
    process = subprocess.Popen(
        [NODE, "d1-engine.js", str(_DATABASES)],
        cwd=FOLDER,
        env={"TMPDIR": str(temporary), "HOME": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    too_late = Timer(_START_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    too_late.start()
    try:
        with process.stdin, process.stdout:
            said = process.stdout.readline()
            too_late.cancel()
            assert said, "the engine did not start"
            started = json.loads(said)
            yield D1Engine(started["url"], started["databases"])
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    finally:
        too_late.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
