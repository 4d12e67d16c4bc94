"""The double as a distribution: what its wheel holds, what it needs, and the command it adds to the gateway's."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.interfaces.cli import cli

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]


def packages_in_wheel(project: Path, into: Path) -> set[str]:
    """Build the project's wheel; return the folders at its top that Python imports."""
    build = "import sys; from flit_core import buildapi; print(buildapi.build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", build, into], cwd=project, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(into / done.stdout.split()[-1]) as wheel:
        folders = {name.split("/")[0] for name in wheel.namelist()}
    return {folder for folder in folders if not folder.endswith(".dist-info")}


def test_the_wheels_of_the_gateway_and_the_double_are_apart(tmp_path: Path) -> None:
    assert packages_in_wheel(ROOT, tmp_path) == {"app"}
    assert packages_in_wheel(ROOT / "double", tmp_path) == {"memory_gateway_double"}


def test_every_package_the_double_needs_is_in_the_gateway_s_lock() -> None:
    double = tomllib.loads((ROOT / "double" / "pyproject.toml").read_text(encoding="utf-8"))
    locked = (ROOT / "deploy" / "lock" / "runtime.txt").read_text(encoding="utf-8")
    assert [need for need in double["project"]["dependencies"] if f"\n{need}==" not in f"\n{locked}"] == []


def test_the_double_s_command_runs_without_the_gateway() -> None:
    code = "import sys; sys.modules['app'] = None; from memory_gateway_double.command import double; double(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--no-rate-limit" in done.stdout


def test_the_gateway_lists_the_command_where_the_double_is_installed() -> None:
    assert "\n  double " in CliRunner().invoke(cli, ["--help"]).output


def test_one_line_says_how_to_install_the_double_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.interfaces.cli.entry_points", lambda **_: ())
    told = CliRunner().invoke(cli, ["double", "--port", "0"])
    assert told.exit_code == 1
    assert told.output.startswith("Error: double is not installed: pip install ./double, or after `make run` ")
    assert "\n  double " not in CliRunner().invoke(cli, ["--help"]).output
    assert "No such command" in CliRunner().invoke(cli, ["doubel"]).output
