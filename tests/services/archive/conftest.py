from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on, indexer_of
from tests.support.objects import WatchedObjects


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        bench.backends = replace(bench.backends, objects=WatchedObjects(bench.backends.objects))
        bench.indexer = indexer_of(bench.database, bench.backends)
        yield bench
