"""What a memory states, as far as its author may say so."""

from dataclasses import replace

from app.domain.author import Author
from app.domain.claim import Stated
from app.domain.explicit import read_explicit, said_by
from app.domain.memory import STORE_KEY, Memory


def permitted(memory: Memory, author: Author) -> Stated:
    """Return what a memory states explicitly; of an author who is bound to speakers, facts of these alone.

    What a program keeps for itself states nothing. A memory that a model made states what it says of its topic, if its
    author may speak for anybody: nobody knows about whom a topic is. All else waits for a reader.
    """
    if STORE_KEY in memory.metadata:
        return Stated()
    stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    return said_by(stated, author.speakers) if may_state(memory, author) else replace(stated, claims=())


def may_state(memory: Memory, author: Author) -> bool:
    """Tell whether an author may speak for whom a memory names; for a topic's, only who may speak for anybody."""
    if memory.learned is not None:
        return author.speakers is None
    return author.may_speak_in(memory.content, memory.metadata)
