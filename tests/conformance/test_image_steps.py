"""The Dockerfiles' install steps and start command, run in a folder of their own. They need a package index."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.deploy.commands import SETTINGS
from tests.deploy.dockerfile import DOCKERFILES, IMAGE, ROOT, read_stages

_START_SECONDS = 60
_LEFT_OUT = SETTINGS | {"VIRTUAL_ENV", "PYTHONPATH"}


class Installed:
    """A Dockerfile's build stage, run with ``folder`` in the place of the image's root directory."""

    def __init__(self, dockerfile: Path, folder: Path) -> None:
        """Copy what the stage copies and run what it runs; then run commands as its last stage says."""
        self.folder = folder
        build, self.last = read_stages(dockerfile)
        kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        self._environment = kept | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
        source = folder / "src"
        source.mkdir()
        for step in build:
            if step.name == "COPY":
                *copied, _ = step.words
                for path in copied:
                    _copy(ROOT / path, source / path)
            elif step.name == "RUN":
                subprocess.run(["/bin/sh", "-c", self._here(step.value)], cwd=source, env=self._environment, check=True)
        shutil.rmtree(source)
        (folder / "data").mkdir()
        (folder / "elsewhere").mkdir()
        path = self._here(self.last.environment["PATH"]).replace("$PATH", self._environment["PATH"])
        set_there = {name: self._here(value) for name, value in self.last.environment.items()}
        self._environment |= set_there | {"PATH": path}

    def start(self, command: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        entry, *arguments = (self._here(word) for word in command)
        program = shutil.which(entry, path=self._environment["PATH"])
        assert program is not None, entry
        return subprocess.Popen(
            [program, *arguments], cwd=self.folder / "elsewhere", env=self._environment | environment
        )

    def run(self, command: Sequence[str], **environment: str) -> int:
        with self.start(command, **environment) as process:
            return process.wait(60)

    def files(self) -> dict[Path, int]:
        """Return when each file outside the volume was last written."""
        data = self.folder / "data"
        return {path: path.lstat().st_mtime_ns for path in self.folder.rglob("*") if data not in (path, *path.parents)}

    def _here(self, text: str) -> str:
        return re.sub(r"(?<![\w./-])/(?=(?:opt|data)\b)", f"{self.folder}/", text)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(path, id=str(path.relative_to(ROOT)), marks=[pytest.mark.long] * (path != IMAGE))
        for path in DOCKERFILES
    ],
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(request.param, tmp_path_factory.mktemp("image"))


of_the_service = pytest.mark.parametrize("installed", [IMAGE], ids=["Dockerfile"], indirect=True)


def test_what_is_installed_runs_and_can_install_nothing(installed: Installed) -> None:
    assert installed.run([installed.last.command[0], "--help"]) == 0
    assert installed.run(["python", "-c", "import pip"]) == 1
    assert installed.run(["python", "-c", "import flit_core"]) == 1


@of_the_service
def test_the_service_starts_and_writes_to_its_volume_alone(installed: Installed) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    before = installed.files()
    with installed.start(installed.last.command, HOST="127.0.0.1", PORT=port) as process:
        try:
            until = time.monotonic() + _START_SECONDS
            while installed.run(installed.last.last("HEALTHCHECK").json, PORT=port) != 0:
                assert process.poll() is None, "the service ended"
                assert time.monotonic() < until, "the health check never passed"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                ready = json.load(answer)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/console/console.css", timeout=5) as answer:
                assert answer.headers["content-type"].startswith("text/css"), "the console is in the image"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/console/sign-in", timeout=5) as answer:
                assert b"Sign in" in answer.read()
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) in {0, -signal.SIGTERM}
        finally:
            process.kill()
    assert ready["status"] == "ready"
    assert ready["embedding_config"]["provider"] == "local", "the model is in the image"
    assert installed.files() == before
    assert {"memory.sqlite3", "auth-secret"} <= {path.name for path in (installed.folder / "data").iterdir()}


@of_the_service
def test_every_part_is_well_where_it_is_installed(installed: Installed) -> None:
    entry = installed.last.command[0]
    assert installed.run([entry, "doctor"]) == 0
    assert installed.run([entry, "token", "--tenant", "acme"]) == 0


@of_the_service
def test_the_health_check_fails_where_nothing_listens(installed: Installed) -> None:
    assert installed.run(installed.last.last("HEALTHCHECK").json, PORT="1") == 1
