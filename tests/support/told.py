"""Texts of tests that are told as facts: what somebody says later of the same thing takes the place of it."""

import re
from dataclasses import asdict

from app.domain.facts import FACT_KEY, Fact
from app.domain.json_types import Json

KEY = "user/lives_in"
_HOME = re.compile(r"(?:(?P<who>\w+): )?I (?:live in|moved to) (?P<where>\w+)\.?")


def told(content: str, who: str | None = None) -> dict[str, Json]:
    """Return the metadata with which a text tells where somebody lives; none for another text.

    Who speaks is ``who``, or stands before a colon, or else the user.
    """
    home = _HOME.fullmatch(content)
    if home is None:
        return {}
    return {FACT_KEY: asdict(Fact(who or home["who"] or "user", "lives in", home["where"], single=True))}
