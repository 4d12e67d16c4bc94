"""Answers and summaries that are put together from what memories say, word for word: no language model writes them."""
