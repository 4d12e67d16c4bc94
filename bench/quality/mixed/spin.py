"""Makes one sentence out of a pattern: the noise is composed from varied parts.

``[a|b|]`` is one of its parts (they may nest), ``{food}`` an entry of the list of that name, ``{food*4}`` four
different ones with commas between, ``{food/4}`` the same on a line each, ``{12-90}`` a number, ``{#6}`` six digits.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

Lists = Mapping[str, Sequence[str]]

_SLOT = re.compile(
    r"\{(?:#(?P<digits>\d+)|(?P<low>\d+)-(?P<high>\d+)|(?P<name>[a-z_]+)(?:(?P<join>[*/])(?P<count>\d+))?)\}"
)
_CHOICE = re.compile(r"\[([^\[\]]*)\]")


def expand(pattern: str, lists: Lists, rng: Random) -> str:
    """Fill every slot and decide every choice of a pattern."""
    text = pattern
    while True:
        chosen = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), text)
        chosen = _SLOT.sub(lambda match: _filled(match, lists, rng), chosen)
        if chosen == text:
            return text
        text = chosen


def _filled(match: re.Match[str], lists: Lists, rng: Random) -> str:
    if match["digits"]:
        return "".join(rng.choice("0123456789") for _ in range(int(match["digits"])))
    if match["low"]:
        return str(rng.randint(int(match["low"]), int(match["high"])))
    entries = lists[match["name"]]
    if not match["join"]:
        return rng.choice(entries)
    some = rng.sample(entries, int(match["count"]))
    return ", ".join(some) if match["join"] == "*" else "\n".join(f"- {entry}" for entry in some)
