"""What ``make conformance`` installs from npm, and where."""

from pathlib import Path

FOLDER = Path(__file__).with_name("node")
_MODULES = FOLDER / "node_modules"
NODE = _MODULES / "node" / "bin" / "node"
"""Of the version wrangler asks for, whichever one the machine has."""
WRANGLER = _MODULES / "wrangler" / "bin" / "wrangler.js"
TSC = _MODULES / "typescript" / "bin" / "tsc"


def missing() -> list[str]:
    """Return the names of what is not installed."""
    return [tool.name for tool in (NODE, WRANGLER, TSC) if not tool.exists()]
