"""The requests to a language model that make memories of messages, and the checks of its answers; no I/O."""
