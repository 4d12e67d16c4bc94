"""Values under keys, as Workers KV keeps them.

https://developers.cloudflare.com/kv/platform/limits/
"""

import base64
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from app.double.clock import Clock
from app.double.journal import Journal
from app.double.v4 import refused

KEY_NOT_FOUND = 10009
NAMESPACE_NOT_FOUND = 10013
INVALID = 10012
"""Not documented; guessed for a value, key or metadata over its limit."""
NAME_TAKEN = 10014

_STORE = "kv"
_KEY_BYTES = 512
_VALUE_BYTES = 25 * 1024 * 1024
_METADATA_BYTES = 1024
_TTL_LEAST = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A value; ``expiration`` is in seconds since the epoch, None for never."""

    value: bytes
    metadata: Any
    expiration: int | None


@dataclass(slots=True)
class Namespace:
    """A title and the entries by key."""

    id: str
    title: str
    entries: dict[str, Entry]


class Namespaces:
    """The account's namespaces. Safe from any thread. Reads see writes at once, unlike the real one's other places."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        """Take up what the journal knows."""
        self._journal = journal
        self._clock = clock
        self._lock = threading.RLock()
        self._namespaces: dict[str, Namespace] = {}
        for kind, facts, content in journal.events(_STORE):
            self._replay(kind, facts, content)

    def create(self, title: str) -> Namespace:
        """Create a namespace.

        Raises:
            Refusal: the title is taken.
        """
        with self._lock:
            if any(namespace.title == title for namespace in self._namespaces.values()):
                raise refused(400, NAME_TAKEN, "create namespace: 'a namespace with this account ID and title exists'")
            namespace = Namespace(uuid.uuid4().hex, title, {})
            self._namespaces[namespace.id] = namespace
            self._journal.record(_STORE, "create", {"namespace": namespace.id, "title": title})
            return namespace

    def all(self) -> list[Namespace]:
        """Return the namespaces, by title."""
        with self._lock:
            return sorted(self._namespaces.values(), key=lambda namespace: namespace.title)

    def find(self, id_: str) -> Namespace:
        """Return a namespace.

        Raises:
            Refusal: there is none with this id.
        """
        namespace = self._namespaces.get(id_)
        if namespace is None:
            raise refused(404, NAMESPACE_NOT_FOUND, "namespace not found")
        return namespace

    def remove(self, namespace: Namespace) -> None:
        """Delete a namespace with all it holds."""
        with self._lock:
            self._namespaces.pop(namespace.id, None)
            self._journal.record(_STORE, "remove", {"namespace": namespace.id})

    def get(self, namespace: Namespace, key: str) -> Entry:
        """Return what is under a key.

        Raises:
            Refusal: nothing is, or it has expired.
        """
        entry = namespace.entries.get(key)
        if entry is None or self._is_over(entry):
            raise refused(404, KEY_NOT_FOUND, "get: 'key not found'")
        return entry

    def keys(self, namespace: Namespace, prefix: str) -> Iterator[tuple[str, Entry]]:
        """Yield the keys with a prefix, in order."""
        with self._lock:
            entries = sorted(namespace.entries.items())
        for key, entry in entries:
            if key.startswith(prefix) and not self._is_over(entry):
                yield key, entry

    def put(self, namespace: Namespace, key: str, entry: Entry) -> None:
        """Put a value under a key, with a new expiry or none.

        Raises:
            Refusal: something is over its limit.
        """
        if not key or key in {".", ".."} or len(key.encode()) > _KEY_BYTES:
            raise refused(400, INVALID, f"put: 'key must have 1 to {_KEY_BYTES} bytes'")
        if len(entry.value) > _VALUE_BYTES:
            raise refused(413, INVALID, f"put: 'value is larger than {_VALUE_BYTES} bytes'")
        if entry.metadata is not None and len(orjson.dumps(entry.metadata)) > _METADATA_BYTES:
            raise refused(413, INVALID, f"put: 'metadata is larger than {_METADATA_BYTES} bytes'")
        facts = {"namespace": namespace.id, "key": key, "metadata": entry.metadata, "expiration": entry.expiration}
        with self._lock:
            namespace.entries[key] = entry
            self._journal.record(_STORE, "put", facts, entry.value)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete a key, whether it is there or not."""
        with self._lock:
            namespace.entries.pop(key, None)
            self._journal.record(_STORE, "delete", {"namespace": namespace.id, "key": key})

    def expiration(self, expiration: object, ttl: object) -> int | None:
        """Return the moment of expiry; a time to live wins over a moment.

        Raises:
            Refusal: it is less than a minute away, or not a number.
        """
        given = ttl if ttl not in {None, ""} else expiration
        if given in {None, ""}:
            return None
        if not str(given).isdecimal():
            raise refused(400, INVALID, "Invalid expiration")
        now = int(self._clock.now())
        moment = now + int(str(given)) if given is ttl else int(str(given))
        if moment - now < _TTL_LEAST:
            raise refused(400, INVALID, f"Expiration TTL must be at least {_TTL_LEAST}")
        return moment

    def _is_over(self, entry: Entry) -> bool:
        return entry.expiration is not None and entry.expiration <= self._clock.now()

    def _replay(self, kind: str, facts: dict[str, Any], content: bytes) -> None:
        id_ = facts["namespace"]
        if kind == "create":
            self._namespaces[id_] = Namespace(id_, facts["title"], {})
        elif kind == "remove":
            self._namespaces.pop(id_, None)
        elif id_ in self._namespaces and kind == "put":
            entry = Entry(content, facts["metadata"], facts["expiration"])
            self._namespaces[id_].entries[facts["key"]] = entry
        elif id_ in self._namespaces:
            self._namespaces[id_].entries.pop(facts["key"], None)


def decoded(value: str, *, base64_encoded: bool) -> bytes:
    """Return the value of a bulk pair.

    Raises:
        ValueError: it is said to be base 64, and is not.
    """
    if not base64_encoded:
        return value.encode()
    return base64.b64decode(value, validate=True)
