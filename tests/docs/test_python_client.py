"""The Python client describes the service as its OpenAPI document does."""

from pathlib import Path

from app.interfaces.http.application import openapi_document
from client_generator import made

PACKAGE = Path(__file__).parents[2] / "clients" / "python" / "memory_gateway_client"


def test_the_operations_and_types_of_the_client_are_what_the_document_makes() -> None:
    here = {
        str(path.relative_to(PACKAGE)): path.read_text("utf-8")
        for folder in ("operations", "types")
        for path in PACKAGE.joinpath(folder).glob("*.py")
    }
    there = made(openapi_document())
    changed = sorted(path for path in here.keys() | there.keys() if here.get(path) != there.get(path))
    assert changed == [], "run `make client`"
