"""Reading foreign files in tests."""

import io
from collections.abc import Iterable
from pathlib import Path

from app.services.transfer.formats import FORMATS, Flaw
from app.services.transfer.record import Record

SAMPLES = Path(__file__).parent / "samples"
AGENT = "fallback"
NAMES = sorted(FORMATS)
TEXT = {"mem0": "memory", "mcp-memory-service": "content"}


def read(name: str, text: str, agent_id: str = AGENT) -> list[Record | Flaw]:
    return list(FORMATS[name].read(io.StringIO(text), agent_id))


def sample(name: str, file: str) -> list[Record | Flaw]:
    return read(name, (SAMPLES / file).read_text(encoding="utf-8"))


def entry(name: str, content: object, **more: object) -> dict[str, object]:
    """Make the least that an entry of the format has."""
    return {"value": {"content": content, **more}} if name == "langgraph" else {TEXT[name]: content, **more}


def only(name: str, text: str) -> Record:
    (record,) = read(name, text)
    assert isinstance(record, Record), record
    return record


def flaws(found: Iterable[Record | Flaw]) -> list[Flaw]:
    return [one for one in found if isinstance(one, Flaw)]
