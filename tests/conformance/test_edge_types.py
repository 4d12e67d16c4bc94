"""The Worker compiles strictly against Cloudflare's types, and wrangler takes both of its configurations."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conformance.toolchain import FOLDER, NODE, TSC, WRANGLER
from tests.deploy.dockerfile import ROOT
from tests.deploy.test_edge import CONFIGURATIONS, EDGE

_SECONDS = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy, in the place that it has in the repository: a configuration names the Dockerfile from there."""
    copied = tmp_path / EDGE.relative_to(ROOT)
    shutil.copytree(EDGE, copied, ignore=shutil.ignore_patterns("node_modules", ".wrangler"))
    shutil.copy(ROOT / "Dockerfile", tmp_path)
    (copied / "node_modules").symlink_to(FOLDER / "node_modules")
    return copied


def run(folder: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [NODE, *arguments],
        cwd=folder,
        env={
            "HOME": str(folder),
            "PATH": f"{NODE.parent}:{os.environ['PATH']}",
            "CI": "true",
            "WRANGLER_SEND_METRICS": "false",
            "WRANGLER_WRITE_LOGS": "false",
            "WRANGLER_HIDE_BANNER": "true",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_typed_strictly(folder: Path) -> None:
    assert run(folder, TSC, "--project", "tsconfig.json") == ""


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("handler.ts", "database.withSession(bookmark)", "database.withSession(7)"),
        ("handler.ts", "index.getByIds(ids)", "index.getById(ids)"),
        ("handler.ts", "on.getBookmark()", "on.bookmark()"),
        ("container.ts", 'sleepAfter = "15m"', "sleepAfter = { minutes: 15 }"),
    ],
)
def test_what_cloudflare_s_types_do_not_have_does_not_compile(folder: Path, file: str, right: str, wrong: str) -> None:
    path = folder / "src" / file
    code = path.read_text(encoding="utf-8")
    assert code.count(right) == 1
    path.write_text(code.replace(right, wrong), encoding="utf-8")
    with pytest.raises(AssertionError, match="error TS"):
        run(folder, TSC, "--project", "tsconfig.json")


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_wrangler_takes_the_configuration(folder: Path, configuration: str) -> None:
    without_docker = ["--containers-rollout", "none"] if "container" in configuration else []
    told = run(folder, WRANGLER, "deploy", "--dry-run", "--config", configuration, *without_docker)
    for binding in ("env.DB", "env.VECTORS", "env.AI", "env.DATABASES", "env.INDEXES"):
        assert binding in told
