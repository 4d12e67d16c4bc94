"""What a memory may claim: what it states, as far as its author may say so."""

from collections.abc import Sequence

from app.domain.author import Author
from app.domain.claim import Claim
from app.domain.memory import STORE_KEY, Memory
from app.statements.stated import claims


def permitted_claims(memory: Memory, author: Author) -> Sequence[Claim]:
    """Return what a memory states; of an author who is bound to speakers, what these say of themselves.

    What a program keeps for itself states nothing.
    """
    if STORE_KEY in memory.metadata or not author.may_speak_in(memory.content, memory.metadata):
        return []
    stated = claims(memory.content, memory.metadata)
    return stated if author.speakers is None else [claim for claim in stated if claim.subject in author.speakers]
