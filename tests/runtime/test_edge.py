"""A service behind an edge Worker: what is bound to it later is found, and messages name the Worker's own settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap import build_shards
from app.domain.errors import ConfigurationError, MemoryGatewayError
from app.runtime.doctor import diagnose
from tests.runtime.test_shards_on_cloudflare import add_shard
from tests.support.edge import Edge, running_edge
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving, settings_for
from tests.support.sharded import placed

QUERY = {"agent_id": "bot", "query": "fox"}


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[Edge]:
    with running_edge(tmp_path) as edge:
        yield edge


async def refused(service: Service, status: int, code: str) -> str:
    detail: str = assert_problem(await service.post("/recall", QUERY), status, code)["detail"]
    return detail


async def begun(data_dir: Path, edge: Edge, **more: Any) -> MemoryGatewayError:
    """Return why a command behind the edge does not begin."""
    shards = build_shards(settings_for(data_dir, **edge.settings(**more)))
    try:
        with pytest.raises(MemoryGatewayError) as caught:
            await shards.prepare()
    finally:
        await shards.close()
    return caught.value


async def test_a_shard_is_served_as_soon_as_the_worker_has_both_of_its_bindings(
    tmp_path: Path, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.openings.RETRY_SECONDS", 0.0)
    monkeypatch.setattr("app.runtime.places.MAX_AGE_SECONDS", 0.0)
    account, data = edge.account, edge.account.doubles[tmp_path].double
    async with serving(tmp_path, **edge.settings()) as service:
        await service.store("a bear", tenant="globex")
        await add_shard(account, tmp_path, "east")
        async with serving(tmp_path, on=account) as over_rest:
            await placed(over_rest, "acme", "east")
            await over_rest.store("a fox", tenant="acme")
            (east,) = over_rest.shards.places.shards
        data.settle()
        edge.worker.databases.add(str(east.database_id))
        await service.shards.places.hear()
        assert "The edge Worker does not have the index" in await refused(service, 503, "shard_unavailable")
        edge.worker.indexes.add(over_rest.runtime.config.index_name_in("east"))
        assert await service.contents("fox", tenant="acme") == ["a fox"]
        assert await service.contents("bear", tenant="globex") == ["a bear"]


async def test_an_edge_that_lacks_the_index_keeps_a_service_from_starting(tmp_path: Path, edge: Edge) -> None:
    edge.worker.indexes.clear()
    error = await begun(tmp_path, edge)
    assert isinstance(error, ConfigurationError)
    assert "The edge Worker does not have the index lt-memory-" in error.detail
    assert "INDEXES" in error.detail


async def test_an_edge_that_lacks_the_database_says_so(tmp_path: Path, edge: Edge) -> None:
    edge.worker.databases.clear()
    error = await begun(tmp_path, edge)
    assert (error.code, error.status) == ("database_unavailable", 503)
    assert "DATABASES" in error.detail
    assert "CLOUDFLARE_D1_DATABASE_ID" not in error.detail


async def test_another_secret_than_the_edge_s_is_said_to_be_no_edge_secret(tmp_path: Path, edge: Edge) -> None:
    error = await begun(tmp_path, edge, cloudflare_api_token="another")
    assert (error.code, error.status) == ("upstream_credentials_refused", 502)
    assert "EDGE_SECRET" in error.detail
    assert "CLOUDFLARE_API_TOKEN" in error.detail


async def test_a_secret_that_is_replaced_while_a_service_runs_is_said_to_be_no_edge_secret(
    tmp_path: Path, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, **edge.settings()) as service:
        monkeypatch.setattr("tests.support.edge.SECRET", "a newer secret of the tests")
        detail = await refused(service, 502, "upstream_credentials_refused")
    assert "EDGE_SECRET" in detail
    assert "permissions" not in detail


async def test_an_index_that_the_edge_lost_is_looked_for_in_its_configuration(tmp_path: Path, edge: Edge) -> None:
    async with serving(tmp_path, **edge.settings()) as service:
        edge.worker.indexes.clear()
        (part,) = [each for each in await service.runtime.checks.parts() if each.name == "index"]
        (check,) = [each for each in await diagnose(service.runtime) if each.name == "index"]
    assert part.error is not None
    assert (part.error.code, part.error.status) == ("index_not_provisioned", 503)
    for said in (part.error.detail, check.finding):
        assert "INDEXES" in said
        assert "provision" not in said
        assert "deploy/README.md" not in said
