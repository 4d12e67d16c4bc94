"""What a memory states that a language model made of messages."""

from app.domain.claim import Claim, MemoryType, Stated
from app.domain.learned import Learned
from app.domain.messages import digest
from app.language.tokens import folded

_KEYED = frozenset[MemoryType | None](("fact", "instruction"))


def read_learned(content: str, learned: Learned, type_: MemoryType | None) -> Stated:
    """Return what such a memory states: of a fact or an instruction with a topic, what it says of the topic.

    No rule reads its content, and no rule has a key without "/": so it supersedes other such memories only, whatever
    the model has written.
    """
    if learned.topic is None or type_ not in _KEYED:
        return Stated(type=type_)
    value = digest(" ".join(folded(content).split()))
    return Stated([Claim(f"topic:{learned.topic}", value, whole=True)], type_)
