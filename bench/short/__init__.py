"""The short form of the benchmark: what a request does, counted and not timed, so that a busy machine says the same."""
