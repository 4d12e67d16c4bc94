"""What a memory states, as far as its author may say so."""

from dataclasses import replace

from app.domain.author import Author
from app.domain.claim import Stated
from app.domain.memory import STORE_KEY, Memory
from app.statements.explicit import read_explicit
from app.statements.learned import read_learned
from app.statements.stated import read


def permitted(memory: Memory, author: Author, *, compared: bool) -> Stated:
    """Return what a memory states; of an author who is bound to speakers, the claims of these about themselves.

    What a program keeps for itself states nothing. A memory that a model made states what it says of its topic, if its
    author may speak for anybody: nobody knows about whom a topic is. Where memories are ``compared`` by a reader, only
    what is stated explicitly counts: a fact or a topic; the rest waits for the reader.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    if compared:
        stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    elif memory.learned is not None:
        stated = read_learned(memory.content, memory.learned, memory.type)
    else:
        stated = read(memory.content, memory.metadata)
    if not may_state(memory, author):
        return replace(stated, claims=())
    if memory.learned is not None or author.speakers is None:
        return stated
    return replace(stated, claims=[claim for claim in stated.claims if claim.subject in author.speakers])


def may_state(memory: Memory, author: Author) -> bool:
    """Tell whether an author may speak for whom a memory names; for a topic's, only who may speak for anybody."""
    if memory.learned is not None:
        return author.speakers is None
    return author.may_speak_in(memory.content, memory.metadata)
