"""What a memory states, as far as its author may say so."""

from dataclasses import replace

from app.domain.author import Author
from app.domain.claim import Stated
from app.domain.memory import STORE_KEY, Memory
from app.statements.stated import read


def permitted(memory: Memory, author: Author) -> Stated:
    """Return what a memory states; of an author who is bound to speakers, the claims of these about themselves.

    What a program keeps for itself states nothing.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    stated = read(memory.content, memory.metadata)
    if not author.may_speak_in(memory.content, memory.metadata):
        return replace(stated, claims=())
    if author.speakers is None:
        return stated
    return replace(stated, claims=[claim for claim in stated.claims if claim.subject in author.speakers])
