"""The program ``memory-gateway``: its hooks, which may not take long to start, and all other commands."""

import gc
import sys


def main() -> None:
    """Run a command. Of a hook nothing else of the service is imported: it runs before each prompt."""
    if sys.argv[1:2] == ["hook"]:
        from app.interfaces.hook import run_hook  # noqa: PLC0415 - one of the two is needed

        run_hook(sys.argv[2:])
    else:
        if sys.argv[1:2] == ["serve"]:
            gc.disable()  # until all is loaded (serving.py): what modules are made of stays, and there is much of it
        from app.interfaces.cli import main as command_line  # noqa: PLC0415 - the other one

        command_line()
