"""What a language model is asked to make of messages, and what of its answers is taken; no I/O."""
