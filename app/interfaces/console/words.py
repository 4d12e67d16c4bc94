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


_EXPLAINED: Final = {
    "vector": "how alike the question and the memory are in meaning",
    "lexical": "words of the question that the memory has",
    "synonyms": "words of the memory that mean the same as words of the question",
    "numbers": "numbers of the question that the memory has",
    "names": "names of the question that the memory has",
    "time": "the memory happened at the time that the question asks for",
    "key": "the memory states the value of what the question asks for",
    "beside": "the memories before and after it in its session fit the question",
    "session": "other memories of the same session fit the question",
    "recency": "how new the memory is",
    "hyde": "how alike the memory is to an answer that a language model has imagined",
    "learned": "it was learned of messages that fit the question",
    "succession": "it has replaced a memory that fits the question, and has that one's share",
    "reader": "what a small model adds or takes that has read the question and the memory",
    "reranker": "what another model has said of the question and the memory",
}


def explained(name: str) -> str:
    """Return what a channel's share of a score says, as a part of a sentence; "" where that is not known."""
    return _EXPLAINED.get(name, "")


_LABELS: Final = {
    "q": "Question",
    "top_k": "Entries at most",
    "min_score": "Score at least",
    "as_of": "As of",
    "created_after": "Stored after",
    "created_before": "Stored before",
    "started_after": "Begun after",
    "started_before": "Begun before",
    "metadata": "Metadata",
    "memory": "A memory that is missing",
    "words": "With these words",
    "written_by": "Written by credential",
    "content": "What holds now",
    "max_tokens": "Tokens",
    "query": "First message",
    "instance": "Session",
    "agent_type": "Type of agent",
    "run": "Learned from run",
    "parent": "Delegated by run",
    "cursor": "The link to the next page",
    "agent": "Agent",
    "agent_id": "Agent",
    "credential": "By credential",
    "minted_by": "Minted by credential",
    "session_id": "Session",
    "run_id": "Run",
    "credential_id": "Credential",
}
_FIELDS: Final = {
    "filter.metadata": "metadata",
    "filter.created_after": "created_after",
    "filter.created_before": "created_before",
    "learned_from_run_id": "run",
    "parent_run_id": "parent",
}


def field_named(name: str) -> str:
    """Return the name of a form's field for the one by which a service refuses it."""
    return _FIELDS.get(name, name)


def label_of(name: str) -> str:
    """Return the label of the field that a service refuses; a name without one is written with spaces."""
    field = field_named(name)
    return _LABELS.get(field, field.replace("_", " ").replace(".", " ").capitalize())
