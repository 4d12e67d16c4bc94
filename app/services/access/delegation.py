"""What a caller without a sufficient credential is told: where tokens come from, and which scopes to ask for.

RFC 6750 and RFC 9728, as the MCP authorization of 2025-11-25 puts them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.errors import Forbidden, MemoryGatewayError, Unauthenticated
from app.services.access.credentials import CHALLENGE
from app.services.access.scopes import CLAIM_OF, AccessScope

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
MCP = "/mcp"


@dataclass(frozen=True, slots=True)
class Delegation:
    """The public URL of the service, without a slash at its end, and the issuer that makes its tokens."""

    public_url: str | None = None
    """None where the settings name none. Then no caller is told a URL: a Host header is its sender's word."""
    issuer: str | None = None
    words: Mapping[AccessScope, str] = field(default_factory=dict)
    """The issuer's word for each scope; empty where clients cannot ask for scopes, since the issuer gives roles."""

    @property
    def usual(self) -> list[str]:
        """The issuer's words for reading and writing, which a client asks for first."""
        return list(dict.fromkeys(self.words[scope] for scope in ("read", "write") if scope in self.words))

    def challenge(self, error: MemoryGatewayError) -> str | None:
        """Return the value of ``WWW-Authenticate`` for an error; None where it is no matter of credentials.

        It is None too where another token of the same person would not help: a client would have it sign in again.
        """
        if isinstance(error, Unauthenticated):
            return f"{CHALLENGE}{self._metadata}{_scope(' '.join(self.usual))}"
        if isinstance(error, Forbidden) and (error.scope is not None or self.issuer is None):
            return f'{CHALLENGE}, error="insufficient_scope"{self._metadata}{_scope(self._needed(error.scope))}'
        return None

    @property
    def _metadata(self) -> str:
        if self.public_url is None or self.issuer is None:
            return ""
        return f', resource_metadata="{self.public_url}{RESOURCE_METADATA}{MCP}"'

    def _needed(self, claim: str | None) -> str:
        """Return what a token has to have beside what it has: the issuer's words, or those of a credential."""
        if claim is None or not self.words:
            return claim or ""
        lacking = next((scope for scope, words in CLAIM_OF.items() if words == claim), None)
        further = None if lacking is None else self.words.get(lacking)
        return " ".join(dict.fromkeys([*self.usual, *([further] if further else [])]))


def _scope(words: str) -> str:
    return f', scope="{words}"' if words else ""
