"""A damaged index of words, on the engine that D1 runs on."""

import pytest

from tests.services.memories.test_damaged_indexes import (
    bench,
    test_an_emptied_index_of_words_keeps_no_memory_from_being_deleted_or_stored,
    test_what_is_stored_and_deleted_while_words_are_made_again_is_as_it_should_be,
    test_words_that_were_lost_unnoticed_are_found_missing_and_made_again,
)

__all__ = [
    "bench",
    "test_an_emptied_index_of_words_keeps_no_memory_from_being_deleted_or_stored",
    "test_what_is_stored_and_deleted_while_words_are_made_again_is_as_it_should_be",
    "test_words_that_were_lost_unnoticed_are_found_missing_and_made_again",
]
pytestmark = pytest.mark.usefixtures("on_the_engine")
