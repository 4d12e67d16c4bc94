"""The names of a store in Cloudflare's Agent Memory: a namespace, and a profile in it.

https://developers.cloudflare.com/agent-memory/concepts/namespaces-profiles/
"""

import hashlib
from dataclasses import dataclass

from app.domain import limits

DEFAULT_NAMESPACE = "default"
"""The namespace whose profiles are the agents that every other route names. It exists without being created."""

_PREFIX = "cf:"
_HASH_CHARACTERS = 20


@dataclass(frozen=True, slots=True)
class ProfileName:
    """The name of a profile in Cloudflare's API.

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
        """The id of the profile's agent. No two names share an agent: the table ``profile`` would refuse the second."""
        if self.namespace == DEFAULT_NAMESPACE and limits.is_id(self.name) and not self.name.startswith(_PREFIX):
            return self.name
        return f"{agents_of(self.namespace)}{hashlib.sha256(self.name.encode()).hexdigest()[:_HASH_CHARACTERS]}"


def agents_of(namespace: str) -> str:
    """Return the prefix that the ids of a namespace's agents have, and no other agent's id."""
    return f"{_PREFIX}{namespace}:"
