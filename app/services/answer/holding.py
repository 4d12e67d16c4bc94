"""Tells which statements no longer hold: what the same key said later, with another value, came in their place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.services.answer.plain import plain
from app.services.answer.reading import MAX_READ, Said, read, said_in
from app.services.answer.wording import Stems, Wording
from app.statements.rules import Statement, statements

Stated = Mapping[Said, Statement | None]
"""What sentences state, of those that were looked at."""
Corrections = Mapping[str, Sequence[str]]
"""By the id of a memory, the ids of those that a recall found to correct it, in whatever words."""

_AHEAD = 86_400_000
"""What is said of more than so many ms ahead does not hold yet."""
_MAX_FORMERS = 4
"""Memories that one entry came in the place of, the latest, of which answers tell."""
_MAX_KEYS_READ = 3
_MAX_KEYED = 1_000
"""Characters of a memory in which a key is looked for: reading statements costs more than all else."""


@dataclass(frozen=True, slots=True)
class Former:
    """What held before an entry came in its place."""

    content: str
    happened_at: int
    """Since when, ms since the epoch."""
    until: int
    """When it stopped holding, ms since the epoch."""
    speaker: str = ""
    """Who said it, where its content does not name the speaker."""


@dataclass(frozen=True, slots=True)
class _Told:
    id: str
    content: str
    metadata: Mapping[str, str]
    created_at: int
    occurred_at: int


def corrected(
    found: Stated,
    contents: Mapping[str, str],
    formers: Mapping[str, Sequence[Former]],
    reference_time: int,
    corrections: Corrections,
) -> dict[Said, int]:
    """Return when each sentence that no longer holds was corrected, ms since the epoch, by all of what follows."""
    return reworded(found, corrections) | ends(found, reference_time) | replaced(found, contents, formers)


def reworded(found: Stated, corrections: Corrections) -> dict[Said, int]:
    """Return when each sentence was corrected of a memory that others correct, where one of them has a sentence too."""
    moments = {said.origin.memory_id: said.origin.happened_at for said in found if not said.asks}
    ended: dict[Said, int] = {}
    for said in found:
        later = [moments[id_] for id_ in corrections.get(said.origin.memory_id, ()) if id_ in moments]
        if later:
            ended[said] = min(later)
    return ended


def ends(found: Stated, reference_time: int) -> dict[Said, int]:
    """Return when each sentence that no longer holds was corrected, ms since the epoch, as these sentences tell it.

    Neighbours of one value, in the order in which they were said, are one version; the first of the next ends it.
    """
    claims: dict[str, list[tuple[Said, str | None]]] = {}
    for said, statement in found.items():
        if statement and statement.key and said.origin.happened_at <= reference_time + _AHEAD:
            claims.setdefault(statement.key, []).append((said, statement.value))
    ended: dict[Said, int] = {}
    for each in claims.values():
        latest_first = sorted(
            each, key=lambda claim: (claim[0].origin.happened_at, claim[0].origin.memory_id, claim[0].place)
        )[::-1]
        until: int | None = None
        for (later, new), (said, old) in pairwise(latest_first):
            until = later.origin.happened_at if new != old else until
            if until is not None:
                ended[said] = until
    return ended


def replaced(found: Stated, contents: Mapping[str, str], formers: Mapping[str, Sequence[Former]]) -> dict[Said, int]:
    """Return when each sentence was corrected that stands in a memory which the caller names as a former one.

    ``contents`` are those of the entries by id. Of a memory that says more, a sentence is former where the entry that
    came in its place states its key.
    """
    ended: dict[Said, int] = {}
    read_keys: dict[str, frozenset[str | None]] = {}
    for id_ in sorted(formers.keys() & contents.keys()):
        for former in formers[id_][:_MAX_FORMERS]:
            others = (one for one in found if one.origin.memory_id != id_)
            for said in (one for one in others if contents[one.origin.memory_id] == former.content):
                statement = found[said]
                alone = said.text == plain(former.content[:MAX_READ])
                key = None if alone or statement is None else statement.key
                if alone or (key and key in _keys(contents[id_], former.speaker, key, read_keys)):
                    ended[said] = max(former.until, ended.get(said, former.until))
    return ended


def _keys(content: str, speaker: str, key: str, read_keys: dict[str, frozenset[str | None]]) -> frozenset[str | None]:
    """Return the keys that a memory states; after some memories it is taken for granted that it states this one."""
    if content not in read_keys:
        if len(read_keys) == _MAX_KEYS_READ:
            return frozenset((key,))
        read_keys[content] = frozenset(one.key for one in statements(content[:_MAX_KEYED], speaker or None))
    return read_keys[content]


def formers_of(
    said: Said, statement: Statement | None, formers: Iterable[Former], wording: Wording
) -> list[tuple[Said, int]]:
    """Return the sentences that held before one came in their place, and until when (ms), the latest first.

    Of a former memory that says more, only the sentence of the same key is one: the rest may still hold.
    """
    stems = Stems(wording)
    key = statement.key if statement else None
    found: list[tuple[Said, int]] = []
    latest = sorted(formers, key=lambda former: (-former.until, -former.happened_at, former.content))
    for former in latest[:_MAX_FORMERS]:
        metadata = {"speaker": former.speaker} if former.speaker else {}
        told = _Told(
            said.origin.memory_id, former.content[:_MAX_KEYED], metadata, former.happened_at, former.happened_at
        )
        sentences = read(told, stems, wording.code, most=2)
        if len(sentences) > 1:
            sentences = [one for one, of in said_in(told, stems) if of.key == key] if key else []
        found.extend((one, former.until) for one in sentences[:1])
    return found
