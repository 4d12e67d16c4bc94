"""Which regular expressions the product compiles: ``python -m tests.support.product_patterns`` prints them as JSON.

A process of its own imports every module of the service and of its clients, and watches what they compile meanwhile.
"""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

_ROOT = Path(__file__).parents[2]
_PRODUCT = (_ROOT / "app", _ROOT / "clients")
_OF_FRAMEWORKS = "memory_gateway_client.adapters."
_PLUGIN = _ROOT / "clients" / "claude-code"


@dataclass(frozen=True, slots=True)
class ProductPattern:
    """A regular expression, and the line that compiles it."""

    text: str
    flags: int
    where: str


def product_patterns() -> list[ProductPattern]:
    """Return the patterns of texts, each once, in the order in which they are compiled."""
    command = [sys.executable, "-m", __name__]
    printed = subprocess.run(command, cwd=_ROOT, capture_output=True, check=True, text=True).stdout
    return [ProductPattern(*line) for line in json.loads(printed)]


def _compiled() -> Iterator[ProductPattern]:
    """Import the product."""
    found: dict[tuple[str | bytes, int], str] = {}
    compile_ = vars(re)["_compile"]

    def watched(pattern: str | bytes | re.Pattern[str], flags: int) -> re.Pattern[str]:
        compiled: re.Pattern[str] = compile_(pattern, flags)
        where = _caller()
        if where:
            found.setdefault((compiled.pattern, compiled.flags), where)
        return compiled

    with patch.object(re, "_compile", watched):
        _import_all()
    return (ProductPattern(text, flags, where) for (text, flags), where in found.items() if isinstance(text, str))


def _caller() -> str:
    """Return the line of the product that compiles now; "" where a library does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename in {re.__file__, __file__}:
        frame = frame.f_back
    if frame is None:
        return ""
    path = Path(frame.f_code.co_filename)
    return f"{path.relative_to(_ROOT)}:{frame.f_lineno}" if any(map(path.is_relative_to, _PRODUCT)) else ""


def _import_all() -> None:
    sys.path.insert(0, str(_PLUGIN))
    for name in ("app", "memory_gateway_client", "memory_gateway_hook"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if module.name.rpartition(".")[2].startswith(("test_", "conftest", "example", "__main__")):
                continue
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError:
                if not module.name.startswith(_OF_FRAMEWORKS):  # some live in environments of their own
                    raise


if __name__ == "__main__":
    sys.stdout.write(json.dumps([[each.text, each.flags, each.where] for each in _compiled()]))
