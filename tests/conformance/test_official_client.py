"""Every request of our adapters, held against Cloudflare's own client for TypeScript.

The client's types take each of them, and the client itself sends the same: method, path, query, media type and body.
There is no exception. The types leave two things open, which the double checks: ``filter`` is ``unknown``, and the
lines of an upsert are a file.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.cloudflare.account import Placement
from app.bootstrap import build_provisioning
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.recorder import RecordedRequest
from memory_gateway_double.server import running
from tests.conformance.official_client import METHODS, OfficialClient, method, recorded
from tests.support.deployments import NAME, Deploying, write_wrangler
from tests.support.service import serving, settings_for


@pytest.fixture
async def session(tmp_path: Path) -> list[RecordedRequest]:
    """Provision an account, then store, recall and delete in it, and return every request made."""
    options = DoubleOptions(visibility_seconds=(0.0, 0.0), rate_limit=False)
    with running(options) as double:
        overrides: dict[str, Any] = {
            "cloudflare_account_id": options.account_id,
            "cloudflare_api_token": options.api_token,
            "cloudflare_api_base_url": double.cloudflare_url,
            "cloudflare_calls_per_window": 0,
            "embedder": "workers-ai",
            "filterable_metadata": {"topic": "string", "year": "number", "done": "boolean"},
        }
        settings = settings_for(tmp_path, **overrides)
        provisioning, close = build_provisioning(settings, "memory-gateway", Placement("weur", "eu"), poll_seconds=0.01)
        database_id = await provisioning.apply(await provisioning.plan(), print)
        await close()
        async with serving(tmp_path, cloudflare_d1_database_id=database_id, **overrides) as service:
            await service.store(
                "Räksmörgås\n“quoted” \u2028", metadata={"topic": "food\u2028", "year": 2026, "done": True}
            )
            where = {
                "created_after": "2026-01-01T00:00:00Z",
                "created_before": "2999-01-01T00:00:00Z",
                "metadata": {"topic": "food\u2028", "year": 2026, "done": True},
            }
            (entry,) = await service.recall("what is there to eat?", filter=where)
            assert (await service.delete(entry["id"])).is_success
        requests = double.double.requests()
    with running(options) as double:
        await asyncio.to_thread(deploy_and_destroy, Deploying(double, tmp_path))
        return [request for request in [*requests, *double.double.requests()] if is_a_call_of_ours(request)]


def deploy_and_destroy(deploying: Deploying) -> None:
    """Make a deployment, look at it and take it back."""
    write_wrangler(deploying.folder)
    for words in (["--yes", "--jurisdiction", "eu"], ["--dry-run", "--jurisdiction", "eu"], ["destroy", "--yes"]):
        done = deploying.run(*words, typed=f"{NAME}\n")
        assert done.exit_code == 0, done.output


def is_a_call_of_ours(request: RecordedRequest) -> bool:
    """Leave out what another program calls, and what the client has no types for.

    Whether there is an edge is asked where the base URL is not Cloudflare's; Cloudflare knows no such path. What finds
    out a token's rights is malformed on purpose.
    """
    ours = request.headers.get("user-agent") == "memory-gateway"
    return ours and request.body != b"{}" and not request.path.endswith("/capabilities")


async def test_the_official_client_takes_every_request_and_sends_the_same(
    session: list[RecordedRequest], tmp_path: Path
) -> None:
    client = OfficialClient(tmp_path, session)
    assert client.type_errors() == ""
    assert client.sends() == [recorded(request) for request in session]
    assert {method(request) for request in session} == set(METHODS.values())


async def test_a_request_of_another_type_would_be_noticed(session: list[RecordedRequest], tmp_path: Path) -> None:
    query = next(request for request in session if request.path.endswith("/query") and "/d1/" in request.path)
    numbers = replace(query, body=b'{"batch": [{"sql": "SELECT ?1", "params": [1]}]}')
    assert "Type 'number' is not assignable to type 'string'" in OfficialClient(tmp_path, [numbers]).type_errors()
