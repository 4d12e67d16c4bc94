"""Which of the hostile texts and shapes a run of the tests takes."""

from collections.abc import Iterable

from tests.support.generation import LONG


def cases(fields: Iterable[str], made: Iterable[str], *, one_in: int) -> list[tuple[str, str]]:
    """Pair each field, or reader, with all that it may be given; in a short run only one in so many pairs."""
    pairs = [(field, each) for field in fields for each in made]
    return pairs if LONG else pairs[::one_in]
