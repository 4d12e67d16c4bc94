"""The traces of requests, as a collector gets them and OpenTelemetry's own library reads them."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.datastructures import Headers

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.adapters.coalescing.gatherer import Gatherer, Size, of_one_part
from app.adapters.upstream import Call, Upstream
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError
from app.domain.request_note import MemoryOperation, RequestNote
from app.observability import trace_export
from app.observability.logs import configure_logging
from app.observability.metrics import Metrics
from app.observability.traces import QUERY_CHARACTERS, RECORD_CHARACTERS, RECORDS, Traces
from app.settings.loading import notices
from tests.support.backends import running_on
from tests.support.collector import Collector, TakenSpan, collecting, wait_for_exports
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving, settings_for

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = f"00-{TRACE}-00f067aa0ba902b7-01"
UNSAMPLED = CALLER[:-1] + "0"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    root, theirs = logging.getLogger(), logging.getLogger("opentelemetry")
    handlers, level = root.handlers[:], root.level
    yield
    wait_for_exports()
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level
    theirs.setLevel(logging.NOTSET)


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> tuple[Traces, InMemorySpanExporter]:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traces(provider.get_tracer("tests")), exporter


async def recall(service: Service, headers: dict[str, str] | None = None, query: str = "tea") -> httpx.Response:
    body = {"agent_id": "bot", "query": query}
    return await service.client.post("/recall", json=body, headers=service.credential() | (headers or {}))


async def traced(data_dir: Path, headers: dict[str, str] | None = None, **settings: Any) -> Collector:
    """Recall once with traces, and return what a collector got."""
    with collecting() as collector:
        async with serving(data_dir, otel_exporter_otlp_endpoint=collector.url, **settings) as service:
            assert (await recall(service, headers)).status_code == 200
    return collector


def within(spans: list[TakenSpan], parent: TakenSpan) -> set[str]:
    return {span.name for span in spans if span.parent_id == parent.span_id}


@pytest.mark.cloudflare
async def test_a_recall_on_cloudflare_is_a_tree_of_its_request_its_search_and_each_call(tmp_path: Path) -> None:
    with running_on("cloudflare") as account, collecting() as collector:
        settings = account.settings(tmp_path)
        config = EmbeddingConfig("openai", "text-embedding-3-small", 1536)
        account.doubles[tmp_path].double.create_index(config.index_name, config.dimensions, SCOPE_TYPES)
        observed: dict[str, Any] = {"embedder": "openai", "otel_exporter_otlp_endpoint": collector.url}
        async with serving(tmp_path, on=account, **observed) as service:
            await service.store("Ann drinks tea")
            assert await service.contents("What does Ann drink?") == ["Ann drinks tea"]
    request = collector.named("POST /recall")
    of_recall = [span for span in collector.spans if span.trace_id == request.trace_id]
    search = collector.named("search_memory")
    assert (request.kind, request.parent_id, search.kind) == ("SERVER", "", "INTERNAL")
    assert within(of_recall, request) == {"search_memory"}
    assert within(of_recall, search) == {"embeddings text-embedding-3-small", "vectorize.query", "d1.query"}
    assert len(of_recall) == 5
    assert search.attributes == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": "acme/bot",
        "gen_ai.memory.record.count": 1,
    }
    (embedding,) = [span for span in of_recall if span.name.startswith("embeddings")]
    assert embedding.kind == "CLIENT"
    assert (
        embedding.attributes
        | {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "text-embedding-3-small",
            "http.request.method": "POST",
            "http.response.status_code": 200,
            "server.address": "127.0.0.1",
            "server.port": httpx.URL(settings["openai_base_url"]).port,
        }
        == embedding.attributes
    )
    stored = [span for span in collector.spans if span.trace_id == collector.named("POST /store").trace_id]
    assert {"create_memory", "d1.query", "vectorize.upsert"} <= {span.name for span in stored}, "and its delivery"


async def test_a_request_and_its_operation_say_what_was_done_and_nothing_of_what_was_said(tmp_path: Path) -> None:
    with collecting() as collector:
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url) as service:
            await service.store("Ann drinks tea")
            (found,) = await service.recall("Ann's tea")
            await service.delete(found["id"])
            await service.client.delete("/agents/bot", headers=service.credential(admin=True))
            await service.post("/profiles/bot/ingest", {"messages": [{"role": "user", "content": "Bo drinks milk"}]})
            await service.client.get("/nowhere")
    names = [span.name for span in collector.spans if span.kind == "INTERNAL"]
    assert sorted(names) == ["create_memory", "delete_memory", "delete_memory_store", "search_memory", "upsert_memory"]
    assert collector.named("delete_memory").attributes["gen_ai.memory.record.id"] == found["id"]
    assert collector.named("create_memory").attributes["gen_ai.memory.record.id"] == found["id"]
    request = collector.named("POST /recall").attributes
    assert request["http.route"] == "/recall"
    assert (request["http.response.status_code"], request["memory_gateway.tenant"]) == (200, "acme")
    assert (collector.named("GET").attributes["error.type"], collector.named("GET").failed) == ("no_such_path", False)
    sent = b"".join(request.SerializeToString() for request in collector.requests)
    assert not [text for text in (b"Ann", b"tea", b"milk", b"nowhere") if text in sent]
    assert collector.spans[0].service["service.name"] == "memory-gateway"


async def test_an_operation_that_is_refused_fails_by_its_code(tmp_path: Path) -> None:
    with collecting() as collector:
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url, tenant_memories=1) as service:
            await service.store("one")
            await service.post("/store", {"agent_id": "bot", "content": "two"})
    (refused,) = [span for span in collector.spans if span.kind == "INTERNAL" and span.failed]
    assert (refused.name, refused.attributes["error.type"]) == ("create_memory", "quota_exceeded")
    (request,) = [span for span in collector.spans if span.span_id == refused.parent_id]
    assert (request.attributes["error.type"], request.failed) == ("quota_exceeded", False)


async def test_content_is_on_spans_only_where_that_is_set_and_is_cut_off(tmp_path: Path) -> None:
    with collecting() as collector:
        observed: dict[str, Any] = {"otel_instrumentation_genai_capture_message_content": True}
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url, **observed) as service:
            for number in range(RECORDS + 2):
                await service.store(f"tea {number} " + "x" * RECORD_CHARACTERS)
            await recall(service, query="tea " + "y" * 1500)
            assert len(await service.recall("tea", top_k=RECORDS + 2)) > RECORDS
    long, many = [span.attributes for span in collector.spans if span.name == "search_memory"]
    assert len(long["gen_ai.memory.query.text"]) == QUERY_CHARACTERS
    records = json.loads(many["gen_ai.memory.records"])
    assert len(records) == RECORDS
    assert {len(record["content"]) for record in records} == {RECORD_CHARACTERS}
    assert all(0 <= record["score"] <= 1 and record["id"] for record in records)


async def test_a_request_goes_on_its_callers_trace(tmp_path: Path) -> None:
    collector = await traced(tmp_path, {"traceparent": CALLER, "tracestate": "a=1", "baggage": "user=7"})
    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert collector.named("POST /recall").parent_id == CALLER.split("-")[2]


ODD = [
    "",
    "x",
    TRACE,
    CALLER[:-1],
    CALLER + "0",
    CALLER.upper(),
    CALLER + "-more",
    f"ff{CALLER[2:]}",
    CALLER.replace(TRACE, "0" * 32),
    f"00-{TRACE}-{'0' * 16}-01",
    CALLER + "-" + "x" * 5000,
    f"{CALLER}, {CALLER}",
]


@pytest.mark.parametrize("given", ODD)
def test_an_odd_traceparent_is_ignored(exported: tuple[Traces, InMemorySpanExporter], given: str) -> None:
    opener, exporter = exported
    headers = Headers(raw=[(b"traceparent", given.encode()), (b"baggage", b"=,;=" * 3000), (b"tracestate", b"=")])
    with opener.request("GET", headers, RequestNote()):
        pass
    (span,) = exporter.get_finished_spans()
    assert span.parent is None


async def test_an_answer_names_no_trace_of_an_odd_traceparent(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for given in ODD:
            answer = await service.client.get("/usage", headers={"traceparent": given})
            assert "trace_id" not in answer.json(), given


async def test_a_traceparent_that_comes_twice_is_ignored(tmp_path: Path) -> None:
    twice = [("traceparent", CALLER), ("traceparent", CALLER)]
    async with serving(tmp_path) as service:
        assert "trace_id" not in (await service.client.get("/usage", headers=twice)).json()


@pytest.mark.parametrize("given", [CALLER, UNSAMPLED, f"01{CALLER[2:]}-more"])
async def test_without_traces_an_answer_and_the_log_name_the_callers_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    configure_logging("json", "info")
    async with serving(tmp_path) as service:
        problem = assert_problem(
            await service.client.get("/usage", headers={"traceparent": given}), 401, "unauthenticated"
        )
        assert problem["trace_id"] == TRACE
        headers = service.credential() | {"traceparent": given, "X-Agent-Id": "a b", "Accept": "application/json"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call = message | {"params": {"name": "recall_memory", "arguments": {"query": "x"}}}
        result = (await service.client.post("/mcp", json=call, headers=headers)).json()["result"]
        assert (result["isError"], result["_meta"]["trace_id"]) == (True, TRACE)
        listed = message | {"method": "tools/list", "params": {}}
        for sent in (headers, {**headers, "Authorization": "Bearer x"}):
            answer = await service.client.post("/mcp", json=listed, headers=sent)
            assert answer.json()["error"]["data"]["trace_id"] == TRACE
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {line.get("trace_id") for line in lines if line["event"] == "request"} == {TRACE}


async def test_with_traces_an_answer_and_the_log_name_the_services_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("json", "info")
    with collecting() as collector:
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url) as service:
            problem = assert_problem(await service.client.get("/usage"), 401, "unauthenticated")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (line,) = [line for line in lines if line["event"] == "request"]
    assert line["trace_id"] == problem["trace_id"] == collector.named("GET /usage").trace_id


@pytest.mark.parametrize(
    ("sampler", "rate", "caller", "spans"),
    [
        ("parentbased_always_on", None, None, 2),
        ("parentbased_always_on", None, UNSAMPLED, 0),
        ("parentbased_traceidratio", 0.0, None, 0),
        ("parentbased_traceidratio", 0.0, CALLER, 2),
        ("traceidratio", 0.0, CALLER, 0),
        ("always_off", None, CALLER, 0),
        ("always_on", None, UNSAMPLED, 2),
    ],
)
async def test_what_is_traced_is_set_by_the_samplers_of_opentelemetry(
    tmp_path: Path, sampler: str, rate: float | None, caller: str | None, spans: int
) -> None:
    settings = {"otel_traces_sampler": sampler, "otel_traces_sampler_arg": rate}
    collector = await traced(tmp_path, None if caller is None else {"traceparent": caller}, **settings)
    assert len(collector.spans) == spans


@pytest.mark.parametrize(
    ("content", "told"), [(False, "/v1/traces."), (True, "/v1/traces, with queries and memories.")]
)
def test_the_start_tells_where_traces_are_sent_and_whether_with_content(
    tmp_path: Path, told: str, *, content: bool
) -> None:
    observed: dict[str, Any] = {"otel_instrumentation_genai_capture_message_content": content}
    given = settings_for(tmp_path, otel_exporter_otlp_endpoint="http://c:4318", **observed)
    assert notices(given)[-1] == f"OTEL_EXPORTER_OTLP_ENDPOINT is set: traces are sent to http://c:4318{told}"
    assert not any("traces" in notice for notice in notices(settings_for(tmp_path)))


async def test_nothing_is_traced_where_the_sdk_is_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with collecting() as collector:
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url) as service:
            assert (await recall(service, {"traceparent": CALLER})).status_code == 200
            problem = (await service.client.get("/usage", headers={"traceparent": CALLER})).json()
    assert (collector.spans, problem["trace_id"]) == ([], TRACE)


async def test_headers_for_the_collector_and_a_path_of_its_own_are_kept(tmp_path: Path) -> None:
    with collecting() as collector:
        settings = settings_for(tmp_path, otel_exporter_otlp_headers="api-key=a%20b, x=1")
        assert settings.traces_url is None
        assert (
            settings_for(tmp_path, otel_exporter_otlp_endpoint="http://c:1/x/").traces_url == "http://c:1/x/v1/traces"
        )
        assert settings_for(tmp_path, otel_exporter_otlp_traces_endpoint="http://c:1/x").traces_url == "http://c:1/x"
        observed: dict[str, Any] = {"otel_exporter_otlp_headers": "api-key=a%20b, x=1", "otel_service_name": "ours"}
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url, **observed) as service:
            await recall(service)
    assert (collector.headers[0]["api-key"], collector.headers[0]["x"]) == ("a b", "1")
    assert collector.spans[0].service["service.name"] == "ours"


@pytest.mark.parametrize("manner", ["refuses", "hangs"])
async def test_a_collector_that_takes_nothing_is_one_line_and_keeps_nobody_waiting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, manner: Any
) -> None:
    configure_logging("json", "info")
    monkeypatch.setattr(trace_export, "CLOSE_SECONDS", 0.2)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    with collecting(manner) as collector:
        async with serving(tmp_path, otel_exporter_otlp_endpoint=collector.url) as service:
            for _ in range(20):
                assert (await recall(service)).status_code == 200
            while len(collector.headers) < (1 if manner == "hangs" else 3):
                await asyncio.sleep(0.01)
            shown = (await service.client.get("/metrics")).text
        assert not collector.let_go.is_set(), "the service has ended while the collector hangs"
    lines = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert lines.count("traces_lost") == (0 if manner == "hangs" else 1)
    assert not [event for event in lines if "export" in event.lower() or "queue" in event.lower()]
    assert 'memory_gateway_spans_total{outcome="ended"}' in shown
    assert ('memory_gateway_spans_total{outcome="lost"}' in shown) is (manner == "refuses")


async def test_a_collector_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logging("json", "info")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    with collecting() as collector:
        gone = collector.url
    async with serving(tmp_path, otel_exporter_otlp_endpoint=gone) as service:
        told = ""
        while told.count('outcome="lost"') == 0:
            await recall(service)
            told = service.runtime.metrics.render().decode()
        await recall(service)
    lines = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert lines.count("traces_lost") == 1


def test_without_the_extra_the_start_says_which_one_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.bootstrap.observing import open_traces  # noqa: PLC0415 - the module under test is loaded anew here

    monkeypatch.delitem(sys.modules, "app.observability.trace_export", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    settings = settings_for(tmp_path, otel_exporter_otlp_endpoint="http://127.0.0.1:4318")
    with pytest.raises(ConfigurationError, match=r"memory-gateway\[traces\]"):
        open_traces(settings, Metrics(), "process")
    assert open_traces(settings_for(tmp_path), Metrics(), "process") is None


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://api.openai.com/v1", False),
        ("https://api.cloudflare.com/client/v4", False),
        ("https://gateway.ai.cloudflare.com/v1/x", False),
        ("https://edge.acme.workers.dev", True),
        ("http://models.internal:8080/v1", True),
        ("https://notopenai.com", True),
    ],
)
async def test_services_of_ones_own_are_told_the_trace_and_others_are_not(
    exported: tuple[Traces, InMemorySpanExporter], url: str, *, told: bool
) -> None:
    opener, exporter = exported
    metrics = Metrics()
    metrics.upstream.traces = opener
    upstream = Upstream("It", base_url=url, headers={}, seconds=1, metrics=metrics)
    call = Call("it.asked", "GET", "/x")
    headers = Headers(raw=[(b"traceparent", CALLER.encode()), (b"baggage", b"user=7")])
    with respx.mock(base_url=url) as mocked, opener.request("POST", headers, RequestNote()):
        route = mocked.get("/x").respond(503)
        with upstream.measured(call):
            await upstream.send(call)
    await upstream.close()
    sent = route.calls.last.request.headers
    called, _ = exporter.get_finished_spans()
    assert called.attributes is not None
    assert called.attributes["http.response.status_code"] == 503
    assert called.context is not None
    if told:
        assert sent["traceparent"] == f"00-{TRACE}-{called.context.span_id:016x}-01"
        assert sent["baggage"] == "user=7"
    else:
        assert not {"traceparent", "tracestate", "baggage"} & set(sent)


async def test_a_call_that_requests_share_is_in_the_trace_of_one_and_linked_to_the_others(
    exported: tuple[Traces, InMemorySpanExporter],
) -> None:
    opener, exporter = exported

    async def answer(requests: Any) -> Any:
        with opener.call("it.asked", {}):
            await asyncio.sleep(0)
        return requests

    gatherer = Gatherer[int, int](answer, parts=of_one_part(lambda _: Size(1, 1)), most=Size(9, 9), refused=())

    async def ask(number: int) -> None:
        with opener.operation(MemoryOperation("search_memory", "acme", str(number))):
            await gatherer.ask(number, "acme")

    await asyncio.gather(ask(1), ask(2))
    (call,) = [span for span in exporter.get_finished_spans() if span.name == "it.asked"]
    first, second = sorted(
        (span for span in exporter.get_finished_spans() if span.name == "search_memory"),
        key=lambda span: str((span.attributes or {})["gen_ai.memory.store.id"]),
    )
    assert call.parent is not None
    assert first.context is not None
    assert second.context is not None
    assert call.parent.span_id == first.context.span_id
    assert [link.context.span_id for link in call.links] == [second.context.span_id]


def test_work_that_no_request_makes_and_work_that_outlives_one_for_long_has_no_spans(
    exported: tuple[Traces, InMemorySpanExporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    opener, exporter = exported
    with opener.call("of.nobody", {}):
        pass
    with opener.request("POST", Headers(), RequestNote()) as request:
        pass
    with trace.use_span(request):
        with opener.call("soon.after", {}):
            pass
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now + 61_000_000_000)
        with opener.call("long.after", {}):
            pass
    assert [span.name for span in exporter.get_finished_spans()] == ["POST", "soon.after"]
