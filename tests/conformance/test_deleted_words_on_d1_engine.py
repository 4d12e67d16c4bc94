"""Deleted words, on the engine that D1 runs on."""

import pytest

from tests.indexing.test_deleted_words import (
    bench,
    test_nor_has_what_separates_one_block_from_the_next,
    test_the_blocks_of_the_words_index_have_no_word_of_an_erased_agent,
    test_where_nothing_but_the_erased_agent_was_stored_nothing_is_left,
)

__all__ = [
    "bench",
    "test_nor_has_what_separates_one_block_from_the_next",
    "test_the_blocks_of_the_words_index_have_no_word_of_an_erased_agent",
    "test_where_nothing_but_the_erased_agent_was_stored_nothing_is_left",
]
pytestmark = pytest.mark.usefixtures("on_the_engine")
