"""Runs of the command ``deploy cloudflare`` on the double, what they leave in the account, and calls that go wrong."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner, Result
from dotenv import dotenv_values

from app.domain.errors import MemoryGatewayError
from app.interfaces.cli import cli
from memory_gateway_double.faults import Fault, Faults, Plan
from memory_gateway_double.server import Handle

NAME = "memory-gateway"
INDEX = "lt-memory-hashing-ngrams-v1"
WORKER = f"{NAME}-edge"
METADATA = {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
READS = {"GET"}
_POSTED_READS = {"vectorize.query", "vectorize.get_by_ids"}

_WRANGLER = '''#!{python}
"""Does of wrangler what the command asks: it uploads a Worker, puts it on workers.dev, and puts a secret."""
import json, os, sys, urllib.request

base = f"{{os.environ['CLOUDFLARE_API_BASE_URL']}}/accounts/{{os.environ['CLOUDFLARE_ACCOUNT_ID']}}/workers/scripts"
KINDS = {{"d1_databases": ("d1", "database_id", "id"), "vectorize": ("vectorize", "index_name", "index_name")}}

def call(method, path, body, kind="application/json"):
    headers = {{"Authorization": f"Bearer {{os.environ['CLOUDFLARE_API_TOKEN']}}", "Content-Type": kind}}
    urllib.request.urlopen(urllib.request.Request(base + path, body, headers, method=method), timeout=30).read()

if sys.argv[1] == "deploy":
    told = json.load(open(sys.argv[3]))
    bindings = [{{"name": n, "type": "json", "json": v}} for n, v in told["vars"].items()]
    for key, (kind, given, sent) in KINDS.items():
        bindings += [{{"type": kind, "name": each["binding"], sent: each[given]}} for each in told[key]]
    metadata = {{"main_module": "worker.js", "bindings": bindings}}
    parts = [("metadata", json.dumps(metadata)), ("worker.js", open(told["main"]).read())]
    form = "".join(f'--b\\r\\nContent-Disposition: form-data; name="{{n}}"\\r\\n\\r\\n{{t}}\\r\\n' for n, t in parts)
    call("PUT", f"/{{told['name']}}", (form + "--b--\\r\\n").encode(), "multipart/form-data; boundary=b")
    call("POST", f"/{{told['name']}}/subdomain", b'{{"enabled": true}}')
else:
    secret = {{"name": sys.argv[3], "text": sys.stdin.read(), "type": "secret_text"}}
    call("PUT", f"/{{sys.argv[5]}}/secrets", json.dumps(secret).encode())
'''


def write_wrangler(folder: Path) -> Path:
    """Write a program that makes wrangler's calls that change the account, for tests without Node.js."""
    path = folder / "wrangler"
    path.write_text(_WRANGLER.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)
    return path


@dataclass(frozen=True, slots=True)
class Account:
    """What an account has: databases, indexes with their metadata indexes, buckets, Workers with their secrets."""

    databases: list[str]
    indexes: dict[str, dict[str, str]]
    buckets: list[str]
    workers: dict[str, dict[str, str]]

    @classmethod
    def of(cls, handle: Handle) -> "Account":
        """Look into the double; its own bucket, which it always has, is left out."""
        double = handle.double
        return cls(
            sorted(double.d1.names()),
            {name: double.vectorize.metadata_indexes(name) for name in double.vectorize.pending()},
            sorted(set(double.r2.buckets()) - {double.options.r2_bucket}),
            {name: dict(script.secrets) for name, script in double.workers.scripts.items()},
        )


NOTHING = Account([], {}, [], {})


@dataclass(frozen=True, slots=True)
class Deploying:
    """Runs the command in a folder of its own."""

    account: Handle
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the command."""
        options = self.account.double.options
        return {
            "CLOUDFLARE_ACCOUNT_ID": options.account_id,
            "CLOUDFLARE_API_TOKEN": options.api_token,
            "CLOUDFLARE_API_BASE_URL": self.account.cloudflare_url,
            "CLOUDFLARE_CALLS_PER_WINDOW": "0",
            "R2_ENDPOINT": self.account.r2_url,
            "EMBEDDER": "hashing",
            "WRANGLER": str(self.folder / "wrangler"),
            **self.settings,
        }

    @property
    def file(self) -> Path:
        """The file of settings that the command writes."""
        return self.folder / f"{NAME}.env"

    @property
    def kept(self) -> dict[str, str]:
        """The settings in the file."""
        return {name: value or "" for name, value in dotenv_values(self.file, interpolate=False).items()}

    def run(self, *words: str, typed: str | None = None, **env: str) -> Result:
        """Run ``deploy cloudflare`` with these words, in this process."""
        usual = [] if "destroy" in words else ["--poll-seconds", "0.01"]
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            line = ["deploy", "cloudflare", *words, *usual]
            return CliRunner(env={**self.env, **env}).invoke(cli, line, input=typed)
        finally:
            os.chdir(before)

    def states(self, *words: str) -> dict[str, str]:
        """Return the state of each part, from a plan."""
        done = self.run("--dry-run", "--json", *words)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        told: dict[str, Any] = json.loads(done.stdout)
        return {step["part"]: step["state"] for step in told["steps"]}

    def run_sql(self, database: str, sql: str) -> None:
        """Run a statement on a database as another program."""
        url = f"{self.account.cloudflare_url}/accounts/{self.account.double.options.account_id}/d1/database/{database}"
        token = {"Authorization": f"Bearer {self.account.double.options.api_token}"}
        httpx.post(f"{url}/query", headers=token, json={"sql": sql}).raise_for_status()

    def writes(self) -> list[str]:
        """Return the operations that were called to change something, since the calls were last forgotten."""
        return [
            request.operation
            for request in self.account.double.requests()
            if not (
                request.method in READS
                or request.operation in _POSTED_READS
                or (request.operation == "d1.query" and not _changes(request.body))
            )
        ]


def whole(deploying: Deploying, **metadata: str) -> Account:
    """Return what an account has after a deployment."""
    return Account(
        [NAME], {INDEX: {**METADATA, **metadata}}, [NAME], {WORKER: {"EDGE_SECRET": deploying.kept["EDGE_SECRET"]}}
    )


def refused(deploying: Deploying, *words: str, **env: str) -> str:
    """Run a command that has to fail, and return what it says."""
    done = deploying.run(*words, **env)
    assert isinstance(done.exception, MemoryGatewayError), done.output
    return done.exception.detail


def _changes(body: bytes) -> bool:
    """Tell whether statements for D1 change anything."""
    told = json.loads(body)
    statements = told.get("batch", [told])
    return any(not each["sql"].lstrip().upper().startswith(("SELECT", "WITH")) for each in statements)


class StruckCall(Faults):
    """Lets the call of a number go wrong, counted over all calls or those of an operation; ``then`` is done at it."""

    def __init__(
        self,
        number: int,
        fault: Fault | None,
        then: Callable[[], object] = lambda: None,
        *,
        operation: str | None = None,
        times: int = 1,
    ) -> None:
        super().__init__()
        self._number = number
        self._seen = 0
        self._fault = fault
        self._then = then
        self._operation = operation
        self._times = times

    @property
    def struck(self) -> bool:
        """Whether so many calls were made."""
        return self._seen >= self._number

    def plan(self, operation: str) -> Plan:
        """Strike the call of the number, and those right behind it, and no other."""
        if self._operation not in {None, operation}:
            return Plan()
        self._seen += 1
        if not self._number <= self._seen < self._number + self._times:
            return Plan()
        self._then()
        late = self._fault is not None and self._fault.kind == "delay"
        return Plan(self._fault.delay_seconds) if self._fault is not None and late else Plan(fault=self._fault)
