"""What a memory states, as far as its author may say so."""

from dataclasses import replace

from app.domain.author import Author
from app.domain.claim import Stated
from app.domain.memory import STORE_KEY, Memory
from app.statements.learned import read_learned
from app.statements.stated import read


def permitted(memory: Memory, author: Author) -> Stated:
    """Return what a memory states; of an author who is bound to speakers, the claims of these about themselves.

    What a program keeps for itself states nothing. A memory that a model made states what it says of its topic, if its
    author may speak for anybody: nobody knows about whom a topic is.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    if memory.learned is not None:
        stated = read_learned(memory.content, memory.learned, memory.type)
        return stated if author.speakers is None else replace(stated, claims=())
    stated = read(memory.content, memory.metadata)
    if not author.may_speak_in(memory.content, memory.metadata):
        return replace(stated, claims=())
    if author.speakers is None:
        return stated
    return replace(stated, claims=[claim for claim in stated.claims if claim.subject in author.speakers])
