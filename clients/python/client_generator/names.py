"""What the client calls otherwise than the OpenAPI document does, and what that document cannot say."""

from collections.abc import Mapping

ANSWERS: Mapping[str, str] = {
    "AgentAnswer": "AgentSettings",
    "AppendAnswer": "MessagesAppended",
    "AssembledAnswer": "AssembledContext",
    "BlobListAnswer": "BlobPage",
    "ConfiguredAnswer": "ConfigurationVersion",
    "ContextAnswer": "ContextDocument",
    "DetailAnswer": "ProfileMemory",
    "EpisodesAnswer": "EpisodePage",
    "EventAnswer": "AuditEvent",
    "EventsAnswer": "AuditEvents",
    "ExplainAnswer": "Explanation",
    "FactsAnswer": "FactPage",
    "GoingAnswer": "UndoGoing",
    "HoldingAnswer": "UndoHolding",
    "IngestAnswer": "Ingested",
    "ListAnswer": "Page",
    "ListedAnswer": "ProfilePage",
    "MergeAnswer": "Merged",
    "RunsAnswer": "RunPage",
    "SelectionAnswer": "SelectedWorkflow",
    "StoreAnswer": "Stored",
    "SummaryRequestBody": "SummaryBody",
    "UndoAnswer": "Undone",
    "UndoTaughtAnswer": "UndoneLearned",
    "WorkflowsAnswer": "WorkflowPage",
}
"""The class of a schema; any other has its name, without ``Answer``."""

METHODS: Mapping[str, str] = {"export": "export_memories", "import": "import_memories"}
"""The method of an operation; any other has its ``operationId``."""

ALIASES: Mapping[str, str] = {"ask": "recall_profile"}
"""Further methods, each of an operation."""

OWN = "one_agent(agent_id, _own)"
"""The agent of a call where it has to have one: the one that is said, else the client's."""

AGENTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("audit", "episodes", "export", "list_archive", "list_memories", "runs", "usage"),
        "agent_or_every(agent_id, _own, every_agent=every_agent)",
    ),
    **dict.fromkeys(("delete_blob", "get_blob", "list_blobs", "put_blob"), "owner(agent_id, _own, shared=shared)"),
    **dict.fromkeys(("facts", "learn", "recall_facts"), "fact_owner(agent_id, _own, agent_type, shared=shared)"),
    **dict.fromkeys(("consolidation_dry_run", "list_tools"), "agent_id or _own"),
    **dict.fromkeys(("credentials", "erase_agent", "mint_credential"), "agent_id"),
    "undo_learned": "agent_of_session(agent_id, _own, session_id)",
}
"""How an operation finds its agent, where that is not ``OWN``."""

FLAGS: Mapping[str, str] = {
    "every_agent": "Those of all agents that the credential reaches, as does a client without an agent.",
    "shared": "What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.",
}
"""Parameters that say what is left out of the request."""

POSITIONAL: Mapping[str, tuple[str, ...]] = {"complete_run": ("output",), "facts": ("subject",)}
"""Parameters that may be left out, and that still may be said by their place."""

VALUES: Mapping[tuple[str, str], str] = {
    ("append_episode", "episodes"): 'named(items(episodes), "episode_id")',
    ("audit_run", "calls"): 'named(calls, "call_id")',
    ("start_run", "run_id"): "run_id or new_ulid()",
}
"""What is sent of a parameter, where that is not what is said: ids, so that what is sent again is known."""

KINDS: Mapping[tuple[str, str], str] = {
    ("append_episode", "episodes"): "EpisodeRequest | Mapping[str, Any] | Sequence[EpisodeRequest | Mapping[str, Any]]",
}
"""The type of a parameter that takes more than the document says."""

ONCE = frozenset(
    {
        "agent_memory_memory_delete",
        "agent_memory_namespace_create",
        "agent_memory_namespace_delete",
        "agent_memory_profile_delete",
        "append_run_log",
        "delete_memories",
        "erase_agent",
        "erase_tenant",
        "import",
        "mint_credential",
        "put_blob",
        "restore_archived",
    }
)
"""Operations that are not sent again where nobody knows what became of the first: done twice they do something else, or
are refused the second time."""

LINES: Mapping[str, tuple[str, ...]] = {"export": ("end",), "export_acts": (), "import": ("summary",)}
"""Operations that answer with lines, each with the type that the last one has, without which the answer is cut off."""

RENAMED: Mapping[str, Mapping[str, str]] = {}
"""Parameters of an operation that have another name now, each with that name: they are taken, with a warning."""

DESCRIBED: Mapping[str, str] = {
    "agent_id": "The agent, where that is not the client's.",
    "calls": "1 to 100, in their order. A ``call_id`` is made where it is missing.",
    "episodes": "One, or 1 to 100: all are written, or none. An ``episode_id`` is made where it is missing.",
    "content": "What to keep.",
    "lines": "The lines of an export: objects, or as they were written.",
    "media_type": "What it is.",
    "messages": "What was said, in its order.",
    "metadata": "Only what has an equal value of the same type for each of these keys.",
    "query": "What is asked.",
}
"""What is said of a parameter where the document says nothing, or something that is not so for the client."""

PREFERRED = frozenset({"agent_id", "calls", "episodes"})
"""The parameters of which ``DESCRIBED`` goes before the document."""
