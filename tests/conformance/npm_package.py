"""The npm package as it is published: built of a copy of its folder, packed, and installed into projects of others."""

import fcntl
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.interfaces.http.application import openapi_document
from tests.conformance.toolchain import CLIENT, OLDEST_NODE

_MODULES = CLIENT / "node_modules"
SECONDS = 400
"""Of any command: the tests of an adapter may start Claude Code for each turn."""


def run(*command: str | Path, within: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without what this process has of npm's and of the service's settings."""
    kept = {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL"}
    ours = {name: value for name, value in os.environ.items() if name in kept}
    return subprocess.run(
        command,
        cwd=within,
        env=ours | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def ran(*command: str | Path, within: Path, **environment: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    done = run(*command, within=within, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_archive(folder: Path) -> Path:
    """Build and pack the package in a folder; return the archive. It is made once for all processes of a run."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (packed := list(folder.glob("*.tgz"))):
            source = folder / "package"
            shutil.rmtree(source, ignore_errors=True)
            shutil.copytree(CLIENT, source, ignore=shutil.ignore_patterns("node_modules", "dist", "generated"))
            (source / "node_modules").symlink_to(_MODULES)
            (source / "openapi.json").write_text(json.dumps(openapi_document()), encoding="utf-8")
            ran("npm", "run", "build", within=source)
            ran("npm", "pack", "--pack-destination", folder, within=source)
            packed = list(folder.glob("*.tgz"))
        (archive,) = packed
        return archive


@dataclass(frozen=True, slots=True)
class Project:
    """A project of somebody else, into which the archive is installed."""

    folder: Path

    @classmethod
    def new(cls, folder: Path, archive: Path, *vendors: str) -> "Project":
        """Make an empty project with the package, and with what is installed of these vendors."""
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        ran("npm", "install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", archive, within=folder)
        for vendor in vendors:
            link = folder / "node_modules" / vendor
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(_MODULES / vendor)
        return cls(folder)

    def write(self, name: str, text: str) -> Path:
        """Put a file into it."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def node(self, file: str, *arguments: str, node: Path = OLDEST_NODE, **environment: str) -> str:
        """Run a file of it, which must succeed, and return what it prints."""
        return ran(node, file, *arguments, within=self.folder, **environment)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed archive of the npm package."""
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    return build_archive((base.parent if parallel else base) / "npm-package")
