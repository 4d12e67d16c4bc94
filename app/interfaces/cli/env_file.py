"""The file of settings that ``provision`` and ``deploy`` keep up to date (``--write-env``)."""

import io
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from dotenv.parser import parse_stream

from app.domain.errors import ConfigurationError

_PLAIN = re.compile(r"[A-Za-z0-9_=,:/.@+-]+")
"""The characters that need no quoting in a line of the file, whether docker, a shell or the service reads it."""


def write_settings(path: Path, settings: Mapping[str, str]) -> None:
    """Put the settings into the file, for its owner alone; all else that it holds stays as it is.

    The file is replaced whole or not at all, so that a full disk costs nobody his other settings.

    Raises:
        ConfigurationError: the file cannot be read or written, or a value cannot stand in it.
    """
    for name, value in settings.items():
        if not _PLAIN.fullmatch(value):
            raise ConfigurationError(f"--write-env: {name} is of characters that cannot be written to {path}.")
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"--write-env: {path} is no file.")
    try:
        target = path.resolve()  # a link stays one
        held = target.read_bytes().decode() if target.exists() else ""
        _replace(target, _without(held, set(settings)) + "".join(f"{n}={v}\n" for n, v in settings.items()))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--write-env: {path} cannot be written ({error}).") from error


def _without(held: str, names: set[str]) -> str:
    """Remove the lines that set these names, read as the settings are read."""
    bindings = parse_stream(io.StringIO(held, newline=""))
    kept = "".join(binding.original.string for binding in bindings if (binding.key or "").upper() not in names)
    return f"{kept}\n" if kept and not kept.endswith(("\n", "\r")) else kept


def _replace(path: Path, content: str) -> None:
    """Write a temporary file in the same directory, and rename it to the file, with the file's owner."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchown(file.fileno(), path.stat().st_uid, -1)
            file.write(content.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
