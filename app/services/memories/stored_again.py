"""Merges the metadata of a memory whose content is stored again (docs/decisions/0019-who-wrote-a-memory.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.author import Author
from app.domain.json_types import Json, to_json
from app.domain.limits import METADATA, check


@dataclass(frozen=True, slots=True)
class ExistingMemory:
    """The memory that has the content. Its fields are the columns of ``app.storage.memories.present``."""

    metadata: Mapping[str, Json]
    metadata_json: str
    expired: bool
    later_keys: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class MergedMetadata:
    """The metadata that the memory has after the store."""

    metadata: Mapping[str, Json]
    later_keys: Mapping[str, str] | None
    """The metadata keys that were added after the memory was made, each with the id of the credential that added it.

    None where no key ever was.
    """
    unchanged: Sequence[str]
    """The metadata keys that keep their values though the store has other values for them."""
    changes: Mapping[str, Json]
    """The keys that were added, replaced and removed, for the audit."""


def patched(metadata: Mapping[str, Json], change: Mapping[str, Json]) -> dict[str, Json]:
    """Return metadata with the keys of a change: those with null go (RFC 7396, of the first level)."""
    return {key: value for key, value in {**metadata, **change}.items() if value is not None or key not in change}


def merged_metadata(
    existing: ExistingMemory, wanted: Mapping[str, Json], author: Author, change: Mapping[str, Json] | None = None
) -> MergedMetadata:
    """Return the metadata after a store: an author without the right to replace adds keys, and changes none.

    A memory that has expired counts as gone, and takes the wanted metadata. With ``change`` the keys of it are all that
    changes: ``wanted`` is what they have made of what was read before, which another request may have changed since.

    Raises:
        InvalidRequest: the memory's keys and the added keys are together over the limit of metadata.
    """
    before = {} if existing.expired else existing.metadata
    replaces = author.may_replace or existing.expired
    if change is not None and not existing.expired:
        wanted = patched(before, change)
    metadata = wanted if replaces else {**before, **wanted, **before}  # the memory's keys come first, and stay
    check(("metadata", METADATA, metadata))
    changes: dict[str, Sequence[str]] = {
        "added": [key for key in metadata if key not in before],
        "replaced": _differing(metadata, before),
        "removed": [key for key in before if key not in metadata],
    }
    return MergedMetadata(
        metadata,
        _later_keys(existing, changes, author),
        unchanged=_differing(wanted, metadata),
        changes={name: [*keys] for name, keys in changes.items() if keys},
    )


def _differing(one: Mapping[str, Json], other: Mapping[str, Json]) -> list[str]:
    """Return the keys that both mappings have with different values. Values are compared as JSON: 1 is not true."""
    return [key for key in one if key in other and to_json(one[key]) != to_json(other[key])]


def _later_keys(
    existing: ExistingMemory, changes: Mapping[str, Sequence[str]], author: Author
) -> Mapping[str, str] | None:
    if existing.expired:
        return None if existing.later_keys is None else {}
    there = existing.metadata.keys() - changes["removed"]
    later = {key: by for key, by in (existing.later_keys or {}).items() if key in there}
    later |= dict.fromkeys([*changes["added"], *changes["replaced"]], author.credential_id or author.channel)
    return None if existing.later_keys is None and not later else later
