"""The channels of retrieval: each finds and scores candidates in one way."""
