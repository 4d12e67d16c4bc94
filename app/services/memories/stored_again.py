"""What becomes of a memory whose content is stored again (docs/decisions/0019-who-wrote-a-memory.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.author import Author
from app.domain.json_types import Json, to_json
from app.domain.limits import METADATA, check


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """The memory that has the content. Its fields are the columns of ``app.storage.memories.present``."""

    metadata: Mapping[str, Json]
    metadata_json: str
    expired: bool
    later_keys: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class StoredAgain:
    """What it becomes."""

    metadata: Mapping[str, Json]
    later_keys: Mapping[str, str] | None
    """The metadata keys that came after the memory was made, each with the id of the credential that brought it.

    None: there never were any.
    """
    kept: Sequence[str]
    """The metadata keys that keep their values though other values were asked for."""
    changes: Mapping[str, Json]
    """The keys that were added, replaced and removed, for the audit."""


def stored_again(held: HeldMemory, wanted: Mapping[str, Json], author: Author) -> StoredAgain:
    """Say what a memory becomes: an author without the right to replace adds keys, and changes none.

    One that has expired is as good as gone, and becomes what is asked for.

    Raises:
        InvalidRequest: what it has and what is added are together over the limit of metadata.
    """
    before = {} if held.expired else held.metadata
    new = {key: value for key, value in wanted.items() if key not in before}
    metadata = wanted if author.may_replace or held.expired else {**before, **new}
    check(("metadata", METADATA, metadata))
    added = [key for key in metadata if key not in before]
    replaced = [key for key in metadata if key in before and not _same(metadata[key], before[key])]
    removed = [key for key in before if key not in metadata]
    later = {key: by for key, by in (held.later_keys or {}).items() if key in before and key in metadata}
    if not held.expired:
        later |= dict.fromkeys([*added, *replaced], author.credential_id or author.channel)
    changes: dict[str, Json] = {"added": [*added], "replaced": [*replaced], "removed": [*removed]}
    return StoredAgain(
        metadata,
        later if later or held.later_keys is not None else None,
        kept=[key for key in wanted if not _same(wanted[key], metadata[key])],
        changes={name: keys for name, keys in changes.items() if keys},
    )


def _same(one: Json, other: Json) -> bool:
    """Compare as JSON does: 1 is not true."""
    return to_json(one) == to_json(other)
