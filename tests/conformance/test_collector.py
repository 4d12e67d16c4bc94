"""A collector that was not written here takes the traces of the service, and passes them on whole."""

import asyncio
from pathlib import Path

import pytest

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.domain.embedding import EmbeddingConfig
from tests.conformance import rotel
from tests.support.backends import running_on
from tests.support.collector import collecting
from tests.support.service import serving


@pytest.mark.skipif(not rotel.BINARY.exists(), reason="rotel is not installed")
async def test_a_recall_on_cloudflare_comes_through_rotel_as_the_tree_that_it_is(tmp_path: Path) -> None:
    with running_on("cloudflare") as account, collecting() as behind, rotel.passing_on(behind.url, tmp_path) as url:
        account.settings(tmp_path)
        config = EmbeddingConfig("openai", "text-embedding-3-small", 1536)
        account.doubles[tmp_path].double.create_index(config.index_name, config.dimensions, SCOPE_TYPES)
        async with serving(tmp_path, on=account, embedder="openai", otel_exporter_otlp_endpoint=url) as service:
            await service.store("Ann drinks tea")
            await service.recall("What does Ann drink?")
        async with asyncio.timeout(20):
            while not [span for span in behind.spans if span.name == "POST /recall"]:
                await asyncio.sleep(0.05)
        request, search = behind.named("POST /recall"), behind.named("search_memory")
        assert search.parent_id == request.span_id
        calls = {span.name: span for span in behind.spans if span.parent_id == search.span_id}
        assert set(calls) == {"embeddings text-embedding-3-small", "vectorize.query", "d1.query"}
        assert {(span.kind, span.trace_id) for span in calls.values()} == {("CLIENT", request.trace_id)}
        assert search.attributes["gen_ai.operation.name"] == "search_memory"
        assert request.service["service.name"] == "memory-gateway"
