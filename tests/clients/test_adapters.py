"""What every adapter of the Python client must be: the folders are enumerated, none is named."""

import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.services.access.credentials import Credentials
from tests.clients.environments import environment_of, python_of
from tests.process.server import SECRET, Server

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
WITHIN = Path("memory_gateway_client", "adapters")
ADAPTERS = sorted(path.parent.name for path in (PACKAGE / WITHIN).glob("*/__init__.py"))
BLOCKS = {
    name: re.findall(r"```python\n(.*?)```", (PACKAGE / WITHIN / name / "README.md").read_text("utf-8"), re.DOTALL)
    for name in ADAPTERS
}
NEEDS_A_MODEL = re.compile(r"\b\w*(agent|model)\b", re.IGNORECASE)
"""Whoever makes an agent, or names a model, needs one; ``agent_id`` alone does not."""
SECONDS = 60

# Python runs this before anything else: it notes every host that the process looks up or connects to.
WATCH = """
import json, os, sys

def watch(event, arguments):
    if event in {"socket.getaddrinfo", "socket.connect", "socket.sendto"}:
        host = arguments[0] if event == "socket.getaddrinfo" else arguments[1][0]
        with open(os.environ["WATCHED"], "a") as file:
            print(json.dumps(str(host)), file=file)

sys.addaudithook(watch)
"""


@pytest.fixture(params=ADAPTERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(name: str) -> Path:
    return PACKAGE / WITHIN / name


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    return tmp_path / "watched"


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """The embedded default, for all adapters, each with an agent of its own."""
    folder = tmp_path_factory.mktemp("served")
    server = Server.spawn(folder / "data", folder / "log", EMBEDDER="auto")
    await server.ready()
    yield server
    await server.stop()


@pytest.fixture
def python(folder: Path) -> str:
    """The Python of the environment in which the adapter lives."""
    return python_of(environment_of(folder))


def run(
    python: str, server: Server, watched: Path, *arguments: str, agent: str = "assistant", admin: bool = False
) -> str:
    """Run Python in a process of its own, as an agent's program would be; return what it prints."""
    now = time.time_ns() // 1_000_000
    credential = Credentials({"test": SECRET}).issue("test", now=now, agent_id=None if admin else agent, admin=admin)
    environment = {
        "PYTHONPATH": f"{watched.with_name('watch')}:{PACKAGE}",
        "PATH": os.environ["PATH"],
        "WATCHED": str(watched),
        "HOME": str(watched.parent),
        "MEMORY_GATEWAY_URL": server.url,
        "MEMORY_GATEWAY_TOKEN": credential,
        "MEMORY_GATEWAY_AGENT": agent,
    }
    done = subprocess.run(
        [python, *arguments],
        cwd=watched.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reached(watched: Path) -> set[str]:
    return {json.loads(line) for line in watched.read_text().splitlines()}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in ADAPTERS[::3])) for name in ADAPTERS]
)
async def test_what_one_process_was_told_the_agent_of_another_answers(
    name: str, python: str, server: Server, watched: Path
) -> None:
    example, code = ["-m", f"memory_gateway_client.adapters.{name}.example"], secrets.token_hex(4)
    run(python, server, watched, *example, "remember", f"The door code of the office is {code}.", agent=name)
    assert code in run(python, server, watched, *example, "ask", "What is the door code of the office?", agent=name)
    assert reached(watched) == {"127.0.0.1"}


def test_an_environment_that_is_not_installed_is_a_failure_in_ci_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/nowhere")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make conformance"):
        python_of("frameworks")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="make conformance"):
        python_of("frameworks")


def test_an_adapter_is_one_folder_with_all_of_it(folder: Path) -> None:
    files = {path.name for path in folder.iterdir()}
    assert files >= {"__init__.py", "README.md", "requires.txt", "example.py"}
    assert any(file.startswith("test_") for file in files)
    extra = folder.name.replace("_", "-")
    assert f"clients/python[{extra}]" in (folder / "README.md").read_text("utf-8")
    needs = [line for line in (folder / "requires.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert needs
    assert all(re.search(r">=\d", need) for need in needs if need), "each with a lower bound"


def test_a_readme_shows_code_that_compiles(name: str) -> None:
    assert BLOCKS[name]
    for block in BLOCKS[name]:
        compile(block, f"{name}/README.md", "exec")


@pytest.mark.thorough
async def test_what_a_readme_shows_without_a_model_runs(name: str, python: str, server: Server, watched: Path) -> None:
    for block in BLOCKS[name]:
        if not NEEDS_A_MODEL.search(block):
            run(python, server, watched, "-c", block, admin=True)


def extras(package: Path) -> dict[str, list[str]]:
    """Return the extras that the package would be built with."""
    spec = importlib.util.spec_from_file_location("hatch_build", package / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metadata: dict[str, Any] = {}
    module.Extras(str(package), {}).update(metadata)
    found: dict[str, list[str]] = metadata["optional-dependencies"]
    return found


def test_an_adapter_is_removed_by_deleting_its_folder(name: str, tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__"))
    before = extras(copy)
    assert set(before) == {each.replace("_", "-") for each in ADAPTERS}
    shutil.rmtree(copy / WITHIN / name)
    after = extras(copy)
    assert after == {extra: needs for extra, needs in before.items() if extra != name.replace("_", "-")}
    code = "import memory_gateway_client.adapters, memory_gateway_client.tools; print(memory_gateway_client.__file__)"
    environment = {"PYTHONPATH": str(copy)}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(copy)


def test_nothing_outside_its_folder_names_an_adapter(name: str, folder: Path) -> None:
    named = re.compile(rf"adapters[./]{name}\b")
    for path, text in texts().items():
        assert path.is_relative_to(folder) or not named.search(text), path


@cache
def texts() -> dict[Path, str]:
    """Read the repository but for its README, which tells of all adapters and has a test of its own."""
    paths = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    for top in ("app", "bench", "clients", "deploy", "docs", "tests"):
        for folder, folders, files in os.walk(ROOT / top):
            folders[:] = [name for name in folders if name not in {"node_modules", "__pycache__"}]
            paths += [Path(folder, file) for file in files]
    readable = {".py", ".md", ".toml", ".txt", ".json", ""}
    return {path: path.read_text("utf-8", errors="replace") for path in paths if path.suffix in readable}
