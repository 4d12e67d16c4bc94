"""The numbers that docs/requirements.md names, where the product has them as defaults."""

from collections.abc import Callable

import pytest

from app.domain import limits
from app.domain.episodes import NewRun
from app.domain.query import Query
from app.services.turns.shares import LEARNING_CALLS
from app.settings import Settings

NUMBERS: dict[str, tuple[Callable[[], object], object]] = {
    "L2: entries of a recall": (lambda: Query("tea").top_k, 5),
    "L11: calls of the embedder in a minute": (lambda: Settings.model_fields["openai_calls_per_minute"].default, 3_000),
    "M3: calls of a model that a tenant's ingestions make at once": (lambda: LEARNING_CALLS, 4),
    "T1: seconds that a key lives": (lambda: limits.WORKING_TTL_SECONDS, 3_600),
    "T1: bytes of an instance": (lambda: limits.WORKING_BYTES, 128 * 1024),
    "T2: episodes that a run is given": (lambda: NewRun("bot", "support", None).episodes, 10),
    "T2: days that episodes are kept": (lambda: Settings.model_fields["episode_days"].default, 90),
    "T2: episodes of a tenant": (lambda: Settings.model_fields["tenant_episodes"].default, 100_000),
}


@pytest.mark.parametrize(("number", "asked"), NUMBERS.values(), ids=NUMBERS)
def test_a_default_is_the_number_that_was_asked_for(number: Callable[[], object], asked: object) -> None:
    assert number() == asked
