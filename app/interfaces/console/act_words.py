"""Says administrative acts in plain words: what was done, to what, and how many things it concerned."""

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.acts import Act, ActName
from app.interfaces.console.words import in_words

_Phrases = Mapping[ActName, tuple[str, str]]

_GROUPS: Final[Mapping[str, _Phrases]] = {
    "Memories": {
        "taught.undo": ("Take back a source", "Took back"),
        "credential.undo": ("Take back a credential", "Took back"),
        "memory.delete": ("Delete a memory", "Deleted"),
        "session.delete": ("Delete a session", "Deleted"),
        "agent.erase": ("Erase an agent", "Erased"),
        "profile.erase": ("Erase a profile", "Erased"),
        "tenant.erase": ("Erase the tenant", "Erased the tenant"),
        "memories.export": ("Export memories", "Exported memories"),
        "memories.import": ("Import memories", "Imported memories"),
        "consolidation.forecast": ("Look for memories to consolidate", "Looked for memories to consolidate"),
        "consolidation.run": ("Consolidate memories", "Consolidated memories"),
        "consolidation.undo": ("Take back a consolidation", "Took back a consolidation"),
        "archive.read": ("Read the archive", "Read the archive"),
        "archive.restore": ("Restore from the archive", "Restored from the archive"),
        "blob.delete": ("Delete a blob", "Deleted a blob"),
        "canary.plant": ("Plant a canary", "Planted a canary"),
        "canary.remove": ("Remove a canary", "Removed a canary"),
        "golden.keep": ("Keep a golden question", "Kept a golden question"),
        "golden.remove": ("Remove a golden question", "Removed a golden question"),
        "prune": ("Delete what is too old", "Deleted what was too old"),
    },
    "Access": {
        "access": ("Refused requests", "Request"),
        "credential.mint": ("Mint a credential", "Minted"),
        "credential.revoke": ("Revoke a credential", "Revoked"),
        "acts.export": ("Export the administrative acts", "Exported the administrative acts"),
    },
    "Settings and shared documents": {
        "agent.set": ("Change an agent's settings", "Changed the settings of"),
        "configuration.put": ("Change the tenant's configuration", "Changed the tenant's configuration"),
        "quota.set": ("Set a limit", "Set a limit of"),
        "quota.clear": ("Remove a limit", "Removed a limit of"),
        "context.put": ("Write a shared document", "Wrote a shared document"),
        "context.delete": ("Delete a shared document", "Deleted a shared document"),
        "namespace.create": ("Create a namespace", "Created a namespace"),
        "namespace.delete": ("Delete a namespace", "Deleted a namespace"),
        "workflow.put": ("Write a workflow", "Wrote"),
        "workflow.delete": ("Delete a workflow", "Deleted"),
        "workflow.restore": ("Restore a version of a workflow", "Restored a version of"),
    },
    "Index and database": {
        "index.rebuild": ("Rebuild the index", "Rebuilt the index"),
        "index.repair": ("Repair the index", "Repaired the index"),
        "outbox.drop": ("Drop changes for the index", "Dropped changes for the index"),
        "outbox.retry": ("Send changes to the index again", "Sent changes to the index again"),
        "reembed.start": ("Begin to change the embedding model", "Began to change the embedding model"),
        "reembed.switch": ("Switch to the new embedding model", "Switched to the new embedding model"),
        "reembed.rollback": ("Go back to the old embedding model", "Went back to the old embedding model"),
        "reembed.drop": ("Drop an embedding model's vectors", "Dropped an embedding model's vectors"),
        "backup": ("Make a backup", "Made a backup"),
        "snapshot.make": ("Make a snapshot", "Made a snapshot"),
        "snapshot.restore": ("Restore a snapshot", "Restored a snapshot"),
        "migrate": ("Migrate the database", "Migrated the database"),
        "vacuum": ("Compact the database", "Compacted the database"),
        "shard.add": ("Add a shard", "Added a shard"),
        "tenant.move": ("Move the tenant to another shard", "Moved the tenant to another shard"),
    },
}
ACT_CHOICES: Final[Sequence[tuple[str, Sequence[tuple[ActName, str]]]]] = [
    (group, [(name, phrases[0]) for name, phrases in acts.items()]) for group, acts in _GROUPS.items()
]
"""The names of acts with their words, in groups."""
_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    name: phrases for acts in _GROUPS.values() for name, phrases in acts.items()
}
OUTCOME_WORDS: Final = {
    "done": "done",
    "begun": "begun, without an end",
    "failed": "failed",
    "refused": "refused",
}
"""The outcomes, and how each is shown."""
_SUBJECTS: Final = {
    "session_id": "session",
    "memory_id": "memory",
    "run_id": "run",
    "credential_id": "credential",
    "workflow_id": "workflow",
    "agent_id": "agent",
}
# Of one and of several.
_COUNTS: Final = {
    "memories": ("memory", "memories"),
    "changed": ("memory of others changed back", "memories of others changed back"),
    "messages": ("message deleted", "messages deleted"),
    "outcomes": ("outcome of a workflow counts no more", "outcomes of workflows count no more"),
    "holds_again": ("memory holds again", "memories hold again"),
}
_DELETES: Final = {"taught.undo", "credential.undo", "session.delete"}
_UNSAID: Final = {"dry_run", "more_left"}


def act_title(name: str) -> str:
    """Return what somebody does who does an act of this name."""
    return _PHRASES[name][0] if name in _PHRASES else in_words(name)


def act_verb(act: Act) -> str:
    """Return what was done, or of an act that was not done what was tried, before the names of what it is about."""
    if act.counts.get("dry_run"):
        return f"Looked at what this would do: {act_title(act.act).lower()};"
    if act.outcome != "done" or act.act not in _PHRASES:
        return act_title(act.act) + (":" if act.subject else "")
    title, done = _PHRASES[act.act]
    return done if act.subject or " " in done else f"{done} {title.partition(' ')[2]}"


def about(act: Act) -> Sequence[tuple[str, str, str | None]]:
    """Return what an act is about: for each the field, its words, and the id; None: what was given was no id."""
    named = [
        (name, _SUBJECTS.get(name, in_words(name.removesuffix("_id"))), value) for name, value in act.subject.items()
    ]
    of_session = any(name == "session_id" for name, *_ in named)
    ordered = sorted(named, key=lambda each: list(_SUBJECTS).index(each[0]) if each[0] in _SUBJECTS else len(_SUBJECTS))
    return [
        (name, "of agent" if name == "agent_id" and of_session else word, None if value is None else str(value))
        for name, word, value in ordered
    ]


def counts_in_words(act: Act) -> str:
    """Return how many things an act concerned, without those that are none."""
    given = {name: int(value) for name, value in act.counts.items() if isinstance(value, int) and name not in _UNSAID}
    return ", ".join(_count(name, value, act.act) for name, value in given.items() if value)


def act_in_words(act: Act) -> str:
    """Return an act as one sentence without its full stop."""
    named = " ".join(f"{word} {value or '(not an id)'}" for _, word, value in about(act))
    counts = counts_in_words(act)
    return " ".join(filter(None, (act_verb(act), named))) + (f": {counts}" if counts else "")


def _count(name: str, value: int, act: str) -> str:
    number = f"{value:,}".replace(",", "\u202f")
    if name not in _COUNTS:
        return f"{in_words(name)} {number}"
    words = f"{number} {_COUNTS[name][value != 1]}"
    return f"{words} deleted" if name == "memories" and act in _DELETES else words
