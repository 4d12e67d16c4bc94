"""Runs the hooks of the plugin for Claude Code (clients/claude-code), for any harness; no more is imported."""

import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).parent
_FOLDERS = (_HERE / "claude_code", _HERE.parents[1] / "clients" / "claude-code")
"""Where the plugin lies: in an installed package, and in a checkout."""


def plugin_folder() -> Path | None:
    """Return the folder of the plugin; None where it was not installed, as in an image."""
    return next((folder for folder in _FOLDERS if folder.is_dir()), None)


def run_hook(arguments: Sequence[str]) -> None:
    """Do what ``memory-gateway hook`` is told to, and end the process."""
    folder = plugin_folder()
    if folder is None:
        sys.exit("Error: the hooks are not installed here; install memory-gateway where the agent runs.")
    sys.path.insert(0, str(folder))
    from memory_gateway_hook.main import main  # noqa: PLC0415 - it lies in that folder

    main(arguments)
