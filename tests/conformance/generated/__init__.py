"""One program for each generator: it stores, recalls, lists, imports, exports and is refused with the client made.

It begins a run with an episode, keeps a key of working memory, learns a fact, and assembles a context. The address, the
credential and what to send are in the environment; what came back is printed as one JSON object.
"""
