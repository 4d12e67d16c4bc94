"""A deployment by the real wrangler, as Cloudflare's own command lines see it, and the uploaded Worker as it serves."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import UpstreamRejected
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault, Faults
from memory_gateway_double.server import Handle, running
from tests.conformance.remote_bindings import WithRemoteBindings
from tests.conformance.toolchain import CF, NODE, WRANGLER
from tests.conformance.workerd import running_program
from tests.conformance.wrangler import Wrangler
from tests.process.forks import command
from tests.process.server import Server
from tests.support.deployments import INDEX, METADATA, NAME, NOTHING, WORKER, Account, Deploying, StruckCall, whole

CONTENT = "The customer prefers invoices in Swedish"


@pytest.fixture
def account() -> Iterator[Handle]:
    """An empty account, which the bindings of a Worker reach too."""
    options = DoubleOptions(visibility_seconds=(0, 0), rate_limit=False)
    with running(options, partial(WithRemoteBindings, indexes={"VECTORS": INDEX})) as handle:
        yield handle


@pytest.fixture
def deploying(account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deploying:
    """Runs the command with the real wrangler, and the node that it takes."""
    monkeypatch.setenv("PATH", f"{NODE.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Deploying(account, tmp_path, {"WRANGLER": str(WRANGLER)})


def test_from_nothing_to_a_recall_through_the_worker_that_was_uploaded(deploying: Deploying, tmp_path: Path) -> None:
    done = deploying.run("--yes", "--write-env", str(deploying.file))
    assert done.exit_code == 0, done.output
    assert Account.of(deploying.account) == whole(deploying)
    script = deploying.account.double.workers.scripts[WORKER]
    told = tmp_path / "worker.json"
    module = script.modules[script.metadata["main_module"]].decode()
    uploaded = {"module": module, "bindings": script.metadata["bindings"], "secrets": script.secrets}
    told.write_text(json.dumps({"account": deploying.account.url, **uploaded}), encoding="utf-8")
    with running_program("deployed-worker.js", str(told), temporary=tmp_path) as worker:
        kept = {**deploying.kept, "CLOUDFLARE_API_BASE_URL": f"{worker['url']}/client/v4"}
        server = Server.spawn(tmp_path / "data", tmp_path / "log", **kept)
        try:
            found = stored_and_recalled(server, kept)
        finally:
            server.process.kill()
            server.process.wait()
    assert found == CONTENT
    assert deploying.account.double.calls()["vectorize.query"] > 0


def stored_and_recalled(server: Server, settings: dict[str, str]) -> str:
    """Store a memory and recall it, with a credential that the command of the printed line mints."""
    asyncio.run(server.ready())
    minted = subprocess.run(
        command("token", "--tenant", "acme", "--agent", "bot"), env=settings, capture_output=True, text=True, check=True
    )
    headers = {"Authorization": f"Bearer {minted.stdout.strip()}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        client.post("/store", json={"agent_id": "bot", "content": CONTENT}).raise_for_status()
        answer = client.post("/recall", json={"agent_id": "bot", "query": "invoices in Swedish?"})
    entries: list[dict[str, Any]] = answer.raise_for_status().json()["entries"]
    return str(entries[0]["content"])


def test_wrangler_sees_what_was_made(deploying: Deploying, tmp_path: Path) -> None:
    assert deploying.run("--yes").exit_code == 0
    id_ = deploying.kept["CLOUDFLARE_D1_DATABASE_ID"]
    wrangler = Wrangler(tmp_path, deploying.account)
    (tmp_path / "wrangler.json").unlink(missing_ok=True)
    assert [(each["name"], each["uuid"]) for each in wrangler.json("d1", "list")] == [(NAME, id_)]
    assert wrangler.json("d1", "info", NAME)["uuid"] == id_
    assert [each["name"] for each in wrangler.json("vectorize", "list")] == [INDEX]
    assert wrangler.json("vectorize", "get", INDEX)["config"] == {"dimensions": 384, "metric": "cosine"}
    declared = wrangler.json("vectorize", "list-metadata-index", INDEX)
    assert {each["propertyName"]: each["indexType"].lower() for each in declared} == METADATA
    assert NAME in wrangler.ok("r2", "bucket", "list").split()
    assert json.loads(wrangler.ok("secret", "list", "--name", WORKER)) == [
        {"name": "EDGE_SECRET", "type": "secret_text"}
    ]
    assert wrangler.json("deployments", "list", "--name", WORKER)
    assert deploying.run("destroy", "--yes", "--name", NAME).exit_code == 0
    assert wrangler.json("d1", "list") == []


def test_cf_sees_what_was_made(deploying: Deploying) -> None:
    assert deploying.run("--yes").exit_code == 0
    assert [each["name"] for each in cf(deploying, "d1", "list")] == [NAME]
    assert [each["name"] for each in cf(deploying, "vectorize", "indexes", "list")] == [INDEX]
    assert NAME in [each["name"] for each in cf(deploying, "r2", "buckets", "list")["buckets"]]
    assert [each["id"] for each in cf(deploying, "workers", "scripts", "list")] == [WORKER]


def cf(deploying: Deploying, *words: str) -> Any:
    """Run a command of Cloudflare's other command line and return the JSON that it prints."""
    env = {
        "HOME": str(deploying.folder),
        "CI": "true",
        "CF_HIDE_COMMANDS": "false",
        "CLOUDFLARE_BASE_URL": deploying.account.cloudflare_url,
        "CLOUDFLARE_API_TOKEN": deploying.env["CLOUDFLARE_API_TOKEN"],
        "CLOUDFLARE_ACCOUNT_ID": deploying.env["CLOUDFLARE_ACCOUNT_ID"],
    }
    done = subprocess.run([NODE, CF, *words], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(kind="after_effect_cut")], ids=["500", "no answer"])
@pytest.mark.parametrize(
    ("operation", "number"),
    [
        pytest.param("workers.upload", 1, marks=pytest.mark.long),
        pytest.param("workers.script_subdomain.set", 1, marks=pytest.mark.long),
        ("workers.secrets.put", 2),
    ],
    ids=["upload", "subdomain", "secret"],  # a first secret that is none finds out whether the token may put one
)
def test_whatever_call_of_wrangler_goes_wrong_another_run_ends_in_the_same_state(
    deploying: Deploying, operation: str, number: int, fault: Fault
) -> None:
    struck = StruckCall(number, fault, operation=operation, times=10)  # wrangler tries some calls again
    deploying.account.double.faults = struck
    assert isinstance(deploying.run("--yes").exception, UpstreamRejected)
    assert struck.struck
    deploying.account.double.faults = Faults()
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)
    assert set(deploying.states().values()) == {"exists"}
    assert deploying.run("destroy", "--yes", "--name", NAME).exit_code == 0
    assert Account.of(deploying.account) == NOTHING
