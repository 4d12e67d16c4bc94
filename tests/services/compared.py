"""Memories compared when a test says so, as the background work of a process with a reader does it within a second."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

from app.domain.reading import Relation
from app.runtime.relating import read_left_over, relating
from tests.services.scripted_reader import REPLACES, ScriptedReader


def of_one_thing(*texts: str) -> Mapping[tuple[str, str], Relation]:
    """Return a script in which the newer of any two of these texts replaces the older."""
    return dict.fromkeys(permutations(texts, 2), REPLACES)


async def compare(backends: Any, reader: ScriptedReader) -> None:
    """Have the reader read all memories that wait, once the index has them; the service itself needs none."""
    await backends.deliveries.settle()
    job = relating(backends, reader)
    while await read_left_over(job):
        pass
