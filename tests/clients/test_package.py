"""The package as it is built: what is in it, what it needs, and that its README runs."""

import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import anyio.to_thread
import pytest

from tests.support.service import Service

pytestmark = pytest.mark.thorough

PACKAGE = Path(__file__).parents[2] / "clients" / "python"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def built(folder: Path) -> tuple[set[str], Message]:
    """Build a wheel of the folder; return the names of its files and its metadata."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(build, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        return names, Parser().parsestr(archive.read(metadata).decode())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "dist", "*.egg-info")
    return Path(shutil.copytree(PACKAGE, tmp_path / "python", ignore=ignored))


def test_the_wheel_is_typed_and_needs_httpx_alone(copy: Path) -> None:
    names, metadata = built(copy)
    assert "memory_gateway_client/py.typed" in names
    assert not any(
        name.startswith(("tests", "hatch_build")) or "/test_" in name or "conftest" in name for name in names
    )
    always = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert [re.split(r"[<>=]", need)[0] for need in always] == ["httpx"]
    assert metadata["Requires-Python"] == "<3.15,>=3.11"


def test_each_adapter_is_an_extra_until_its_folder_is_deleted(copy: Path) -> None:
    before = set(built(copy)[1].get_all("Provides-Extra", []))
    adapter = copy / "memory_gateway_client" / "adapters" / "some_framework"
    adapter.mkdir()
    (adapter / "requires.txt").write_text("# why\nsome-framework>=1.2\n\nanother[part]\n")
    for name in ("__init__.py", "conftest.py", "example.py", "test_some_framework.py"):
        (adapter / name).write_text("")
    shutil.rmtree(copy / "dist")
    names, metadata = built(copy)
    assert set(metadata.get_all("Provides-Extra", [])) - before == {"some-framework"}
    needs = [need for need in metadata.get_all("Requires-Dist", []) if "extra == 'some-framework'" in need]
    assert sorted(need.split(";")[0] for need in needs) == ["another[part]", "some-framework>=1.2"]
    files = {Path(name).name for name in names if "adapters/some_framework/" in name}
    assert files == {"__init__.py", "example.py", "requires.txt"}
    shutil.rmtree(copy / "dist")
    shutil.rmtree(adapter)
    assert set(built(copy)[1].get_all("Provides-Extra", [])) == before


SAID = [
    r"^0\.\d+ The customer prefers invoices in Swedish$",
    "^Ann opens tickets on Mondays$",
    "Rex",
    "^holds 0$",
    "^completed 1$",
    r"^Oslo \['Oslo', 'Rome'\]$",
    r"^invalid_request \['query'\]$",
]


@pytest.mark.parametrize(("block", "said"), list(zip(BLOCKS, SAID, strict=True)))
async def test_what_the_readme_shows_runs(block: str, said: str, url: str, service: Service, tmp_path: Path) -> None:
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    settings = {"MEMORY_GATEWAY_URL": url, "MEMORY_GATEWAY_TOKEN": token, "MEMORY_GATEWAY_AGENT": "billing"}
    environment = {"PYTHONPATH": str(PACKAGE), **settings}

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-c", block]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)

    done = await anyio.to_thread.run_sync(run)
    assert done.returncode == 0, done.stderr
    assert re.search(said, done.stdout)
