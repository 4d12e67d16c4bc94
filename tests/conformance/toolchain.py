"""What ``make conformance`` installs from npm and, of generators, from PyPI; and where."""

import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("node")
CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
_MODULES = FOLDER / "node_modules"
NODE = _MODULES / "node" / "bin" / "node"
"""Of a version that wrangler and the inspector take, whichever one the machine has."""
WRANGLER = _MODULES / "wrangler" / "bin" / "wrangler.js"
CF = _MODULES / "cf" / "bin" / "cf"
"""Cloudflare's other command line, a preview, which shows its commands for these products by CF_HIDE_COMMANDS=false."""
INSPECTOR = _MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
TSC = _MODULES / "typescript" / "bin" / "tsc"
CLAUDE_CODE = _MODULES / ".bin" / "claude"
"""Not in ``missing``: where there is no build of it for the machine, the other proofs are still made."""
OPENCODE = _MODULES / ".bin" / "opencode"
"""As Claude Code."""
_WORKERS_TYPES = _MODULES / "@cloudflare" / "workers-types" / "index.d.ts"
COMPOSE_SCHEMA = _MODULES / "dclint" / "schemas" / "compose.schema.json"
OPENCLAW = Path(__file__).with_name("openclaw") / "node_modules" / "openclaw" / "openclaw.mjs"
"""In a folder of its own, since it is large."""
NEWER_NODE = CLIENT / "node_modules" / "node" / "bin" / "node"
"""What some packages of vendors need."""
DENO = CLIENT / "node_modules" / "deno" / "deno"
BUN = CLIENT / "node_modules" / "bun" / "bin" / "bun.exe"
OLDEST_NODE = Path(shutil.which("node") or "node")
"""The machine's own: of the oldest version that the npm package is for, where it is that one."""

GENERATORS = Path(sys.prefix) / "generators" / "bin"
"""The generators of clients, in an environment with all that the Python clients they make need."""


def missing_generators() -> list[str]:
    """Return the names of what the generated clients need and is not installed."""
    packaged = [
        name for name in ("openapi-python-client", "openapi-generator-cli", "go") if not (GENERATORS / name).exists()
    ]
    return packaged + [name for name in ("java", "javac") if shutil.which(name) is None]


def missing() -> list[str]:
    """Return the names of what is not installed."""
    tools = {
        "node": NODE,
        "wrangler": WRANGLER,
        "cf": CF,
        "typescript": TSC,
        "inspector": INSPECTOR,
        "esbuild": _MODULES / "esbuild",
        "workers-types": _WORKERS_TYPES,
        "containers": _MODULES / "@cloudflare" / "containers",
        "compose schema": COMPOSE_SCHEMA,
        "what the npm package is built with": CLIENT / "node_modules" / "typescript",
    }
    return [name for name, path in tools.items() if not path.exists()]
