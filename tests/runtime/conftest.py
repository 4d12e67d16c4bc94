"""A service on Cloudflare's double whose calls can be counted."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memory_gateway_double.server import Handle
from tests.support.backends import Backend, running_on
from tests.support.service import Service, serving


@pytest.fixture
def account() -> Iterator[Backend]:
    with running_on("cloudflare") as backend:
        yield backend


@pytest.fixture
async def service(tmp_path: Path, account: Backend) -> AsyncIterator[Service]:
    """With embeddings from OpenAI, so that every call can be counted."""
    account.settings(tmp_path)
    index = "lt-memory-openai-text-embedding-3-small-256"
    account.doubles[tmp_path].double.create_index(
        index, 256, {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
    )
    async with serving(tmp_path, on=account, embedder="openai", embedding_dimensions=256) as service:
        while (await service.runtime.outbox_status()).lease_holder is None:  # its next round is 15 seconds away
            await asyncio.sleep(0.01)
        yield service


@pytest.fixture
def double(service: Service, account: Backend, tmp_path: Path) -> Handle:
    """The account behind the service, with nothing counted yet."""
    del service
    handle = account.doubles[tmp_path]
    handle.double.reset_calls()
    return handle
