"""What a foreign format has no field for, carried in the metadata under one key.

``memory_gateway`` holds, each only where the format does not carry it exactly: ``id``, ``agent_id``, ``session_id``,
and ``occurred_at``, ``created_at`` and ``expires_at`` in milliseconds since the epoch. Its ``metadata`` holds entries
whose key means something else in the format, or is this one.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from app.limits import MEMORY_ID_FORM, is_id
from app.model import Json
from app.transfer.formats.moments import is_moment
from app.transfer.record import Record

KEY = "memory_gateway"

_MEMORY_ID = re.compile(MEMORY_ID_FORM)
_FIELDS = ("id", "agent_id", "session_id", "occurred_at", "created_at", "expires_at")


def packed(
    record: Record, metadata: Mapping[str, Json], *, carried: Collection[str], reserved: Collection[str] = ()
) -> dict[str, Json]:
    """Add to the metadata what the format does not carry.

    Args:
        record: What is written.
        metadata: What is left of its metadata once the format's own fields are taken from it.
        carried: The fields of the record that the format carries exactly.
        reserved: The keys that mean something else in the format.
    """
    hidden = {key: value for key, value in metadata.items() if key == KEY or key in reserved}
    fields = {name: getattr(record, name) for name in _FIELDS if name not in carried}
    own: dict[str, Json] = {name: value for name, value in fields.items() if value is not None}
    if hidden:
        own["metadata"] = hidden
    rest = {key: value for key, value in metadata.items() if key not in hidden}
    return {**rest, KEY: own} if own else rest


def unpacked(record: Record) -> Record:
    """Put back what ``packed`` added. A value under the key that this service did not write stays metadata."""
    own = _ours(record.metadata.get(KEY))
    if not own:
        return record
    rest = {key: value for key, value in record.metadata.items() if key != KEY}
    fields: dict[str, Any] = {name: own[name] for name in _FIELDS if name in own}
    return replace(record, metadata={**rest, **own.get("metadata", {})}, **fields)


def _ours(own: Any) -> dict[str, Any]:  # noqa: ANN401 - anything may stand there
    fits = isinstance(own, Mapping) and all(_fits(name, value) for name, value in own.items())
    return dict(own) if fits else {}


def _fits(name: str, value: Any) -> bool:  # noqa: ANN401 - the same
    if name == "metadata":
        return isinstance(value, Mapping)
    if name == "id":
        return isinstance(value, str) and _MEMORY_ID.fullmatch(value) is not None
    if name == "agent_id":
        return is_id(value)
    if name == "session_id":
        return isinstance(value, str)
    return name in _FIELDS and is_moment(value)
