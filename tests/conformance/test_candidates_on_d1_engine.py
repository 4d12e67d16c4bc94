"""What recall finds by words, on the engine that D1 runs on."""

from tests.contracts.test_candidates import *  # noqa: F403 - the same suite, not a copy of it
