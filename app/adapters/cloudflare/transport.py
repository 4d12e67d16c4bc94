"""The service at CLOUDFLARE_API_BASE_URL: Cloudflare's REST API, or the Worker of ``deploy/edge`` (ADR 0037)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from app.domain.errors import ConfigurationError, UpstreamRejected

RECALL_FUSED: Final = "recall-fused"
SESSIONS: Final = "sessions"
_VERSION = 1
_README = "(deploy/edge/README.md)"


@dataclass(frozen=True, slots=True)
class Cures:
    """What an operator can do about a refused call, whose credentials, path, database or index is wrong.

    ``shard_index`` is about the index of a shard other than the first.
    """

    credentials: str
    path: str
    database: str
    index: str
    shard_index: str


_OF_REST = Cures(
    credentials="Check CLOUDFLARE_API_TOKEN, its permissions and CLOUDFLARE_ACCOUNT_ID.",
    path="Check CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_D1_DATABASE_ID.",
    database="Check CLOUDFLARE_D1_DATABASE_ID.",
    index="Run: memory-gateway provision",
    shard_index="Run: memory-gateway rebuild --yes",
)
_OF_EDGE = Cures(
    credentials=f"Check CLOUDFLARE_API_TOKEN: it has to be the edge Worker's EDGE_SECRET {_README}.",
    path=f"Check CLOUDFLARE_API_BASE_URL, where the edge Worker answers {_README}.",
    database=f"Check the edge Worker's DATABASES in wrangler.jsonc {_README}.",
    index=f"Check the edge Worker's INDEXES in wrangler.jsonc {_README}.",
    shard_index=f"Check the edge Worker's INDEXES in wrangler.jsonc {_README}.",
)
_OF_EITHER = replace(
    _OF_REST,
    credentials="Check CLOUDFLARE_API_TOKEN. Where CLOUDFLARE_API_BASE_URL is an edge Worker, it has to be its "
    f"EDGE_SECRET {_README}; else check its permissions and CLOUDFLARE_ACCOUNT_ID.",
)


@dataclass(frozen=True, slots=True)
class Transport:
    """The service that answers, with its features beyond REST; None as ``databases`` or ``indexes`` means all."""

    name: str
    features: Collection[str] = ()
    databases: Collection[str] | None = None
    indexes: Collection[str] | None = None
    cures: Cures = _OF_REST

    def of(self, backend: str) -> str:
        """Return a backend's name for operators, with the transport's name."""
        return f"{backend} ({self.name})"

    def check_bindings(self, database_id: str, index_name: str) -> None:
        """Return if the edge's configuration has both; raises ``ConfigurationError`` where it lacks one."""
        if self.databases is not None and database_id not in self.databases:
            problem = f"The edge Worker does not have the database {database_id}."
            raise ConfigurationError(problem, cure=self.cures.database)
        if self.indexes is not None and index_name not in self.indexes:
            raise ConfigurationError(f"The edge Worker does not have the index {index_name}.", cure=self.cures.index)


REST: Final = Transport("REST")
UNDISCOVERED: Final = Transport("REST", cures=_OF_EITHER)
"""The transport until it is discovered: calls are made as for the REST API."""


def read_capabilities(result: Any) -> Transport:  # noqa: ANN401 - as JSON has it
    """Read an edge's answer about its features, databases and indexes.

    Raises:
        UpstreamRejected: the answer has another form.
    """
    told = result if isinstance(result, dict) else {}
    lists = [told.get(name) for name in ("features", "databases", "indexes")]
    if told.get("version") != _VERSION or not all(_is_texts(each) for each in lists):
        raise UpstreamRejected("What answers at CLOUDFLARE_API_BASE_URL is an edge of another version.")
    features, databases, indexes = (frozenset(each) for each in lists if each is not None)
    return Transport("edge", features, databases, indexes, _OF_EDGE)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
