"""The notes of a request, taken while it is handled."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.domain.sensitive import Handling, SensitiveKind

OperationName = Literal["create_memory", "delete_memory", "delete_memory_store", "search_memory", "upsert_memory"]
"""The name of an operation by OpenTelemetry's conventions."""


@dataclass(slots=True)
class MemoryOperation:
    """An operation on the memories of an agent, for traces.

    Attributes:
        name: What is done.
        tenant_id: The tenant.
        agent_id: The agent; empty where it concerns all agents of the tenant.
        query: What a search asks for.
        record_id: The id of the memory, where the operation concerns one.
        count: How many memories were found, or are to be stored or deleted; None where that is not known.
        records: Returns id, content and score of these memories. It is called only where spans have content.
    """

    name: OperationName
    tenant_id: str
    agent_id: str
    query: str | None = None
    record_id: str | None = None
    count: int | None = None
    records: Callable[[], Iterable[tuple[str, str, float | None]]] | None = None


Spans: TypeAlias = Callable[[MemoryOperation], AbstractContextManager[object]]
"""Opens the span of an operation."""


@dataclass(slots=True)
class RequestNote:
    """The notes of a request, for metrics: never its content, its query, its path's names or its credential.

    Attributes:
        tenant_id: The tenant of the request's credential; empty where no credential holds.
        tool: The tool that the request calls over MCP, where there is a tool of this name; else empty.
        code: The code of the error that the request is answered with; over MCP, where there is no other, the code of
            JSON-RPC.
        gone: Whether the caller went away before it was answered.
        degraded: Whether a service did not answer, and the request was answered without it.
        embedding_tokens: Tokens of the texts that were embedded for the request until it was answered, where the
            provider counts them.
        embedded_characters: Characters of the same texts.
        model_tokens: Tokens of the request's calls of language models until it was answered.
        acted: Whether an administrative act of the request has begun: its row tells how it ends.
        quotas_near: Names of the quotas of which the request has left little.
        spans: Opens the spans of the request's operations; None where the request is not traced.
        found: How often content that should not be kept was found in the request, by what was done and its kind.
    """

    tenant_id: str = ""
    tool: str = ""
    code: str = ""
    gone: bool = False
    degraded: bool = False
    embedding_tokens: int = 0
    embedded_characters: int = 0
    model_tokens: int = 0
    acted: bool = False
    quotas_near: Sequence[str] = ()
    spans: Spans | None = None
    found: dict[tuple[Handling, SensitiveKind], int] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """``ok``, ``degraded``, ``gone``, or the error's code."""
        if self.gone:
            return "gone"
        return self.code or ("degraded" if self.degraded else "ok")

    def embedded(self, characters: int, tokens: int | None) -> None:
        """Count the characters, and the tokens where the provider counts them, of embedded texts."""
        self.embedded_characters += characters
        self.embedding_tokens += tokens or 0

    def sensitive(self, kind: SensitiveKind, handling: Handling, times: int) -> None:
        """Count content that should not be kept."""
        self.found[handling, kind] = self.found.get((handling, kind), 0) + times

    @property
    def sensitive_content(self) -> str:
        """The counts as a member of a header, such as ``masked;key=2, counted;card=1``; empty: nothing was found."""
        told = {"count": "counted", "mask": "masked", "refuse": "refused"}
        return ", ".join(f"{told[handling]};{kind}={times}" for (handling, kind), times in self.found.items())
