"""What a memory claims: the keyed statements of its content."""

from collections.abc import Mapping, Sequence

from app.domain.author import speaker_of
from app.domain.claim import Claim
from app.domain.json_types import Json
from app.statements.rules import statements

_MAX_READ = 4000
"""Characters of a content that are read for statements: it is done on the event loop, and takes some milliseconds."""


def claims(content: str, metadata: Mapping[str, Json]) -> Sequence[Claim]:
    """Return what a memory of this content and metadata states, each key once."""
    stated = statements(content[:_MAX_READ], speaker_of(content, metadata) or None)
    cut = len(content) > _MAX_READ
    if cut:  # the last sentence may be half of one
        stated = stated[:-1]
    keyed = {one.key: one.value for one in stated if one.key is not None and one.value is not None}
    whole = len(stated) == len(keyed) == 1 and not cut
    return [Claim(key, value, whole) for key, value in keyed.items()]
