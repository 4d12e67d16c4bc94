"""Answers queries of profiles: with sentences of memories, or by a language model whose answer is checked."""
