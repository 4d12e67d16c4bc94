"""What ``make conformance`` installs from npm, and where."""

from pathlib import Path

FOLDER = Path(__file__).with_name("node")
EXAMPLE = Path(__file__).parents[2] / "clients" / "typescript"
_MODULES = FOLDER / "node_modules"
NODE = _MODULES / "node" / "bin" / "node"
"""Of the version wrangler asks for, whichever one the machine has."""
WRANGLER = _MODULES / "wrangler" / "bin" / "wrangler.js"
TSC = _MODULES / "typescript" / "bin" / "tsc"
_TYPES = EXAMPLE / "node_modules" / "openapi-typescript"


def missing() -> list[str]:
    """Return the names of what is not installed."""
    return [tool.name for tool in (NODE, WRANGLER, TSC, _TYPES) if not tool.exists()]
