"""The distribution, built and installed as a user does it, has the model. It needs a package index."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.deploy.commands import SETTINGS
from tests.support.deployments import Deploying, write_wrangler

ROOT = Path(__file__).parents[2]
_MOST_BYTES = 325_000_000
"""What the packages of a service and its model may take together, without what is not needed of them."""
_LEFT_OUT = SETTINGS | {"VIRTUAL_ENV", "PYTHONPATH"}


class Installed:
    """``memory-gateway`` in a virtual environment of its own, run in a folder that is not the project's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "share")}
        self._environment = kept | own | {"PIP_NO_COMPILE": "1"}  # of what is installed, little is loaded
        source = folder / "source"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "app", "deploy"]
        listed.append("clients/claude-code")
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        for name in [*filter(None, names), "pyproject.toml", "README.md"]:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
        self._run(sys.executable, "-m", "venv", "made")
        self._run("made/bin/python", "-m", "pip", "install", "--quiet", "./source")

    def run(self, *arguments: str, **settings: str) -> str:
        return self._run("made/bin/memory-gateway", *arguments, **settings)

    def size(self) -> int:
        """Return the bytes of the packages, without pip and bytecode."""
        (packages,) = (self.folder / "made" / "lib").glob("*/site-packages")
        files = [path.relative_to(packages) for path in packages.rglob("*") if path.is_file()]
        counted = (path for path in files if path.parts[0] not in {"pip", "setuptools"} and path.suffix != ".pyc")
        return sum((packages / path).stat().st_size for path in counted)

    def delete_unneeded(self) -> str:
        return self._run("made/bin/python", "source/deploy/unneeded.py")

    def _run(self, *command: str, **settings: str) -> str:
        env = self._environment | settings
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


def test_what_pip_installs_recalls_by_meaning(installed: Installed) -> None:
    installed.run("store", "Ann cannot eat nuts")
    installed.run("store", "The office closes at six")
    first = installed.run("recall", "which allergies does she have?").splitlines()[0]
    assert "Ann cannot eat nuts" in first


def test_it_keeps_memories_in_a_folder_of_the_user(installed: Installed) -> None:
    installed.run("store", "text")
    assert (installed.folder / "share" / "memory-gateway" / "memory.sqlite3").is_file()


def test_it_says_its_version(installed: Installed) -> None:
    assert installed.run("--version").startswith("memory-gateway, version ")


def test_it_has_the_hooks(installed: Installed) -> None:
    assert "usage: memory-gateway hook COMMAND" in installed.run("hook", "help")


def test_it_has_the_sources_of_the_worker_that_it_deploys(installed: Installed) -> None:
    with running(DoubleOptions(visibility_seconds=(0, 0))) as account:
        wrangler = write_wrangler(installed.folder)
        settings = {**Deploying(account, installed.folder).env, "WRANGLER": str(wrangler)}
        installed.run("deploy", "cloudflare", "--yes", "--poll-seconds", "0.01", **settings)
        (module,) = (script.modules["worker.js"] for script in account.double.workers.scripts.values())
        assert module == (ROOT / "deploy" / "edge" / "src" / "worker.ts").read_bytes()


def test_without_what_the_service_does_not_load_it_works_and_is_a_quarter_smaller(installed: Installed) -> None:
    before = installed.size()
    assert "Deleted" in installed.delete_unneeded()
    assert installed.size() < min(_MOST_BYTES, before * 0.8)
    installed.run("store", "Ben repairs bicycles", "--agent", "ben")
    assert "bicycles" in installed.run("recall", "who mends my bike?", "--agent", "ben")
