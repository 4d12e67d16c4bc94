"""Where the adapters of the Python client live: in the project's environment, or apart from it, as each one says."""

import os
import re
import sys
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parents[2] / "clients" / "python" / "memory_gateway_client" / "adapters"
_SAID = re.compile(r"# environment: ([a-z0-9-]+)")


def environment_of(adapter: Path) -> str | None:
    """Return the name of the environment in which an adapter lives; None: it is the project's own."""
    first = (adapter / "requires.txt").read_text("utf-8").splitlines()[0]
    said = _SAID.fullmatch(first)
    return None if said is None else said[1]


def living(environment: str | None) -> list[Path]:
    """Return the folders of the adapters that live there."""
    folders = sorted(path.parent for path in ADAPTERS.glob("*/requires.txt"))
    return [folder for folder in folders if environment_of(folder) == environment]


def environments() -> list[str]:
    """Return the names of the environments apart from the project's."""
    named = (environment_of(requires.parent) for requires in ADAPTERS.glob("*/requires.txt"))
    return sorted({name for name in named if name is not None})


def python_of(environment: str | None) -> str:
    """Return the environment's Python; skip the test where it is not installed, which in CI is a failure."""
    if environment is None:
        return sys.executable
    folder = Path(sys.prefix) / environment
    if not (folder / "installed").exists():
        missing = f"the environment {environment} is not installed: run make conformance"
        (pytest.fail if "CI" in os.environ else pytest.skip)(missing)
    return str(folder / "bin" / "python")
