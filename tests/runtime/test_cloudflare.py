"""The service on Cloudflare, through the double: what it calls, what it survives, what it says."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from app.adapters.local.hashing import HashingEmbedder
from app.bootstrap import build_runtime
from app.domain.errors import ConfigurationError
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle
from tests.support.backends import Backend, running_on
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving, settings_for
from tests.support.tables import delete_rows

pytestmark = pytest.mark.thorough

CLOUDFLARE = ("d1.", "vectorize.", "ai.")
CUTS = ["cut", "half_body", "invalid_json", "after_effect_cut"]


async def test_a_store_is_one_embedding_and_two_cloudflare_calls(service: Service, double: Handle) -> None:
    await service.store("The customer prefers invoices in Swedish", metadata={"source": "call"})
    assert double.double.calls() == {"openai.embeddings": 1, "d1.query": 1, "vectorize.upsert": 1}


@pytest.mark.parametrize("top_k", [1, 5, 20])
async def test_a_recall_is_one_embedding_and_two_cloudflare_calls_whatever_top_k(
    service: Service, double: Handle, top_k: int
) -> None:
    for number in range(30):
        await service.store(f"memory number {number}")
    double.double.reset_calls()
    assert len(await service.recall("memory", top_k=top_k)) == top_k
    assert double.double.calls() == {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 1}


async def test_a_recall_that_the_filter_empties_is_still_two_calls(service: Service, double: Handle) -> None:
    for number in range(110):
        await service.store(f"memory number {number}")
    await service.store("the one that matches", metadata={"project": "x"})
    double.double.reset_calls()
    body = {"agent_id": "bot", "query": "memory number 7", "filter": {"metadata": {"project": "x"}}}
    answer = (await service.post("/recall", body)).json()
    assert [entry["content"] for entry in answer["entries"]] == ["the one that matches"]
    assert answer["degraded"] == ["filter_beyond_index"]
    assert double.double.calls() == {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 1}


async def test_an_embedding_leaves_an_audit_row_without_content(service: Service, double: Handle) -> None:
    await service.store("a secret text")
    (query,) = [request for request in double.double.requests() if request.operation == "d1.query"]
    audit = next(statement for statement in json.loads(query.body)["batch"] if "INTO audit" in statement["sql"])
    (argument,) = audit["params"]
    assert '\\"tokens\\":' in argument
    assert '\\"model\\":\\"text-embedding-3-small\\"' in argument
    assert "secret" not in argument


FAULTS: list[tuple[Fault, str, int]] = [
    (Fault("openai.embeddings", status=429, headers={"retry-after": "7"}), "rate_limited", 429),
    (Fault("openai.embeddings", status=503), "upstream_overloaded", 503),
    (Fault("openai.embeddings", status=500), "upstream_unavailable", 503),
    (Fault("openai.embeddings", status=401), "upstream_credentials_refused", 502),
    (
        Fault("openai.embeddings", status=429, body={"error": {"code": "insufficient_quota", "message": "no credit"}}),
        "quota_exhausted",
        503,
    ),
    (Fault("openai.embeddings", kind="cut"), "upstream_unavailable", 503),
    (Fault("openai.embeddings", kind="half_body"), "upstream_unavailable", 503),
    (Fault("openai.embeddings", kind="invalid_json"), "upstream_rejected", 502),
    (Fault("openai.embeddings", kind="wrong_dimensions"), "upstream_rejected", 502),
    (Fault("d1.query", status=401), "upstream_credentials_refused", 502),
    (Fault("d1.query", status=500, times=3), "upstream_unavailable", 503),
    (Fault("d1.query", status=502, times=3), "upstream_unavailable", 503),
    (Fault("d1.query", status=503), "upstream_overloaded", 503),
    (Fault("d1.query", kind="cut", times=3), "upstream_unavailable", 503),
    (Fault("d1.query", kind="invalid_json"), "upstream_rejected", 502),
]


@pytest.mark.parametrize(("fault", "code", "status"), FAULTS, ids=[f"{f.operation} {f.kind} {c}" for f, c, _ in FAULTS])
async def test_an_outage_is_an_error_with_its_own_code_and_never_an_empty_answer(
    service: Service, double: Handle, fault: Fault, code: str, status: int
) -> None:
    await service.store("held")
    for path, field in (("/store", "content"), ("/recall", "query")):
        double.double.faults.clear()
        double.double.faults.add(fault)
        answer = await service.post(path, {"agent_id": "bot", field: f"something else for {path}"})
        problem = assert_problem(answer, status, code)
        assert "something else" not in problem["detail"]
        waits = code not in {"upstream_credentials_refused", "quota_exhausted", "upstream_rejected"}
        assert ("retry-after" in answer.headers) is waits
        if code == "rate_limited":
            assert answer.headers["retry-after"] == "7"
    double.double.faults.clear()
    assert (await service.contents("held"))[0] == "held"


async def test_a_d1_that_stumbles_twice_is_asked_again_and_nothing_is_stored_twice(
    service: Service, double: Handle
) -> None:
    double.double.faults.add(Fault("d1.query", kind="after_effect_cut", times=2))
    await service.store("once")
    assert double.double.calls()["d1.query"] == 3
    assert await service.contents("once", top_k=20) == ["once"]


@pytest.mark.parametrize("fault", [{"status": 500}, *({"kind": kind} for kind in CUTS)], ids=["status", *CUTS])
async def test_a_store_whose_index_write_fails_is_acknowledged_and_found(
    service: Service, double: Handle, fault: dict[str, Any]
) -> None:
    double.double.faults.add(Fault("vectorize.upsert", **fault))
    await service.store("kept by the outbox")
    assert await service.contents("kept by the outbox") == ["kept by the outbox"]


async def test_without_the_index_what_is_pending_is_found_and_an_empty_answer_is_an_error(
    service: Service, double: Handle
) -> None:
    await service.store("held")
    body = {"agent_id": "bot", "query": "held"}
    double.double.faults.add(Fault("vectorize.query", status=500))
    answer = (await service.post("/recall", body)).json()
    assert [entry["content"] for entry in answer["entries"]] == ["held"]
    assert answer["degraded"] == ["index_unavailable"]
    await delete_rows(service, "outbox")
    double.double.faults.add(Fault("vectorize.query", status=500))
    assert (await service.post("/recall", body)).json()["degraded"] == ["index_unavailable"]  # its words are known
    double.double.faults.add(Fault("vectorize.query", status=500))
    other = body | {"query": "another word"}
    assert_problem(await service.post("/recall", other), 503, "upstream_unavailable")


async def test_cloudflares_block_is_passed_on_and_no_call_is_made_until_it_is_asked_again(
    service: Service, double: Handle
) -> None:
    double.double.faults.add(Fault("vectorize.query", status=429, headers={"retry-after": "120"}))
    for _ in range(3):
        answer = await service.post("/recall", {"agent_id": "bot", "query": "anything"})
        assert_problem(answer, 503, "cloudflare_blocks")
        assert 33 <= int(answer.headers["retry-after"]) <= 35  # it is known again by then whether it still blocks
    calls = double.double.calls()
    assert (calls["vectorize.query"], "d1.query" in calls) == (1, False)


async def test_the_share_of_the_budget_is_not_overdrawn(tmp_path: Path, account: Backend) -> None:
    async with serving(tmp_path, on=account, cloudflare_calls_per_window=100) as service:
        double = account.doubles[tmp_path].double
        statuses = [
            (await service.post("/recall", {"agent_id": "bot", "query": f"query {n}"})).status_code for n in range(60)
        ]
        metrics = (await service.client.get("/metrics")).text
    assert sorted(Counter(statuses)) == [200, 429]
    assert double.calls()["unknown"] == 1  # asked once whether there is an edge
    assert sum(count for name, count in double.calls().items() if name.startswith(CLOUDFLARE)) <= 100
    assert "memory_gateway_cloudflare_calls_left" in metrics
    assert 'memory_gateway_upstream_calls_total{operation="vectorize.query",outcome="ok"}' in metrics


async def test_a_memory_is_recalled_before_the_index_shows_it(tmp_path: Path) -> None:
    with running_on("cloudflare", visibility_seconds=(600.0, 600.0)) as account:
        account.settings(tmp_path)
        account.doubles[tmp_path].double.settle()
        async with serving(tmp_path, on=account) as service:
            await service.store("not visible yet")
            assert sum(account.doubles[tmp_path].double.vectorize.pending().values()) == 1
            assert await service.contents("not visible yet") == ["not visible yet"]
            (entry,) = await service.recall("not visible yet")
            await service.delete(entry["id"])
            assert await service.contents("not visible yet") == []


@pytest.mark.parametrize("stop_after", [0, 1, 2, 3, 4])
async def test_a_store_stopped_after_any_statement_leaves_nothing_half_there(
    tmp_path: Path, account: Backend, stop_after: int
) -> None:
    async with serving(tmp_path, on=account) as service:
        double = account.doubles[tmp_path].double
        await service.store("first of all")
        double.d1.atomic_batch = False
        double.faults.add(Fault("d1.query", kind="stop_batch", stop_batch_after=stop_after, times=3))
        answer = await service.post("/store", {"agent_id": "bot", "content": "stopped half way"})
        assert_problem(answer, 503, "upstream_unavailable")
        before = await service.contents("stopped half way", top_k=20)
        assert before in (["first of all"], ["stopped half way", "first of all"])
        await service.store("stopped half way")
        assert await service.contents("stopped half way", top_k=20) == ["stopped half way", "first of all"]


async def test_readiness_names_the_live_backends(service: Service) -> None:
    answer = (await service.client.get("/readyz")).json()
    assert answer["status"] == "ready"
    backends = {part["name"]: part["backend"] for part in answer["parts"]}
    assert backends["database"] == "cloudflare-d1 (REST)"
    assert backends["index"] == "cloudflare-vectorize (REST)"
    assert backends["embedder"] == "openai"


async def test_the_line_of_the_start_names_what_the_data_is_reached_through(tmp_path: Path, account: Backend) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path, on=account):
            pass
    (ready,) = [line for line in logs if line["event"] == "ready"]
    assert (ready["database"], ready["index"]) == ("cloudflare-d1 (REST)", "cloudflare-vectorize (REST)")


async def test_readiness_does_not_spend_the_budget_even_when_asked_by_many_at_once(
    service: Service, double: Handle
) -> None:
    await asyncio.gather(*(service.client.get("/readyz") for _ in range(20)))
    assert sum(double.double.calls().values()) <= 6
    calls = double.double.calls()
    for _ in range(20):
        await service.client.get("/readyz")
    assert double.double.calls() == calls


@pytest.mark.parametrize(
    ("metadata_indexes", "dimensions", "said"),
    [
        ({"tenant_id": "string", "created_at": "number"}, 384, "lacks the metadata index of agent_id"),
        ({"tenant_id": "string", "agent_id": "string", "created_at": "string"}, 384, "created_at"),
        ({"tenant_id": "string", "agent_id": "string", "created_at": "number"}, 512, "has 512 dimensions"),
        (None, 384, "does not exist"),
    ],
)
async def test_an_index_not_made_for_the_service_keeps_it_from_serving(
    tmp_path: Path, account: Backend, metadata_indexes: dict[str, str] | None, dimensions: int, said: str
) -> None:
    account.settings(tmp_path)
    handle = account.doubles[tmp_path]
    name = HashingEmbedder().config.index_name
    options = handle.double.options
    url = f"{handle.cloudflare_url}/accounts/{options.account_id}/vectorize/v2/indexes/{name}"
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {options.api_token}"}) as client:
        assert (await client.delete(url)).status_code == 200
    if metadata_indexes is not None:
        handle.double.create_index(name, dimensions, metadata_indexes)
    async with serving(tmp_path, on=account) as service:
        answer = await service.post("/recall", {"agent_id": "bot", "query": "anything"})
        problem = assert_problem(answer, 503, "index_not_provisioned")
        assert said in problem["detail"]
        assert (await service.client.get("/readyz")).status_code == 503


ALL = {
    "cloudflare_account_id": "0" * 32,
    "cloudflare_api_token": "t",
    "cloudflare_d1_database_id": "00000000-0000-0000-0000-000000000000",
}


@pytest.mark.parametrize("missing", list(ALL))
def test_half_a_backend_is_an_error_that_names_what_is_missing(tmp_path: Path, missing: str) -> None:
    given = {name: value for name, value in ALL.items() if name != missing}
    with pytest.raises(ConfigurationError, match=f"{missing.upper()} is not set"):
        build_runtime(settings_for(tmp_path, **given))


def test_replicas_on_cloudflare_need_a_secret_they_share(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="AUTH_SECRETS"):
        build_runtime(settings_for(tmp_path, **ALL, auth_secrets={}))
