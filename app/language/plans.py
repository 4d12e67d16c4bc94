"""The words that say of a day that something is due, planned or expected then, in English, German and Swedish."""

import re

from app.domain.words import word_set

_PLANS = word_set(
    "due deadline plan plans planned planning schedule scheduled expect expects expected estimated forecast intend",
    "intends intended supposed hope hopes hoped hoping want wants wanted will shall going tentative tentatively target",
    "fällig plant geplant planen planmäßig vorgesehen erwartet voraussichtlich soll sollte will wollen wollte wird",
    "werden werde hofft hoffe frist",
    "förfaller förföll förfallodag planerar planerad planerat planerade planeras väntas förväntas beräknas beräknad",
    "beräknat ska skall skulle hoppas hoppades tänker vill ville",
)
_WORD = re.compile(r"\w+")


def is_plan(text: str) -> bool:
    """Tell whether a text has a word by which a day in it is one that was planned, and not one on which it was."""
    return any(word in _PLANS for word in _WORD.findall(text.lower()))
