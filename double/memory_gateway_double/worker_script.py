"""A Worker as the double keeps it: what was uploaded, and how the API shows it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memory_gateway_double.multipart import form_field, form_files
from memory_gateway_double.v4 import refused

MALFORMED = 10021
"""Guessed for a secret without a name or a text."""


@dataclass(slots=True)
class Script:
    """A Worker as it was uploaded last; ``secrets`` outlive uploads."""

    name: str
    created_on: str
    metadata: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, bytes] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    staged: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """The uploaded forms of versions that are not deployed yet, each with its content type."""
    on_workers_dev: bool = False

    @property
    def etag(self) -> str:
        """The digest of the uploaded modules."""
        return hashlib.sha256(b"\0".join(self.modules.values())).hexdigest()

    @property
    def bindings(self) -> list[dict[str, Any]]:
        """The bindings as settings show them: of a secret its name alone."""
        kept = [each for each in self.metadata.get("bindings", []) if each.get("type") != "secret_text"]
        return [*kept, *({"name": name, "type": "secret_text"} for name in self.secrets)]


def read_upload(content_type: str, body: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read an uploaded form: its metadata, and its modules by their names."""
    try:
        told = orjson.loads(form_field(content_type, body, "metadata") or b"")
    except orjson.JSONDecodeError as error:
        raise refused(400, MALFORMED, "The uploaded script has no valid metadata.") from error
    modules = {name: data for name, data in form_files(content_type, body).items() if name != "metadata"}
    if told.get("main_module", told.get("body_part")) not in modules:
        raise refused(400, MALFORMED, "The uploaded script has no content.")
    return told, modules


def resources(script: Script) -> dict[str, Any]:
    """Show what a version of a Worker consists of."""
    return {"bindings": script.bindings, "script": {"etag": script.etag, "handlers": ["fetch"]}, "script_runtime": {}}


def summary(script: Script) -> dict[str, Any]:
    """Show a Worker in a list."""
    newest = script.versions[0]
    tag = hashlib.sha256(script.name.encode()).hexdigest()[:32]
    return {
        "id": script.name,
        "tag": tag,
        "tags": script.metadata.get("tags"),
        "etag": script.etag,
        "deployment_id": newest["id"].replace("-", ""),
        "handlers": ["fetch"],
        "created_on": script.created_on,
        "modified_on": newest["at"],
        "last_deployed_from": "wrangler",
        "compatibility_date": script.metadata.get("compatibility_date"),
    }


def version_of(version: Mapping[str, Any]) -> dict[str, Any]:
    """Show a version."""
    metadata = {"created_on": version["at"], "modified_on": version["at"], "source": "wrangler", "author_email": ""}
    return {"id": version["id"], "number": version["number"], "metadata": metadata, "annotations": {}}


def deployment_of(version: Mapping[str, Any]) -> dict[str, Any]:
    """Show a deployment of a version."""
    return {
        "id": version["id"],
        "source": "wrangler",
        "strategy": "percentage",
        "author_email": "double@example.com",
        "annotations": {},
        "versions": [{"version_id": version["id"], "percentage": 100}],
        "created_on": version["at"],
    }
