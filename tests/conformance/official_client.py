"""Our requests as calls of Cloudflare's own TypeScript client, for tsc to check and for the client to send."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memory_gateway_double.recorder import RecordedRequest
from tests.conformance.toolchain import FOLDER, NODE, TSC

_ACCOUNT = re.compile(r"/client/v4/accounts/(?P<account>[^/]+)(?P<rest>/.*)")
_INDEX = "/vectorize/v2/indexes"
METHODS = {
    ("GET", "/tokens/verify"): "accounts.tokens.verify",
    ("GET", "/d1/database"): "d1.database.list",
    ("POST", "/d1/database"): "d1.database.create",
    ("GET", "/d1/database/([^/]+)"): "d1.database.get",
    ("DELETE", "/d1/database/([^/]+)"): "d1.database.delete",
    ("POST", "/d1/database/([^/]+)/query"): "d1.database.query",
    ("GET", _INDEX): "vectorize.indexes.list",
    ("POST", _INDEX): "vectorize.indexes.create",
    ("GET", f"{_INDEX}/([^/]+)/info"): "vectorize.indexes.info",
    ("POST", f"{_INDEX}/([^/]+)/query"): "vectorize.indexes.query",
    ("POST", f"{_INDEX}/([^/]+)/upsert"): "vectorize.indexes.upsert",
    ("POST", f"{_INDEX}/([^/]+)/get_by_ids"): "vectorize.indexes.getByIDs",
    ("POST", f"{_INDEX}/([^/]+)/delete_by_ids"): "vectorize.indexes.deleteByIDs",
    ("GET", f"{_INDEX}/([^/]+)/metadata_index/list"): "vectorize.indexes.metadataIndex.list",
    ("POST", f"{_INDEX}/([^/]+)/metadata_index/create"): "vectorize.indexes.metadataIndex.create",
    ("DELETE", f"{_INDEX}/([^/]+)"): "vectorize.indexes.delete",
    ("GET", "/r2/buckets"): "r2.buckets.list",
    ("POST", "/r2/buckets"): "r2.buckets.create",
    ("DELETE", "/r2/buckets/([^/]+)"): "r2.buckets.delete",
    ("GET", "/r2/buckets/([^/]+)/objects"): "r2.buckets.objects.list",
    ("GET", "/workers/subdomain"): "workers.subdomains.get",
    ("GET", "/workers/scripts"): "workers.scripts.list",
    ("DELETE", "/workers/scripts/([^/]+)"): "workers.scripts.delete",
    ("GET", "/workers/scripts/([^/]+)/settings"): "workers.scripts.scriptAndVersionSettings.get",
    ("POST", "/ai/run/(.+)"): "ai.run",
}
"""What our adapters call, and what the client calls it. A request that is not here fails the test."""

_NUMBERS = {"page", "per_page"}
_BOOLEANS = {"force"}
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, free of what does not change its meaning: the order of keys, the spelling of numbers and paths."""

    method: str
    path: str
    query: dict[str, str]
    content_type: str | None
    body: Any

    @classmethod
    def of(cls, method: str, path: str, query: dict[str, str], content_type: str | None, body: str) -> "Sent":
        media_type = None if content_type is None else content_type.partition(";")[0]
        lines = [json.loads(line) for line in body.split("\n") if line]
        return cls(method, unquote(path), query, media_type, lines)


def recorded(request: RecordedRequest) -> Sent:
    """Return what one of our adapters sent."""
    content_type = request.headers.get("content-type")
    return Sent.of(request.method, request.path, dict(request.query), content_type, request.body.decode())


class OfficialClient:
    """Cloudflare's client for TypeScript and a session written for it."""

    def __init__(self, folder: Path, session: Sequence[RecordedRequest]) -> None:
        """Write the session into a folder."""
        self._folder = folder
        for name in ("official-client.ts", "tsconfig.json", "package.json"):
            shutil.copy(FOLDER / name, folder)
        (folder / "node_modules").symlink_to(FOLDER / "node_modules")
        calls = "".join(f"  (client) => {_call(request)},\n" for request in session)
        (folder / "session.ts").write_text(
            'import type Cloudflare from "cloudflare";\n'
            f"export const calls: ((client: Cloudflare) => PromiseLike<unknown>)[] = [\n{calls}];\n",
            encoding="utf-8",
        )

    def type_errors(self) -> str:
        """Return what tsc has to say."""
        return self._run(TSC, "--project", ".").stdout

    def sends(self) -> list[Sent]:
        """Return what the client sends for each call."""
        done = self._run("official-client.ts")
        assert done.returncode == 0, done.stderr
        return [Sent.of(**sent) for sent in json.loads(done.stdout)]

    def _run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [NODE, *arguments],
            cwd=self._folder,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def method(request: RecordedRequest) -> str:
    """Return the name the client has for what was called."""
    return _found(request)[0]


def _found(request: RecordedRequest) -> tuple[str, list[str]]:
    """Return the method's name, and the account and whatever else the path names."""
    account, rest = _split(request.path)
    for (verb, path), name in METHODS.items():
        if request.method == verb and (match := re.fullmatch(path, rest)):
            return name, [account, *(unquote(group) for group in match.groups())]
    raise AssertionError(f"{request.method} {request.path} is not a call of the official client")


def _split(path: str) -> tuple[str, str]:
    match = _ACCOUNT.fullmatch(path)
    assert match is not None, path
    return match["account"], match["rest"]


def _call(request: RecordedRequest) -> str:
    name, (account_id, *positional) = _found(request)
    arguments = [*(json.dumps(each) for each in positional), _parameters(request, account_id)]
    return f"client.{name}({', '.join(arguments)})"


def _parameters(request: RecordedRequest, account_id: str) -> str:
    body = request.body.decode()
    query = {
        key: int(value) if key in _NUMBERS else value == "true" if key in _BOOLEANS else value
        for key, value in request.query.items()
    }
    parameters = {"account_id": account_id, **query}
    if request.headers.get("content-type") == "application/x-ndjson":
        return f"{{ ...{json.dumps(parameters)}, body: new File([{json.dumps(body)}], 'vectors.ndjson') }}"
    return json.dumps(parameters | json.loads(body or "{}"))
