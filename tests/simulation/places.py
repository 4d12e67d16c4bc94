"""Where the product calls its ports: read from its source, and seen while it runs."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import app
from app.ports.database import Database
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin

_PRODUCT = Path(str(app.__file__)).parent
_PORTS = {"database": Database, "embedder": Embedder, "index": IndexAdmin}
_METHODS = {f"{port}.{name}" for port, type_ in _PORTS.items() for name in vars(type_) if not name.startswith("_")}


def places(*files: str) -> set[str]:
    """Return every place in the product's files of these names at which a port is called, as ``seen`` names it."""
    return {place for name in files for file in _PRODUCT.rglob(name) for _, place in _in_file(str(file))}


def seen() -> str:
    """Name the place of the product at which the call of a port is made that is under way."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - whoever awaits the call is further up
    while frame is not None:
        for lines, place in _in_file(frame.f_code.co_filename):
            if frame.f_lineno in lines:
                return place
        frame = frame.f_back
    return "elsewhere"


@cache
def _in_file(file: str) -> list[tuple[range, str]]:
    """Return the lines of each place in a file of the product, and its name: ``Indexer._send index.delete``."""
    if not Path(file).is_relative_to(_PRODUCT):
        return []
    found: list[tuple[range, str]] = []
    for lines, name in _calls(ast.parse(Path(file).read_text()), []):
        before = sum(place.startswith(name) for _, place in found)
        found.append((lines, f"{name} again" if before else name))
    return found


def _calls(node: ast.AST, inside: list[str]) -> Iterator[tuple[range, str]]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        inside = [*inside, node.name]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value).rpartition(".")[2].strip("_")
        if f"{owner}.{node.func.attr}" in _METHODS:
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            yield lines, f"{'.'.join(inside)} {owner}.{node.func.attr}"
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, inside)
