"""Answers queries of profiles: with sentences of memories, or by a language model where it can be checked."""
