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
            # Where rich is installed, structlog and httpx load it, for tracebacks and a command that are not used.
            sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # a module that is None cannot be imported
            _load_openapi_unbuilt()
        from app.interfaces.cli import main as command_line  # noqa: PLC0415 - the other one

        command_line()


def _load_openapi_unbuilt() -> None:
    """Have FastAPI's models of an OpenAPI document built when one is made: that takes a thirtieth of a start."""
    from pydantic import BaseModel, ConfigDict  # noqa: PLC0415 - no other command needs it so early

    usual = BaseModel.model_config
    BaseModel.model_config = ConfigDict(defer_build=True)
    try:
        import fastapi.openapi.models  # noqa: F401, PLC0415 - each of them takes what its base class has now
    finally:
        BaseModel.model_config = usual
