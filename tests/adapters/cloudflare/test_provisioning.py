"""Provisioning: an empty account becomes one the service runs on, in an order that leaves no vector unfiltered."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from app.adapters.cloudflare.account import Placement
from app.adapters.cloudflare.provisioning import MissingSteps
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.bootstrap import build_provisioning
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import ConfigurationError, IndexNotProvisioned, UpstreamUnavailable
from app.domain.memory import Scope
from app.domain.query import Filter
from app.interfaces.cli import cli
from app.ports.vector_index import Hits
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running
from tests.support.service import serving, settings_for

pytestmark = pytest.mark.thorough

SLOWLY = (0.05, 0.1)
FILTERABLE = {"project": "string", "priority": "number", "urgent": "boolean"}
INDEX = "lt-memory-hashing-ngrams-v1"


@pytest.fixture
def account() -> Iterator[Handle]:
    """An empty account whose index shows writes some time later."""
    with running(DoubleOptions(visibility_seconds=SLOWLY, rate_limit=False)) as handle:
        yield handle


def settings_of(account: Handle, **more: Any) -> dict[str, Any]:
    options = account.double.options
    return {
        "cloudflare_account_id": options.account_id,
        "cloudflare_api_token": options.api_token,
        "cloudflare_api_base_url": account.cloudflare_url,
        "cloudflare_calls_per_window": 0,
        "filterable_metadata": FILTERABLE,
        **more,
    }


async def provision(
    account: Handle, data_dir: Path, *, apply: bool = True, **more: Any
) -> tuple[MissingSteps, str | None]:
    """Plan and, where asked, apply; return the plan and the database's id."""
    settings = settings_for(data_dir, **settings_of(account, **more))
    provisioning, close = build_provisioning(settings, "memory-gateway", Placement("weur"), poll_seconds=0.02)
    try:
        plan = await provisioning.plan()
        return plan, await provisioning.apply(plan, print) if apply else None
    finally:
        await close()


async def test_an_account_once_provisioned_serves(account: Handle, tmp_path: Path) -> None:
    _, database_id = await provision(account, tmp_path)
    settings = settings_of(account, cloudflare_d1_database_id=database_id)
    async with serving(tmp_path, **settings) as service:
        await service.store("filtered", metadata={"project": "x", "priority": 1, "urgent": True})
        await service.store("not filtered")
        account.double.settle()
        where = {"metadata": {"project": "x", "priority": 1, "urgent": True}}
        assert [entry["content"] for entry in await service.recall("filtered", filter=where)] == ["filtered"]


async def test_a_plan_changes_nothing(account: Handle, tmp_path: Path) -> None:
    plan, _ = await provision(account, tmp_path, apply=False)
    assert plan.steps[0] == "create the D1 database"
    assert "create the metadata index tenant_id (string)" in plan.steps
    assert set(account.double.calls()) == {"d1.list", "vectorize.list_indexes"}


async def test_nothing_is_written_to_the_index_before_its_metadata_indexes_are_there(
    account: Handle, tmp_path: Path
) -> None:
    await provision(account, tmp_path)
    operations = [request.operation for request in account.double.requests()]
    created = [at for at, name in enumerate(operations) if name == "vectorize.metadata_index.create"]
    assert len(created) == 6
    assert max(created) < operations.index("vectorize.metadata_index.list") < operations.index("vectorize.upsert")


async def test_every_filter_is_proved_and_the_probe_is_deleted(account: Handle, tmp_path: Path) -> None:
    await provision(account, tmp_path)
    asked = b"".join(request.body for request in account.double.requests() if request.operation == "vectorize.query")
    assert all(f'"{key}"'.encode() in asked for key in (*FILTERABLE, "tenant_id", "agent_id", "created_at"))
    account.double.settle()
    plan, _ = await provision(account, tmp_path, apply=False)
    assert plan.proof, "the index is empty again"


async def test_a_filter_that_has_found_the_probe_is_not_tried_again(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look is a call of the few that the command has."""
    query = VectorizeIndex.query
    asked: list[Filter] = []
    found: list[Filter] = []

    async def slowly(index: VectorizeIndex, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        hits = await query(index, scope, vector, top_k=top_k, where=where)
        asked.append(where)
        if "urgent" in where.metadata and asked.count(where) < 4:
            return Hits([], filtered=True, more=False)
        found.extend([where] if hits.hits else [])
        return hits

    monkeypatch.setattr(VectorizeIndex, "query", slowly)
    await provision(account, tmp_path)
    assert [list(where.metadata) for where in found] == [[], [], ["project"], ["priority"], ["urgent"]]


async def test_running_again_goes_on_where_it_stopped(account: Handle, tmp_path: Path) -> None:
    account.double.create_index(INDEX, 384, {"tenant_id": "string"})
    plan, first = await provision(account, tmp_path)
    assert not plan.index
    assert set(plan.metadata_indexes) == {"agent_id", "created_at", *FILTERABLE}
    again, second = await provision(account, tmp_path)
    assert second == first
    assert again.metadata_indexes == {}
    assert again.migrations == ()


async def test_the_first_provisioning_does_not_wait_for_calls_that_nobody_else_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = 40  # so many calls that even a slow machine makes more
    monkeypatch.setattr("app.bootstrap.account.FOR_COMMANDS", others)
    keys = {f"key{number}": "string" for number in range(7)}
    with running(DoubleOptions(visibility_seconds=(0.15, 0.2))) as account, capture_logs() as logs:
        async with asyncio.timeout(60):
            await provision(account, tmp_path, cloudflare_calls_per_window=1_100, filterable_metadata=keys)
        assert len(account.double.requests()) > others
    assert "command_waits_for_cloudflare_calls" not in {entry["event"] for entry in logs}


async def test_a_metadata_index_too_young_for_the_vectors_is_refused(account: Handle, tmp_path: Path) -> None:
    _, database_id = await provision(account, tmp_path)
    settings = settings_of(account, cloudflare_d1_database_id=database_id)
    async with serving(tmp_path, **settings) as service:
        await service.store("older than the new key")
    account.double.settle()
    with pytest.raises(IndexNotProvisioned, match=r"holds 1 vectors.*\(customer\)"):
        await provision(account, tmp_path, filterable_metadata={**FILTERABLE, "customer": "string"})


@pytest.mark.parametrize(
    ("dimensions", "metadata_indexes", "found"),
    [(512, {}, "512 dimensions"), (384, {"created_at": "string"}, "another type of created_at")],
)
async def test_an_index_that_cannot_be_made_to_fit_is_refused(
    account: Handle, tmp_path: Path, dimensions: int, metadata_indexes: dict[str, str], found: str
) -> None:
    account.double.create_index(INDEX, dimensions, metadata_indexes)
    with pytest.raises(IndexNotProvisioned, match=found):
        await provision(account, tmp_path)


async def test_a_proof_that_is_interrupted_leaves_no_probe(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(VectorizeIndex, "query", AsyncMock(side_effect=asyncio.CancelledError))
        with pytest.raises(asyncio.CancelledError):
            await provision(account, tmp_path)
    account.double.settle()
    assert account.double.calls()["vectorize.upsert"] == account.double.calls()["vectorize.delete_by_ids"] == 1
    account.double.reset_calls()
    plan, _ = await provision(account, tmp_path, apply=False)
    assert plan.proof
    assert "vectorize.get_by_ids" not in account.double.calls(), "the index is empty"


async def test_an_index_that_holds_but_a_probe_left_behind_is_proved_and_changed_as_an_empty_one(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(VectorizeIndex, "delete", AsyncMock(side_effect=UpstreamUnavailable("gone")))
        with pytest.raises(UpstreamUnavailable):
            await provision(account, tmp_path)
    account.double.settle()
    plan, _ = await provision(account, tmp_path, filterable_metadata={**FILTERABLE, "customer": "string"})
    assert plan.proof
    assert set(plan.metadata_indexes) == {"customer"}
    account.double.settle()
    account.double.reset_calls()
    await provision(account, tmp_path, apply=False)
    assert "vectorize.get_by_ids" not in account.double.calls(), "the probe is gone"


def env_of(account: Handle) -> dict[str, str]:
    settings = {**settings_of(account), "embedder": "hashing", "filterable_metadata": "project:string"}
    return {name.upper(): str(value) for name, value in settings.items()} | {
        "AUTH_SECRETS": "test=a-secret-of-the-tests-long-enough-to-sign"
    }


@pytest.mark.parametrize("where", ["nowhere/kept.env", "latin-1.env", "pipe"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_created(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin-1.env").write_bytes(b"NAME=\xe9\n")
    os.mkfifo(tmp_path / "pipe")
    done = CliRunner(env=env_of(account)).invoke(cli, ["provision", "--yes", "--write-env", where])
    assert isinstance(done.exception, ConfigurationError)
    assert where in done.exception.detail
    assert account.double.calls() == {}


def test_the_command_shows_its_plan_and_applies_it_when_told(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = env_of(account)
    kept = tmp_path / "kept.env"
    line = ["provision", "--poll-seconds", "0.02", "--write-env", str(kept)]
    shown = CliRunner(env={**env, "ENV_FILE": str(kept)}).invoke(cli, line)
    assert shown.exit_code == 0
    assert "Nothing was changed." in shown.output
    assert not kept.exists()
    kept.write_text("LOG_LEVEL=debug\n  export CLOUDFLARE_D1_DATABASE_ID=old\nLOG_FORMAT=text", "utf-8")
    kept.chmod(0o644)
    applied = CliRunner(env=env).invoke(cli, [*line, "--yes"])
    assert applied.exit_code == 0, applied.output
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    first, second, *rest = kept.read_text("utf-8").splitlines()
    assert (first, second) == ("LOG_LEVEL=debug", "LOG_FORMAT=text")
    assert [setting.partition("=")[0] for setting in rest] == ["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_D1_DATABASE_ID"]
    assert rest[1] in applied.output
    checked = CliRunner(env={**env, "ENV_FILE": str(kept)}).invoke(cli, ["doctor"])
    assert checked.exit_code == 0, checked.output
    assert "a memory went all the way" in checked.output


def test_the_name_of_an_index_tells_dimensions_only_where_they_are_not_the_models_own() -> None:
    assert EmbeddingConfig("openai", "text-embedding-3-small", 1536).index_name == (
        "lt-memory-openai-text-embedding-3-small"
    )
    assert EmbeddingConfig("openai", "text-embedding-3-large", 1536, shortened=True).index_name == (
        "lt-memory-openai-text-embedding-3-large-1536"
    )
    assert EmbeddingConfig("workers-ai", "@cf/baai/bge-m3", 1024).index_name == "lt-memory-workers-ai-cf-baai-bge-m3"
