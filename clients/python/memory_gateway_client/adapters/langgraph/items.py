"""A value of the store as a memory: the value as JSON is the content, its namespace and key are metadata.

Metadata is compared for equality alone, so there is an entry for each label of the namespace: a prefix of the namespace
is a part of these entries.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)

from memory_gateway_client import Entry, Memory

CONTENT_BYTES = 32 * 1024
METADATA_BYTES = 10 * 1024
MAX_FOUND = 20
"""How many entries a recall gives at most."""

_STORE = {"store": "langgraph"}
_NAMESPACE = "store.namespace"
_KEY = "store.key"


class Place(NamedTuple):
    """Where a value is."""

    namespace: tuple[str, ...]
    key: str


def within(prefix: Sequence[str]) -> dict[str, str]:
    """Return the metadata that all values under the prefix have."""
    return _STORE | {f"store.{level}": label for level, label in enumerate(prefix)}


def at(place: Place) -> dict[str, str]:
    """Return the metadata that the values of one key have, and no others."""
    return _STORE | {_NAMESPACE: ".".join(place.namespace), _KEY: place.key}


def metadata(place: Place) -> dict[str, str]:
    """Return the metadata of a value."""
    return within(place.namespace) | at(place)


def content(value: Mapping[str, Any]) -> str:
    """Write a value.

    Raises:
        TypeError, ValueError: it is not JSON.
    """
    return json.dumps(dict(value), ensure_ascii=False, allow_nan=False)


def place(memory: Memory | Entry) -> Place:
    """Return where the value of a memory is."""
    return Place(tuple(memory.metadata[_NAMESPACE].split(".")), memory.metadata[_KEY])


def is_value(memory: Memory | Entry) -> bool:
    """Whether this is a value of the store: by its tools the agent can store what merely looks like one."""
    namespace, key = memory.metadata.get(_NAMESPACE), memory.metadata.get(_KEY)
    if not (isinstance(namespace, str) and isinstance(key, str)) or memory.metadata != metadata(place(memory)):
        return False
    try:
        return isinstance(json.loads(memory.content), dict)
    except (ValueError, RecursionError):
        return False


def item(memory: Memory) -> Item:
    """Return a memory as what a get gives; it is as old as its newest value."""
    namespace, key = place(memory)
    moment = memory.created_at
    return Item(value=json.loads(memory.content), key=key, namespace=namespace, created_at=moment, updated_at=moment)


def search_item(memory: Memory | Entry) -> SearchItem:
    """Return a memory as what a search gives."""
    namespace, key = place(memory)
    moment = memory.created_at
    score = memory.score if isinstance(memory, Entry) else None
    return SearchItem(namespace, key, json.loads(memory.content), moment, moment, score)


def expiry(ttl: float) -> datetime:
    """Return when a value that is put now expires, by the clock of this machine.

    Raises:
        ValueError: there is no such moment, or it is past.
    """
    try:
        moment = datetime.now(UTC) + timedelta(minutes=ttl)
    except (OverflowError, ValueError) as error:
        raise ValueError(f"A ttl of {ttl} minutes has no end that a calendar knows.") from error
    if ttl <= 0:
        raise ValueError(f"A ttl is more than 0 minutes, not {ttl}.")
    return moment


def outlives(memory: Memory, moment: datetime) -> bool:
    """Whether a memory is there after the moment."""
    return memory.expires_at is None or memory.expires_at > moment


def check(op: Op) -> None:
    """Check an operation before anything of its batch is done.

    Raises:
        InvalidNamespaceError: a label is empty, is no text, or has a period or NUL.
        TypeError, ValueError: the value is not JSON, or over the limits of a memory; a number is out of its range.
        NotImplementedError: the operation has a part that is not supported.
    """
    if isinstance(op, GetOp | PutOp):
        _check_labels(op.namespace)
    if isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
        if op.offset < 0 or op.limit < 0:
            raise ValueError(f"An offset and a limit are 0 or more, not {op.offset} and {op.limit}.")
    if isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
    if isinstance(op, PutOp):
        _check_put(op)


def _check_put(op: PutOp) -> None:
    if op.index is not None:
        raise NotImplementedError("MemoryStore: index is not supported.")
    if not op.namespace:
        raise InvalidNamespaceError("A namespace has at least one label.")
    if op.value is None:
        return
    if op.ttl is not None:
        expiry(op.ttl)
    where = metadata(Place(op.namespace, op.key))
    for what, text, most in (
        ("The value", content(op.value), CONTENT_BYTES),
        ("The namespace with the key", json.dumps(where, ensure_ascii=False, separators=(",", ":")), METADATA_BYTES),
    ):
        size = len(text.encode(errors="surrogatepass"))
        if size > most:
            raise ValueError(f"{what} of {op.key[:80]!r} has {size} bytes as JSON, at most {most} are kept.")


def _check_labels(labels: Sequence[object]) -> None:
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(f"{label!r} is no label of a namespace: a text without periods and NUL.")
