"""The configuration of the edge Worker: the one of ``deploy/edge``, with the names and ids of a deployment."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.embedding import EmbeddingConfig
from app.domain.shards import Shard

SECRET = "EDGE_SECRET"  # noqa: S105 - the name of one
_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_DIGITS = 16
_VALUES = ("id", "database_id", "index_name", "json", "text")


@dataclass(frozen=True, slots=True)
class EdgeSources:
    """The folder of the Worker's sources, ``deploy/edge``."""

    folder: Path

    @property
    def wrangler_version(self) -> str:
        """The version of wrangler that the Worker is tested with."""
        package = json.loads((self.folder / "package.json").read_text(encoding="utf-8"))
        return str(package["devDependencies"]["wrangler"])

    def configuration(
        self,
        worker: str,
        database: tuple[str, str],
        config: EmbeddingConfig,
        metadata: Mapping[str, str],
        shards: Sequence[Shard],
    ) -> dict[str, Any]:
        """Return wrangler's configuration of the Worker.

        ``database`` is the name and the id of the first shard's; each other shard has bindings of its own beside it.
        """
        base: dict[str, Any] = json.loads(
            _COMMENT.sub("", (self.folder / "wrangler.jsonc").read_text(encoding="utf-8"))
        )
        name, id_ = database
        databases, indexes = {"DB": (name, id_)}, {"VECTORS": config.index_name}
        for shard in shards:
            suffix = shard.name.upper()
            databases[f"DB_{suffix}"] = f"memory-gateway-{shard.name}", str(shard.database_id)
            indexes[f"VECTORS_{suffix}"] = config.index_name_in(shard.name)
        own = {config.without_document_prefix.model} if config.provider == "workers-ai" else set()
        return {
            **base,
            "name": worker,
            "main": str((self.folder / base["main"]).resolve()),
            "d1_databases": [
                {"binding": binding, "database_name": of_name, "database_id": of_id}
                for binding, (of_name, of_id) in databases.items()
            ],
            "vectorize": [{"binding": binding, "index_name": index} for binding, index in indexes.items()],
            "vars": {
                "DATABASES": {of_id: binding for binding, (_, of_id) in databases.items()},
                "INDEXES": {
                    index: {"binding": binding, "metadata": dict(metadata)} for binding, index in indexes.items()
                },
                "MODELS": sorted({*base["vars"]["MODELS"], *own}),
            },
        }

    def fingerprint(self, configuration: Mapping[str, Any]) -> str:
        """Return a digest of the Worker's sources and of its configuration, wherever the folder lies."""
        sources = sorted((self.folder / "src").glob("*.ts"))
        digest = hashlib.sha256(json.dumps({**configuration, "main": ""}, sort_keys=True).encode())
        for source in sources:
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        return digest.hexdigest()[:_DIGITS]


def is_bound(configuration: Mapping[str, Any], bindings: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a Worker's bindings are those of the configuration. Secrets are no part of it."""
    wanted = {each["binding"]: each["database_id"] for each in configuration["d1_databases"]}
    wanted |= {each["binding"]: each["index_name"] for each in configuration["vectorize"]}
    wanted |= dict(configuration["vars"])
    found = {str(each.get("name")): _value(each) for each in bindings}
    return all(found.get(name) == value for name, value in wanted.items())


def secret_names(bindings: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of a Worker's secrets."""
    return {str(each.get("name")) for each in bindings if each.get("type") == "secret_text"}


def digest_of(secret: str) -> str:
    """Return the digest of a secret, by which a later run sees that a Worker has this one."""
    return hashlib.sha256(secret.encode()).hexdigest()[:_DIGITS]


def _value(binding: Mapping[str, Any]) -> object:
    return next((binding[key] for key in _VALUES if key in binding), None)
