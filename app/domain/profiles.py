"""The names by which Cloudflare's Agent Memory asks for a store: a namespace, and a profile in it.

https://developers.cloudflare.com/agent-memory/concepts/namespaces-profiles/
"""

import hashlib
from dataclasses import dataclass

from app.domain import limits

DEFAULT_NAMESPACE = "default"
"""The namespace whose profiles are the agents that every other route names. It needs no creation."""

_PREFIX = "cf:"
_HASH_CHARACTERS = 20


@dataclass(frozen=True, slots=True)
class ProfileName:
    """A profile, as Cloudflare's API names it.

    Making one raises ``InvalidRequest`` where a name is outside its bounds.
    """

    namespace: str
    name: str

    def __post_init__(self) -> None:
        """Check both names."""
        limits.check(
            ("namespace_name", limits.NAMESPACE, self.namespace), ("profile_name", limits.PROFILE_NAME, self.name)
        )

    @property
    def agent_id(self) -> str:
        """The agent that it is. No two names are one agent: the table ``profile`` would refuse the second."""
        if self.namespace == DEFAULT_NAMESPACE and limits.is_id(self.name) and not self.name.startswith(_PREFIX):
            return self.name
        return f"{agents_of(self.namespace)}{hashlib.sha256(self.name.encode()).hexdigest()[:_HASH_CHARACTERS]}"


def agents_of(namespace: str) -> str:
    """Return what the ids of a namespace's agents begin with, and no other agent's."""
    return f"{_PREFIX}{namespace}:"
