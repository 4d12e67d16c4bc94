"""Memory that arrives by itself: what a harness of agents runs at the events of a session.

It imports little, and no package: a hook runs before each prompt, and most of its time is Python's start.
"""
