"""Makes the client's types and operations of the service's OpenAPI document."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from client_generator import operations
from client_generator.answers import Types
from client_generator.document import Document

_STYLE = ("--isolated", "--quiet", "--no-cache", "--config=line-length=120", "--config=target-version='py311'")
_IMPORTS = ("--select=F401,I", "--fix", "--config=lint.isort.known-first-party=['memory_gateway_client']")


def made(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each file that the document makes, by its path within the package."""
    types = Types(Document(document))
    files = {f"types/{name}.py": text for name, text in types.modules()}
    files |= {f"operations/{name}.py": text for name, text in operations.modules(types)}
    return _formatted(files)


def write(document: Mapping[str, Any], package: Path) -> None:
    """Write the files into the package, in place of all that were made before."""
    files = made(document)
    for folder in ("types", "operations"):
        package.joinpath(folder).mkdir(exist_ok=True)
        for old in package.joinpath(folder).glob("*.py"):
            old.unlink()
    for path, text in files.items():
        package.joinpath(path).write_text(text, encoding="utf-8")


def _formatted(files: Mapping[str, str]) -> dict[str, str]:
    """Return the texts as the formatter has them, without the imports that they do not need."""
    with TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        ruff = str(Path(sys.executable).with_name("ruff"))
        for command in (("check", *_STYLE, *_IMPORTS), ("format", *_STYLE)):
            subprocess.run([ruff, *command, folder], check=True)  # noqa: S603 - the formatter of this environment
        return {path: Path(folder, path).read_text(encoding="utf-8") for path in files}
