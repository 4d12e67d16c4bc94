"""What answers at CLOUDFLARE_API_BASE_URL: Cloudflare's REST API, or the Worker of ``deploy/edge`` (ADR 0037)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import ConfigurationError, UpstreamRejected

RECALL_FUSED: Final = "recall-fused"
SESSIONS: Final = "sessions"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Transport:
    """What answers. ``features``: what it does beyond the REST API; databases and indexes are None where all are."""

    name: str
    features: Collection[str] = ()
    databases: Collection[str] | None = None
    indexes: Collection[str] | None = None

    def of(self, backend: str) -> str:
        """Return a backend's name for operators, with what it is reached through."""
        return f"{backend} ({self.name})"

    def check(self, database_id: str, index_name: str) -> None:
        """Return if it has the service's database and index.

        Raises:
            ConfigurationError: its configuration lacks one.
        """
        for kind, name, names in (("DATABASES", database_id, self.databases), ("INDEXES", index_name, self.indexes)):
            if names is not None and name not in names:
                raise ConfigurationError(f"The edge Worker's {kind} lacks {name}: see deploy/edge/README.md.")


REST: Final = Transport("REST")


def read_capabilities(result: Any) -> Transport:  # noqa: ANN401 - as JSON has it
    """Read what an edge tells of itself.

    Raises:
        UpstreamRejected: it is told in another form.
    """
    told = result if isinstance(result, dict) else {}
    lists = [told.get(name) for name in ("features", "databases", "indexes")]
    if told.get("version") != _VERSION or not all(_is_texts(each) for each in lists):
        raise UpstreamRejected("What answers at CLOUDFLARE_API_BASE_URL is an edge of another version.")
    features, databases, indexes = (frozenset(each) for each in lists if each is not None)
    return Transport("edge", features, databases, indexes)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
