"""The Dockerfile's steps, done. They need root and a package index."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.dockerfile import Stage, read_stages
from tests.deploy.machine import Machine

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become the image's user")
_START_SECONDS = 60


@pytest.fixture(scope="module")
def image() -> Stage:
    return read_stages()[-1]


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    directory = Path(tempfile.mkdtemp(prefix="memory-gateway-image-"))
    directory.chmod(0o755)  # the image's user has to get in
    try:
        machine = Machine(directory)
        machine.build(read_stages())
        yield machine
    finally:
        shutil.rmtree(directory)


@contextmanager
def _serving(machine: Machine, image: Stage) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the image's command until its health check passes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    check = image.last("HEALTHCHECK").exec_form or []
    with machine.start(image.command, PORT=port) as process:
        try:
            until = time.monotonic() + _START_SECONDS
            while machine.run(check, PORT=port) != 0:
                assert process.poll() is None, "the service ended"
                assert time.monotonic() < until, "the health check never passed"
                time.sleep(0.2)
            yield process, port
        finally:
            process.kill()


def _get(port: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        read: dict[str, Any] = json.load(answer)
    return read


def test_the_image_serves_as_its_user_and_writes_to_its_volume_alone(machine: Machine, image: Stage) -> None:
    before = machine.files()
    with _serving(machine, image) as (process, port):
        ready = _get(port, "/readyz")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, -signal.SIGTERM}
    assert ready["status"] == "ready"
    assert ready["embedding_config"]["provider"] == "local", "the model is in the image"
    assert machine.files() == before
    kept = {path.name: path.stat().st_uid for path in (machine.root / "data").iterdir()}
    assert {"memory.sqlite3", "auth-secret"} <= kept.keys()
    assert set(kept.values()) == {machine.user}


def test_every_part_is_well_in_the_image(machine: Machine, image: Stage) -> None:
    entry, _ = image.command
    assert machine.run([entry, "doctor"]) == 0
    assert machine.run([entry, "token", "--tenant", "acme"]) == 0


def test_the_health_check_fails_where_nothing_listens(machine: Machine, image: Stage) -> None:
    assert machine.run(image.last("HEALTHCHECK").exec_form or [], PORT="1") == 1


def test_the_image_can_install_nothing(machine: Machine) -> None:
    assert machine.run(["python", "-c", "import pip"]) == 1
    assert machine.run(["python", "-c", "import flit_core"]) == 1
