"""One command makes a deployment in an account, repairs it, and takes back what it has made and nothing else."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault, Faults
from memory_gateway_double.server import Handle, running
from tests.support.deployments import (
    INDEX,
    METADATA,
    NAME,
    NOTHING,
    WORKER,
    Account,
    Deploying,
    refused,
    whole,
    write_wrangler,
)
from tests.support.service import serving

pytestmark = pytest.mark.thorough

EDGE_SOURCES = Path(__file__).parents[3] / "deploy" / "edge"
PRODUCTS = ("D1", "Vectorize", "Workers R2 Storage", "Workers Scripts")


def tokens() -> dict[str, list[str]]:
    """Return tokens that lack the right to write, or to look at, one product each, and one that may do nothing."""
    every = [f"{product} Write" for product in PRODUCTS]
    others = {product: [each for each in every if product not in each] for product in PRODUCTS}
    looking = {f"looks-at-{short(product)}": [*others[product], f"{product} Read"] for product in PRODUCTS}
    without = {f"without-{short(product)}": others[product] for product in PRODUCTS}
    return {**looking, **without, "without-all": []}


def short(product: str) -> str:
    return product.replace(" ", "")


@pytest.fixture
def account() -> Iterator[Handle]:
    """An empty account that shows writes at once."""
    with running(DoubleOptions(visibility_seconds=(0, 0), rate_limit=False, limited_tokens=tokens())) as handle:
        yield handle


@pytest.fixture
def deploying(account: Handle, tmp_path: Path) -> Deploying:
    write_wrangler(tmp_path)
    return Deploying(account, tmp_path)


async def test_from_nothing_to_a_recall(deploying: Deploying, tmp_path: Path) -> None:
    done = await asyncio.to_thread(deploying.run, "--yes", FILTERABLE_METADATA="project:string")
    assert done.exit_code == 0, done.output
    assert Account.of(deploying.account) == whole(deploying, project="string")
    kept = deploying.kept
    assert kept["CLOUDFLARE_API_BASE_URL"] == f"https://{WORKER}.double.workers.dev/client/v4"
    own = {"cloudflare_api_base_url": deploying.account.cloudflare_url, "cloudflare_api_token": "double-token"}
    given = {name.lower(): value for name, value in kept.items() if name not in {"EDGE_SECRET", "AUTH_SECRETS"}}
    settings: dict[str, Any] = {**given, **own, "filterable_metadata": {"project": "string"}}
    async with serving(tmp_path / "data", **settings) as service:
        await service.store("The customer prefers invoices in Swedish", metadata={"project": "x"})
        where = {"metadata": {"project": "x"}}
        (found,) = await service.recall("invoices in Swedish?", filter=where)
        assert found["content"] == "The customer prefers invoices in Swedish"
        headers = {**service.credential(), "Content-Type": "text/plain"}
        stored = await service.client.post("/blobs?agent_id=bot", content=b"an invoice", headers=headers)
        assert stored.status_code == 201, stored.text
    assert list(deploying.account.double.r2.objects(NAME).values()) == [b"an invoice"]


def test_a_second_run_finds_all_there_and_writes_nothing(deploying: Deploying) -> None:
    deploying.run("--yes")
    kept = deploying.file.read_bytes()
    deploying.account.double.reset_calls()
    done = deploying.run("--yes", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {step["state"] for step in told["steps"]} == {"exists"}
    assert (told["changed"], told["complete"]) == (False, True)
    assert deploying.writes() == []
    assert deploying.file.read_bytes() == kept


def test_secrets_are_in_a_file_for_its_owner_and_are_never_printed(deploying: Deploying) -> None:
    with capture_logs() as logs:
        done = deploying.run("--yes")
    kept = deploying.kept
    assert stat.S_IMODE(deploying.file.stat().st_mode) == 0o600
    secrets = [kept["AUTH_SECRETS"].partition("=")[2], kept["EDGE_SECRET"], kept["R2_SECRET_ACCESS_KEY"]]
    assert [len(secret) for secret in secrets] == [64, 64, 64]
    assert not any(secret in f"{done.output}{logs}" for secret in (*secrets, "double-token"))


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("kind", ["looks-at", "without"])
def test_a_token_without_a_right_is_told_which_and_nothing_is_made(
    deploying: Deploying, kind: str, product: str
) -> None:
    told = refused(deploying, "--yes", CLOUDFLARE_API_TOKEN=f"{kind}-{short(product)}")
    assert f"{product}: Edit" in told
    assert not any(f"{other}: Edit" in told for other in PRODUCTS if other != product)
    assert Account.of(deploying.account) == NOTHING
    assert deploying.file.read_bytes() == b""


def test_all_rights_that_a_token_lacks_are_told_at_once(deploying: Deploying) -> None:
    told = refused(deploying, "--dry-run", CLOUDFLARE_API_TOKEN="without-all")
    assert all(f"{product}: Edit" in told for product in PRODUCTS)
    assert "refused the API token" in refused(deploying, "--yes", CLOUDFLARE_API_TOKEN="unknown-token")
    deploying.account.double.faults.add(Fault("tokens-verify", status=401, times=2))
    assert "CLOUDFLARE_API_TOKEN does not hold" in refused(deploying, "--yes")


def test_what_others_have_made_is_not_used_and_not_changed(deploying: Deploying) -> None:
    double = deploying.account.double
    database = double.create_database(NAME)
    double.create_index(INDEX, 384, METADATA)
    double.r2.create_bucket(NAME)
    deploying.run("--yes")
    assert not deploying.states()["D1 database"].startswith("cannot")  # an empty one may be one of a run that ended
    assert deploying.states()["Vectorize index"] == deploying.states()["R2 bucket"] == "cannot be repaired"
    told = refused(deploying, "--yes")
    assert "Vectorize index" in told
    assert "R2 bucket" in told
    assert double.d1.names() == [NAME]
    assert double.workers.scripts == {}
    deploying.run_sql(database, "CREATE TABLE orders (id INTEGER)")
    assert "D1 database memory-gateway: It is there, and this deployment did not make it" in refused(deploying, "--yes")
    assert "No deployment made it" in refused(deploying, "destroy", "--yes", "--name", NAME)
    assert Account.of(deploying.account) == Account([NAME], {INDEX: METADATA}, [NAME], {})


@pytest.mark.parametrize(
    ("operation", "code", "message"),
    [
        ("d1.create", 7406, "You have reached the maximum number of databases."),
        ("vectorize.create", 3003, "vectorize.index.limit - too many indexes"),
        ("r2_buckets.create", 10009, "You have attempted to create too many buckets."),
    ],
)
def test_a_full_account_is_told_and_a_run_after_it_has_room_goes_on(
    deploying: Deploying, operation: str, code: int, message: str
) -> None:
    body = {"success": False, "errors": [{"code": code, "message": message}], "messages": [], "result": None}
    deploying.account.double.faults = Faults()
    deploying.account.double.faults.add(Fault(operation, status=400, body=body, times=2))  # the look, and the creation
    assert message in refused(deploying, "--yes")
    deploying.account.double.faults.clear()
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)


def test_without_r2_the_rest_is_made_without_blobs(deploying: Deploying) -> None:
    body = {"success": False, "errors": [{"code": 10042, "message": "Please enable R2."}], "result": None}
    deploying.account.double.faults.add(Fault("r2_buckets.*", status=403, body=body, times=None))
    assert "Enable R2 in the dashboard, or leave blobs out with --no-blobs" in refused(deploying, "--yes")
    assert Account.of(deploying.account) == NOTHING
    assert deploying.run("--yes", "--no-blobs").exit_code == 0
    assert "R2_BUCKET" not in deploying.kept


def test_without_wrangler_all_else_is_made_and_the_rest_is_left_to_the_operator(deploying: Deploying) -> None:
    done = deploying.run("--yes", WRANGLER="/nowhere/wrangler")
    assert done.exit_code == 3
    assert "Left to you: left to you" in done.output
    assert "--env CLOUDFLARE_API_TOKEN" in done.output
    found = Account.of(deploying.account)
    assert (found.databases, found.buckets, found.workers) == ([NAME], [NAME], {})
    assert "CLOUDFLARE_API_BASE_URL" not in deploying.kept
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)


def test_without_a_subdomain_the_worker_is_left_to_the_operator(tmp_path: Path) -> None:
    write_wrangler(tmp_path)
    with running(DoubleOptions(visibility_seconds=(0, 0), workers_subdomain="")) as handle:
        done = Deploying(handle, tmp_path).run("--yes")
        assert (done.exit_code, handle.double.workers.scripts) == (3, {})
        assert "no subdomain of workers.dev" in done.output


def test_a_wrangler_that_fails_is_quoted_without_secrets(deploying: Deploying) -> None:
    wrangler = deploying.folder / "wrangler"
    wrangler.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.exit('no room ' + os.environ['CLOUDFLARE_API_TOKEN'])"
    )
    told = refused(deploying, "--yes")
    assert told == "wrangler deploy failed: no room ***"
    write_wrangler(deploying.folder)
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)


def test_what_was_changed_by_hand_is_repaired(deploying: Deploying) -> None:
    deploying.run("--yes")
    double = deploying.account.double
    double.workers.scripts[WORKER].metadata["bindings"] = []
    double.workers.scripts[WORKER].secrets.clear()
    double.r2.delete_bucket(NAME)
    states = deploying.states()
    assert states["edge Worker"] == "differs, is repaired"
    assert (states["secret of the Worker"], states["R2 bucket"]) == ("to create", "to create")
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)
    assert set(deploying.states().values()) == {"exists"}


def test_a_worker_of_other_sources_is_deployed_anew(deploying: Deploying, tmp_path: Path) -> None:
    deploying.run("--yes")
    sources = tmp_path / "edge"
    shutil.copytree(EDGE_SOURCES, sources, ignore=shutil.ignore_patterns("node_modules"))
    assert deploying.states("--edge-sources", str(sources))["edge Worker"] == "exists"
    with (sources / "src" / "worker.ts").open("a", encoding="utf-8") as file:
        file.write("// newer\n")
    assert deploying.states("--edge-sources", str(sources))["edge Worker"] == "differs, is repaired"
    assert deploying.run("--yes", "--edge-sources", str(sources)).exit_code == 0
    assert deploying.account.double.workers.scripts[WORKER].modules["worker.js"].endswith(b"// newer\n")


def test_the_printed_lines_hold_for_a_container_too(deploying: Deploying, tmp_path: Path) -> None:
    told = json.loads(deploying.run("--yes", "--json").stdout)
    line = told["commands"]["Or in a Cloudflare Container (deploy/edge/README.md)"]
    (tmp_path / "deploy").mkdir()
    shutil.copytree(EDGE_SOURCES, tmp_path / "deploy" / "edge", ignore=shutil.ignore_patterns("node_modules"))
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("npm", "npx"):  # what they are called with, and given
        (bin_ / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/called\ncat >> {tmp_path}/given\n')
        (bin_ / name).chmod(0o755)
    path = f"{bin_}:{os.environ['PATH']}"
    subprocess.run(line, shell=True, cwd=tmp_path, env={"PATH": path}, stdin=subprocess.DEVNULL, check=True)  # noqa: S602
    written = (tmp_path / "deploy" / "edge" / f"wrangler.{NAME}.jsonc").read_text("utf-8")
    assert written.count(deploying.kept["CLOUDFLARE_D1_DATABASE_ID"]) == 3
    assert "<database id>" not in written
    assert "<index name>" not in written
    assert (tmp_path / "given").read_text("utf-8") == f"{deploying.kept['AUTH_SECRETS']}\n"
    assert "wrangler secret put AUTH_SECRETS" in (tmp_path / "called").read_text("utf-8")


def test_what_decides_how_texts_are_embedded_is_in_the_file_too(deploying: Deploying) -> None:
    prefixes = {"EMBEDDING_DOCUMENT_PREFIX": "passage:", "EMBEDDING_QUERY_PREFIX": "off"}
    given = {**prefixes, "OPENAI_BASE_URL": "https://models.example/v1"}
    assert deploying.run("--yes", **given).exit_code == 0
    assert given.items() <= deploying.kept.items()


def test_a_setting_that_the_file_cannot_hold_is_left_to_the_operator(deploying: Deploying) -> None:
    done = deploying.run("--yes", EMBEDDING_DOCUMENT_PREFIX="passage: ")
    assert done.exit_code == 3, done.output
    assert "Left to you: left to you           setting EMBEDDING_DOCUMENT_PREFIX" in done.output
    assert "--env EMBEDDING_DOCUMENT_PREFIX" in done.output
    assert "EMBEDDING_DOCUMENT_PREFIX" not in deploying.kept


def test_another_metadata_key_is_added_to_an_empty_index(deploying: Deploying) -> None:
    deploying.run("--yes")
    assert deploying.run("--yes", FILTERABLE_METADATA="project:string").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying, project="string")


def test_another_embedder_makes_no_second_index(deploying: Deploying) -> None:
    deploying.run("--yes")
    told = refused(deploying, "--yes", EMBEDDER="workers-ai")
    assert f"The deployment has the index {INDEX}, of another embedder" in told
    assert Account.of(deploying.account) == whole(deploying)


def test_secrets_that_a_run_has_made_are_not_drawn_again_unless_told(deploying: Deploying) -> None:
    deploying.run("--yes")
    first = deploying.kept
    deploying.file.rename(deploying.folder / "elsewhere.env")
    told = refused(deploying, "--yes")
    assert "AUTH_SECRETS: An earlier run made it" in told
    assert f"The Worker {WORKER} has one" in told
    assert deploying.run("--yes", "--write-env", "elsewhere.env").exit_code == 0
    assert deploying.run("--yes", "--new-secrets").exit_code == 0
    assert deploying.kept["EDGE_SECRET"] != first["EDGE_SECRET"]
    assert Account.of(deploying.account) == whole(deploying)


def test_given_secrets_are_kept_and_their_file_is_not_overwritten(deploying: Deploying) -> None:
    given = "mine=6f1f0c3a9d2b4e5f8a7c1d0e2b3f4a5c6d7e8f90"
    deploying.file.write_text("LOG_LEVEL=debug\n", "utf-8")
    assert deploying.run("--yes", AUTH_SECRETS=given).exit_code == 0
    assert deploying.kept["AUTH_SECRETS"] == given
    assert deploying.kept["LOG_LEVEL"] == "debug"


def test_a_file_that_holds_the_accounts_token_is_refused(deploying: Deploying) -> None:
    deploying.file.write_text("CLOUDFLARE_API_TOKEN=double-token\n", "utf-8")
    assert "It holds the account's API token" in refused(deploying, "--yes")
    assert Account.of(deploying.account) == NOTHING


def test_two_deployments_of_one_account_and_embedder_do_not_share_an_index(deploying: Deploying) -> None:
    deploying.run("--yes")
    told = refused(deploying, "--yes", "--name", "other")
    assert f"Vectorize index {INDEX}: It is there, and this deployment did not make it" in told
    assert Account.of(deploying.account) == whole(deploying)


def test_the_settings_of_a_service_behind_an_edge_are_not_taken_for_the_accounts(deploying: Deploying) -> None:
    body = {"success": True, "errors": [], "messages": [], "result": EDGE}
    deploying.account.double.faults.add(Fault("unknown", status=200, body=body))
    assert "CLOUDFLARE_API_BASE_URL is an edge Worker" in refused(deploying, "--yes")


EDGE = {"version": 1, "features": [], "databases": [], "indexes": [], "models": []}
