"""Makes one of proposals that say the same: two passes read each part of a conversation."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.domain.learned import Proposal
from app.statements.tokens import tokens


def merge(proposals: Iterable[Proposal], said: Sequence[str] = ()) -> list[Proposal]:
    """Return each proposal once, with the messages of all that say the same.

    ``said``: message ids in the order in which they were said, which is the order of those that a proposal cites; what
    it does not name comes after, by id.
    """
    place = {id_: number for number, id_ in enumerate(said)}
    merged: dict[tuple[str, ...], Proposal] = {}
    for each in sorted(proposals, key=lambda proposal: proposal.content):
        words = tokens(each.content)
        other = merged.get(words)
        ids = {*each.message_ids, *(other.message_ids if other else ())}
        ordered = sorted(ids, key=lambda id_: (place.get(id_, len(place)), id_))
        merged[words] = replace(other or each, message_ids=ordered)
    return list(merged.values())
