"""Canaries: planted where nothing of them counts, asked for as every other scope, by one process of all."""

import asyncio
import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.canaries import CANARY_AGENT, PROBE_AGENT, PROBE_TENANT, Canary
from app.domain.canaries import TOKEN as TOKEN_FORM
from app.interfaces.canaries.prober import Prober, tokens_of
from app.interfaces.canaries.probes import probes
from app.interfaces.canaries.rounds import CanaryRounds, keep_probing
from app.interfaces.canaries.scopes import ProbeClient
from app.runtime.canaries import hold_rounds, read_canaries
from tests.interfaces.cli.line import Line, misused
from tests.interfaces.console.browser import browsing
from tests.support import migrated
from tests.support.backends import Backend
from tests.support.canaries import TENANTS, planted, probed
from tests.support.service import Service, serving
from tests.support.sharded import placed, sharded

TOKEN = "mgcanary0123456789abcdef0123456789abcdef"


@pytest.mark.thorough
async def test_a_round_asks_as_every_tenant_finds_its_own_canary_and_no_other(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        await planted(service)
        report = await probed(service)
        assert (report.passed, report.tenants, report.cut, report.probes > 500) == (True, 3, False, True)
        metrics = service.runtime.metrics.render().decode()
        assert f"memory_gateway_canary_probes_total {float(report.probes)}" in metrics
        assert "memory_gateway_canary_leaks_total 0.0" in metrics
        assert "memory_gateway_canary_last_success_timestamp_seconds 0.0" not in metrics


async def test_every_route_that_reads_is_asked_and_none_that_writes(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        document = (await service.client.get("/openapi.json")).json()
        asked = {probe.route for probe in probes(document, CANARY_AGENT, Canary("acme", "0" * 26, TOKEN))}
        reading = {f"GET {path}" for path, methods in document["paths"].items() if "get" in methods}
        assert asked >= reading | {"POST /recall", "POST /recall/explain", "POST /facts/recall", "recall_memory"}
        writing = {"POST /store", "POST /import", "POST /runs", "DELETE /tenant", "PUT /agents/{agent_id}"}
        assert not asked & writing


@pytest.mark.thorough
async def test_nothing_of_a_canary_counts_as_its_tenant_s(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend, agent_recalls_per_minute=1, tenant_recalls_per_minute=2) as service:
        await service.store("a red fox")
        await service.store("a red fox", tenant="globex")
        service.later(61)  # the stores before count in another minute, however long the round takes
        before = await _usage(service)
        assert await CanaryRounds(service.shards, service.client).plant() == (3, [])
        assert (await probed(service)).passed
        assert await _usage(service) == before
        events = (await service.client.get("/audit?limit=100", headers=service.credential(admin=True))).json()["events"]
        assert [one for one in events if one["event"] == "recall"] == []
        await removed(service)
        left, agents = await _usage(service)
        assert (left["memories"], left["bytes"], len(agents)) == (1, 11, 1)


async def removed(service: Service) -> None:
    """Erase the canaries, and wait for the receipts."""
    assert (await CanaryRounds(service.shards, service.client).remove())[1] == []
    while (await read_canaries(service.shards)).keys() != set(TENANTS):
        service.later(120)  # an index over the network is given time to forget
        await service.runtime.indexer.round()


async def _usage(service: Service) -> tuple[dict[str, Any], list[Any]]:
    usage = (await service.client.get("/usage", headers=service.credential(admin=True))).json()
    return usage["tenant"], usage["agents"]


async def test_a_tenant_without_room_gets_a_canary_all_the_same(tmp_path: Path, backend: Backend) -> None:
    async with serving(
        tmp_path, on=backend, tenant_memories=1, agent_memories=1, agent_bytes=11, tenant_stores_per_minute=2
    ) as service:
        await planted(service, ["acme"])
        body = {"agent_id": "bot", "content": "a fox"}
        assert (await service.post("/store", body)).status_code == 429


async def test_only_a_credential_of_its_own_names_the_agent_of_a_canary(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        canary = (await planted(service))["acme"]
        body = {"agent_id": CANARY_AGENT, "content": "free of charge"}
        assert (await service.post("/store", body)).status_code == 403
        assert (await service.post("/store", body, agent="bot")).status_code == 403
        admin = service.credential(admin=True)
        for method, path in (
            ("DELETE", f"/agents/{CANARY_AGENT}"),
            ("GET", f"/memories/{canary.id}?agent_id={CANARY_AGENT}"),
        ):
            assert (await service.client.request(method, path, headers=admin)).status_code == 403
        source = {"agent_id": CANARY_AGENT, "session_id": "canary", "dry_run": False}
        assert (await service.post("/undo", source, admin=True)).status_code == 403
        async with browsing(service, admin=True) as browser:
            page = await browser.open(f"/console/undo?agent_id={CANARY_AGENT}&session_id=canary")
            assert page.status == 403
        named = await service.mcp(
            "tools/call", {"name": "store_memory", "arguments": {"content": "x"}}, agent_id=PROBE_AGENT
        )
        assert named.json()["result"]["isError"] is True
        minting = {"agent_id": CANARY_AGENT, "scopes": ["write"]}
        assert (await service.client.post("/credentials", json=minting, headers=admin)).status_code == 403
        assert canary.token in (await service.client.get("/export", headers=admin)).text


async def test_an_import_leaves_the_canary_of_another_tenant_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await planted(service)
        file = (await service.client.get("/export", headers=service.credential(admin=True))).content
        headers = service.credential("initech", admin=True) | {"Content-Type": "application/x-ndjson"}
        report = await service.client.post("/import", content=file, headers=headers)
        statuses = [json.loads(line).get("status") for line in report.text.splitlines()]
        assert (statuses.count("imported"), statuses.count("rejected")) == (1, 0)
        listed = await service.client.get("/memories", headers=service.credential("initech", admin=True))
        assert [memory["agent_id"] for memory in listed.json()["memories"]] == ["bot"]


async def test_a_canary_is_planted_again_where_it_has_gone_and_keeps_its_token_where_it_has_not(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        first = await planted(service)
        assert await planted(service) == first
        await removed(service)
        assert set((await read_canaries(service.shards)).values()) == {None}
        second = await planted(service)
        assert all(second[tenant].token != first[tenant].token for tenant in TENANTS)


async def test_what_of_a_canary_lives_for_a_day_is_planted_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        canary = (await planted(service, ["acme"]))["acme"]
        path = f"/working/{CANARY_AGENT}/canary/canary"
        service.later(25 * 3600)
        own = service.credential(agent=CANARY_AGENT)
        assert (await service.client.get(path, headers=own)).status_code == 404
        await CanaryRounds(service.shards, service.client).plant(most=1)
        assert canary.token in (await service.client.get(path, headers=own)).text


async def test_an_erased_tenant_gets_no_canary(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await planted(service)
        await service.runtime.services("acme").gateway.erase(None)
        assert "acme" not in await read_canaries(service.shards)
        await service.runtime.indexer.round()
        await CanaryRounds(service.shards, service.client).plant()
        assert set(await read_canaries(service.shards)) == {"globex", PROBE_TENANT}


async def test_a_round_makes_no_more_probes_than_it_may(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await planted(service)
        report = await probed(service, most_probes=100)
        assert (report.probes, report.cut, report.passed) == (100, True, True)


@pytest.mark.thorough
async def test_a_round_without_answers_or_without_sight_has_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        canaries = await planted(service)
        blind = {tenant: replace(canary, token=TOKEN) for tenant, canary in canaries.items()}
        client = ProbeClient(service.client, service.runtime.credentials, service.runtime.backends.clock())
        report = await Prober(client, blind, most_probes=10_000).run()
        assert (report.passed, len(report.blind), report.leaks) == (False, 3, [])

        async def away(*_: object, **__: object) -> httpx.Response:
            return httpx.Response(503, json={"paths": {}})

        monkeypatch.setattr(ProbeClient, "request", away)
        report = await probed(service)
        assert (report.passed, len(report.unanswered) > 0) == (False, True)


@pytest.mark.thorough
async def test_canaries_of_tenants_in_several_shards_are_found_and_asked_for(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        for tenant, shard in (("acme", "main"), ("globex", "east")):
            await placed(service, tenant, shard)
        await planted(service)
        report = await probed(service)
        assert (report.passed, report.tenants) == (True, 3), report


async def test_one_process_of_all_makes_the_rounds_of_a_time(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as first, serving(tmp_path, on=backend) as second:
        assert await hold_rounds(first.shards, 60)
        assert not await hold_rounds(second.shards, 60)
        assert await hold_rounds(first.shards, 60)
        first.later(61)
        assert await hold_rounds(second.shards, 60)


async def test_the_service_plants_and_probes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.interfaces.canaries.rounds._PAUSE_SECONDS", 0.0)
    async with serving(tmp_path) as service:
        await service.store("a red fox")
        work = asyncio.create_task(keep_probing(service.app, service.shards, minutes=60, most_probes=50))
        while "memory_gateway_canary_probes_total 50.0" not in service.runtime.metrics.render().decode():
            await asyncio.sleep(0.01)
            assert not work.done()
        assert set(await read_canaries(service.shards)) == {"acme", PROBE_TENANT}
        assert (await service.client.get("/readyz")).status_code == 200
        work.cancel()


@pytest.mark.parametrize("handling", ["refuse", "mask", "count"])
async def test_a_token_is_no_content_that_should_not_be_kept(tmp_path: Path, handling: str) -> None:
    async with serving(tmp_path, sensitive_content=handling) as service:
        canaries = await planted(service)
        assert all(TOKEN_FORM.fullmatch(canary.token) for canary in canaries.values())


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text=f'{{"content": "{TOKEN}"}}'),
        httpx.Response(404, text=TOKEN.upper()),
        httpx.Response(200, headers={"X-Trace": TOKEN}),
        *(httpx.Response(200, content=b64encode(b"x" * before + TOKEN.encode() + b"y")) for before in range(3)),
    ],
)
def test_a_token_is_found_in_whatever_form_an_answer_has_it(answer: httpx.Response) -> None:
    assert set(tokens_of(answer)) == {TOKEN}


@pytest.mark.thorough
def test_commands_plant_probe_and_remove_canaries(tmp_path: Path) -> None:
    migrated.prepare(tmp_path / "data")
    line = Line(tmp_path / "data")
    assert "memory-gateway canary plant" in line.fails("canary", "probe")
    line.ok("store", "a red fox", "--tenant", "acme")
    line.ok("store", "a red fox", "--tenant", "globex")
    assert line.ok("canary", "plant") == "3 tenants have a canary.\n"
    found = line.json("canary", "probe")
    assert (found["passed"], found["leaks"], found["tenants"]) == (True, [], 3)
    assert "--yes" in misused("canary", "remove")
    assert line.ok("canary", "remove", "--yes") == "The canaries of 3 tenants are erased.\n"
    nowhere = line.run("canary", "plant", "--url", "http://127.0.0.1:9")
    assert (nowhere.returncode, "ConnectError" in nowhere.stderr) == (1, True)


async def test_no_credential_for_all_agents_writes_to_the_run_of_a_canary_where_nothing_counts(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        run = (await planted(service, ["acme"]))["acme"].id
        headers = service.credential(admin=True)
        before = (await service.client.get(f"/runs/{run}/replay", headers=headers)).json()
        state = (await service.client.get(f"/runs/{run}/state", headers=headers)).json()
        for method, path, body in (
            ("POST", "episodes", {"episodes": [{"type": "note", "content": "free of charge"}]}),
            ("POST", "log", {"entries": [{"free": "of charge"}]}),
            ("PUT", "state", {"value": "free of charge"}),
            ("POST", "audit", {"calls": [{"tool": "t", "input": "free of charge", "outcome": "ok", "ms": 1}]}),
            ("POST", "complete", {"output": "free of charge"}),
            ("POST", "fail", {"error": "free of charge"}),
        ):
            answer = await service.client.request(method, f"/runs/{run}/{path}", json=body, headers=headers)
            assert answer.status_code == 404, (path, answer.text)
        assert (await service.client.get(f"/runs/{run}/replay", headers=headers)).json() == before
        assert (await service.client.get(f"/runs/{run}/state", headers=headers)).json() == state
