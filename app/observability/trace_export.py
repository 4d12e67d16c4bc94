"""Exports spans over OTLP by OpenTelemetry's SDK, which the extra ``traces`` installs (ADR 0078)."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from prometheus_client import CollectorRegistry, Counter

from app.observability.traces import SCHEMA_URL, Traces
from app.settings import Settings

NAME = "memory-gateway"
CLOSE_SECONDS = 3.0
"""How long the end of the process waits until the collector has taken the last spans."""


class TraceExport:
    """The export of one process's spans: in batches, by a thread, from a queue whose length is bounded."""

    def __init__(self, settings: Settings, registry: CollectorRegistry, *, process: str, version: str) -> None:
        """Begin to export to the collector of the settings; ``process`` is the name of this process.

        The SDK itself reads OpenTelemetry's other variables (docs/operations.md).
        """
        # The SDK logs each batch that is lost; here one line says it, and a metric counts.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        counter = span_counter(registry)
        self._provider = TracerProvider(
            sampler=_sampler(settings), resource=_resource(settings, process, version), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=settings.traces_url, headers=settings.trace_headers)
        self._provider.add_span_processor(_EndedSpans(counter))
        self._provider.add_span_processor(BatchSpanProcessor(WatchedExporter(exporter, counter)))
        tracer = self._provider.get_tracer(NAME, version, schema_url=SCHEMA_URL)
        self.traces = Traces(tracer, content=settings.otel_instrumentation_genai_capture_message_content)

    async def close(self) -> None:
        """Export what is left, for as long as the end may wait; no thread of the export keeps the process alive."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop has ended without waiting
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, name="traces", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await done.wait()


def span_counter(registry: CollectorRegistry) -> Counter:
    """Create the counter of spans, by outcome."""
    return Counter(
        "memory_gateway_spans",
        "Spans by what became of them: ended, and exported, or lost since the collector did not take them. What "
        "has ended and is neither waits, or found the queue full.",
        ["outcome"],
        registry=registry,
    )


class WatchedExporter(SpanExporter):
    """An exporter that counts spans, and logs when the collector stops taking them and when it takes them again."""

    def __init__(self, exporter: SpanExporter, counter: Counter) -> None:
        """Wrap an exporter; the counter is by outcome."""
        self._exporter = exporter
        self._counter = counter
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch."""
        result = self._exporter.export(spans)
        away = result is not SpanExportResult.SUCCESS
        self._counter.labels("lost" if away else "exported").inc(len(spans))
        if away and not self._away:
            structlog.get_logger().warning("traces_lost", reason="The collector of traces does not take spans.")
        elif self._away and not away:
            structlog.get_logger().info("traces_taken_again")
        self._away = away
        return result

    def shutdown(self) -> None:
        """End."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export what the exporter holds."""
        return self._exporter.force_flush(timeout_millis)


class _EndedSpans(SpanProcessor):
    """Counts spans that are to be exported."""

    def __init__(self, counter: Counter) -> None:
        self._ended = counter.labels("ended")

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self._ended.inc()


def _resource(settings: Settings, process: str, version: str) -> Resource:
    read = Resource.create({"service.version": version, "service.instance.id": process})
    named = settings.otel_service_name or str(read.attributes["service.name"])
    return read.merge(Resource({"service.name": NAME if named.startswith("unknown_service") else named}))


def _sampler(settings: Settings) -> sampling.Sampler:
    rate = 1.0 if settings.otel_traces_sampler_arg is None else settings.otel_traces_sampler_arg
    roots: dict[str, sampling.Sampler] = {
        "always_on": sampling.ALWAYS_ON,
        "always_off": sampling.ALWAYS_OFF,
        "traceidratio": sampling.TraceIdRatioBased(rate),
    }
    root = roots[settings.otel_traces_sampler.removeprefix("parentbased_")]
    return sampling.ParentBased(root) if settings.otel_traces_sampler.startswith("parentbased_") else root
