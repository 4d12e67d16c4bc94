"""Reads the files of a sentence-transformers model directory."""

import json
from pathlib import Path
from typing import Any

from app.domain.errors import ConfigurationError


def read_json(path: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        path: the file.
        default: what to return when there is no such file; without it the file is required.

    Raises:
        ConfigurationError: the file is missing, unreadable or holds something else.
    """
    if default is not None and not path.exists():
        return default
    content = parse_json(path)
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} does not hold a JSON object.")
    return content


def parse_json(path: Path) -> object:
    """Read a JSON file of any shape.

    Raises:
        ConfigurationError: the file is missing, unreadable or not JSON.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read as JSON: {error}") from error
