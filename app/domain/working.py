"""Working memory: keys of an instance, and entries of a run's log. Times are in milliseconds since the epoch."""

from dataclasses import dataclass

from app.domain.json_types import Json


@dataclass(frozen=True, slots=True)
class WorkingKey:
    """A key of an instance.

    Attributes:
        value: The key's value; where it is a blob, the row has the pointer to the blob.
        bytes: The bytes that the key counts in the budget of its instance: the key and the value as JSON, in UTF-8.
        version: The number rises with every write to the instance, and never comes back.
    """

    key: str
    value: Json
    bytes: int
    version: int
    expires_at: int
    blob_id: str | None = None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry of a run's log."""

    number: int
    entry: Json
    created_at: int
    expires_at: int
