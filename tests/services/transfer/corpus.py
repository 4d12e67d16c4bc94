"""Memories of every kind that may be stored, and what moves them."""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st

from app.domain.author import Author
from app.domain.claim import MemoryType
from app.domain.errors import InvalidRequest
from app.domain.json_types import Json, to_json
from app.domain.learned import Learned
from app.domain.limits import METADATA_BYTES
from app.services.transfer.export import Export
from app.services.transfer.fields import BadLineError
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import Manifest, memory_line, whole_file
from app.services.transfer.reading import check
from app.services.transfer.record import Record
from app.services.transfer.report import ImportReport
from tests.support.gateways import Bench

SCHEMA = Path(__file__).parents[3] / "docs" / "format.schema.json"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_YEAR_1, _YEAR_9999 = -62_135_596_800_000, 253_402_300_799_999

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200)
"""Of every character there is, but NUL and half a surrogate pair."""
numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-1e18, 1e18, allow_nan=False)
scalars = texts | numbers | st.booleans() | st.none()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
large = st.integers(1, METADATA_BYTES - 20).map(lambda size: {"large": "x" * size})
metadata = st.dictionaries(texts, values, max_size=4) | large
ids = st.builds(
    lambda first, rest: first + "".join(rest),
    st.sampled_from("01234567"),
    st.lists(st.sampled_from(_CROCKFORD), min_size=25, max_size=25),
)
moments = st.integers(_YEAR_1, _YEAR_9999)
agents = st.sampled_from(["bot", "other", "a" * 64, "A.b_c:d-e"])


def _allowed(record: Record) -> bool:
    try:
        check(record)
    except (BadLineError, InvalidRequest):
        return False
    return True


message_ids = st.text("01234567", min_size=32, max_size=32)
foreign_message_ids = st.text("89abcdef", min_size=32, max_size=32)
"""Of messages that are not in the file: what was learned of a message in it lives as long as the message."""
learned = st.builds(
    Learned,
    st.lists(foreign_message_ids, min_size=1, max_size=3),
    st.none() | st.sampled_from(["home", "arbetsplats_ö"]),
    st.lists(texts, max_size=5),
)


def _topic(record: Record) -> str | None:
    """Return what no other memory of the agent may be about: a second one would supersede the first."""
    return record.id if record.learned is None else record.learned.topic or record.id


def _as_learned(record: Record, said: Learned | None, type_: MemoryType) -> Record:
    return record if said is None else replace(record, message_id=None, learned=said, memory_type=type_)


plain = st.builds(
    Record,
    agent_id=agents,
    content=texts,
    metadata=metadata,
    id=ids,
    session_id=st.none() | texts.map(lambda text: text[:60]),
    occurred_at=st.none() | moments,
    created_at=moments,
    expires_at=st.none() | st.integers(_YEAR_9999 - 10**12, _YEAR_9999),
    forgotten_at=st.none() | moments,
    message_id=st.none() | message_ids,
)
types: st.SearchStrategy[MemoryType] = st.sampled_from(["fact", "instruction", "event", "task"])
records = st.builds(_as_learned, plain, st.none() | learned, types).filter(_allowed)
corpora = st.lists(
    records,
    max_size=30,
    unique_by=(
        lambda record: record.id,
        lambda record: (record.agent_id, record.content),
        lambda record: (record.agent_id, _topic(record)),
    ),
)


def numbered(count: int, *, agent_id: str = "bot", start: int = 0) -> list[Record]:
    """So many plain memories."""
    return [
        Record(
            agent_id=agent_id,
            content=f"memory {n}",
            metadata={"n": n},
            id=f"01K{n:023d}",
            created_at=1_700_000_000_000 + n,
        )
        for n in range(start, start + count)
    ]


def file_of(memories: Sequence[Record], tenant: str = "acme") -> bytes:
    """Write a whole file of these memories, in the order that an export has."""
    records = sorted(memories, key=lambda record: (record.created_at or 0, record.id or ""))
    return whole_file(Manifest(tenant, None, len(memories), (), vectors=False), map(memory_line, records))


async def in_chunks(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def told(chunks: Iterable[bytes]) -> list[dict[str, Any]]:
    """Read a report."""
    return [json.loads(line) for line in b"".join(chunks).splitlines()]


def changed(line: bytes, **fields: Json) -> bytes:
    """Change a line's fields, and leave out those that are None."""
    value = json.loads(line) | fields
    return to_json({name: field for name, field in value.items() if field is not None}).encode() + b"\n"


async def exported(bench: Bench, tenant: str = "acme", **options: Any) -> bytes:
    return b"".join([chunk async for chunk in Export(bench.backends.of_tenant(tenant), **options).chunks()])


async def imported(
    bench: Bench, data: bytes, tenant: str = "acme", *, author: Author | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Import, by an author if one is named, and return the report."""
    report = ImportReport()
    backends = bench.backends.of_tenant(tenant, *([] if author is None else [author]))
    try:
        await import_lines(in_chunks(data), Import(backends, report, **options), report)
        return told(report.chunks())
    finally:
        report.close()
