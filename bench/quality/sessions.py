"""A question and its answer by sessions instead of turns: which conversation of a day, and not which line of it."""

from bench.quality.asking import Asked


def gold(asked: Asked) -> frozenset[str]:
    """Return the sessions that hold the answer; a turn without a session is one by itself."""
    return asked.question.sessions or frozenset(asked.sessions.get(turn, turn) for turn in asked.question.gold)


def found(asked: Asked) -> tuple[str, ...]:
    """Return the sessions of the turns that came back, in their order, each once."""
    return tuple(dict.fromkeys(asked.sessions.get(turn, turn) for turn in asked.answer.turn_ids))


def has_any(asked: Asked) -> bool:
    """Whether the conversation is one of sessions."""
    return bool(asked.sessions)
