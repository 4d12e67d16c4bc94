"""Plain words for the names that answers have, such as those of channels; a name without words stands for itself."""

from typing import Final

_WORDS: Final = {
    # channels, and what else a score is made of
    "vector": "meaning",
    "lexical": "words",
    "synonyms": "synonyms",
    "numbers": "numbers",
    "names": "names",
    "time": "the time asked for",
    "key": "states what is asked",
    "beside": "its neighbours",
    "session": "its session",
    "recency": "how recent it is",
    "hyde": "an imagined answer",
    "learned": "learned of messages",
    "succession": "what it replaces",
    "reader": "the reader",
    "reranker": "the reranker",
    # parts of a context
    "shared_context": "shared documents",
    "long_term": "long-term memory",
    "window": "the window",
    # how a memory came
    "http": "HTTP",
    "mcp": "MCP",
    "import": "import",
    "command": "command line",
    "console": "console",
    # steps of a run
    "started": "begun",
    "child_started": "a run was delegated",
    "child_ended": "a delegated run ended",
    # degraded
    "index_unavailable": "The vector index did not answer: memories were found by words alone.",
    "embedder_unavailable": "The embedder did not answer: memories were found by words alone.",
    "lexical_unavailable": "The index of words did not answer: memories were found by meaning alone.",
    "vectors_unreadable": "Damaged vectors were left out.",
    "reader_unavailable": "The reader did not answer in time: this is the order without it.",
    "reranker_unavailable": "The reranker did not answer in time: this is the order without it.",
    "pending_bound": "Of what is new only the newest was compared.",
    "filter_beyond_index": "Not all memories that pass the filter were compared by meaning.",
}


def in_words(name: str) -> str:
    """Return the words for a name."""
    return _WORDS.get(name, name.replace("_", " "))
