"""The findings of a comparison of the index with the database, and its progress."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

_MAX_EXAMPLES = 20


@dataclass(slots=True)
class Findings:
    """The findings so far: counts, and a few example ids of each kind.

    ``missing`` memories have no vector, ``orphans`` are vectors without a memory, ``stale`` memories were embedded
    with a config that is not in use; ``unreadable`` vectors are damaged, in the index or in the outbox; ``foreign``
    vectors were not written by this service and are not touched. ``hidden`` vectors are there by id, but no search of
    their scope finds them; ``changed`` vectors have other values or metadata than their memories. ``words`` counts the
    memories that are not found by their words.
    """

    listed: int = 0
    walked: int = 0
    missing: int = 0
    orphans: int = 0
    stale: int = 0
    unreadable: int = 0
    foreign: int = 0
    compared: int = 0
    hidden: int = 0
    changed: int = 0
    words: int = 0
    repaired: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, ids: Sequence[str]) -> None:
        """Count the ids of a kind, and keep some as examples."""
        setattr(self, kind, getattr(self, kind) + len(ids))
        shown = self.examples.setdefault(kind, [])
        shown += ids[: _MAX_EXAMPLES - len(shown)]


def together(found: Sequence[Findings]) -> Findings:
    """Return the findings of several comparisons as one."""
    counts = {
        field_.name: sum(getattr(one, field_.name) for one in found)
        for field_ in fields(Findings)
        if field_.name != "examples"
    }
    examples: dict[str, list[str]] = {}
    for one in found:
        for kind, ids in one.examples.items():
            examples[kind] = [*examples.get(kind, []), *ids][:_MAX_EXAMPLES]
    return Findings(**counts, examples=examples)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress: the steps that are done, the number of all steps, and the number of memories at the start.

    The listing of the index is at most a third of the progress. Once it has ended, the listed ids count with the
    memories, so that an index which holds little, as a lost or a new one, leaves most of the progress to the memories.
    """

    done: int
    of: int
    memories: int
