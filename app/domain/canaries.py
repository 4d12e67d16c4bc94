"""Canaries: sentinel rows with a random token, which no scope but their own may ever be shown."""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CANARY_AGENT: Final = "memory-gateway:canary"
"""The agent that has a tenant's canary. It has the same name in every tenant: a statement that lost its tenant would
find the canaries of all."""
PROBE_AGENT: Final = "memory-gateway:probe"
"""The agent of the same tenant as which the prober asks. It has nothing."""
PROBE_TENANT: Final = "memory-gateway:probe"
"""A tenant of the service's own, as which the prober asks what concerns a whole tenant. It has canaries also among what
the agents of a tenant share, where those of a customer would see them."""
RESERVED_AGENTS: Final = frozenset({CANARY_AGENT, PROBE_AGENT})
"""Agents that only a credential bound to them may name: nothing of theirs counts in a quota or in the usage."""

TOKEN: Final = re.compile(r"mgcanary[0-9a-f]{32}")
"""The form of a token: 128 random bits behind a mark by which one is found in any text."""


@dataclass(frozen=True, slots=True)
class Canary:
    """The canary of a tenant. ``id`` is that of its memory, and of its run, both in the agent ``CANARY_AGENT``."""

    tenant_id: str
    id: str
    token: str


def new_token() -> str:
    """Make the token of a new canary."""
    return f"mgcanary{secrets.token_hex(16)}"


def tokens_in(text: str) -> Iterator[str]:
    """Yield the tokens in a text, in whatever case they are written."""
    return (match[0] for match in TOKEN.finditer(text.lower()))
