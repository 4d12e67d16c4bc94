"""Where the product calls its ports, seen while it runs."""

import sys
from pathlib import Path
from types import FrameType

import app

_PRODUCT = Path(str(app.__file__)).parent
_PASSES_ON = {"scoped.py", "backends.py"}
"""What binds a port to a tenant makes no calls of its own."""


def seen() -> str:
    """Name the function of the product that makes the call of a port which is under way."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - whoever awaits the call is further up
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(_PRODUCT) and file.name not in _PASSES_ON:
            return frame.f_code.co_qualname.replace(".<locals>", "").replace(".<lambda>", "")
        frame = frame.f_back
    return "elsewhere"
