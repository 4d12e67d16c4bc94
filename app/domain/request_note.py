"""What is noted of a request while it is handled."""

from dataclasses import dataclass


@dataclass(slots=True)
class RequestNote:
    """What is noted of a request, for metrics: never its content, its query, its path's names or its credential.

    Attributes:
        tenant_id: Whose credential it has; empty where none holds.
        tool: The tool that it calls over MCP, of those that there are.
        code: The code of the error that it is answered with; over MCP that of JSON-RPC, where it has no other.
        gone: Whether its caller went away, and nobody was answered.
        degraded: Whether something did not answer, and the request was answered without it.
        embedding_tokens: Of what was embedded for it until it was answered, where the provider counts them.
        embedded_characters: Of the same.
        model_tokens: Of its calls of language models until it was answered.
    """

    tenant_id: str = ""
    tool: str = ""
    code: str = ""
    gone: bool = False
    degraded: bool = False
    embedding_tokens: int = 0
    embedded_characters: int = 0
    model_tokens: int = 0

    @property
    def outcome(self) -> str:
        """``ok``, ``degraded``, ``gone``, or the error's code."""
        if self.gone:
            return "gone"
        return self.code or ("degraded" if self.degraded else "ok")

    def embedded(self, characters: int, tokens: int | None) -> None:
        """Count what was embedded."""
        self.embedded_characters += characters
        self.embedding_tokens += tokens or 0
