"""What the first request of a process finds done."""

import sys
from types import FrameType

import httpx

from app.interfaces.asgi import create_app
from tests.support.service import Service

_MORE = 3
"""How many times the calls of a later request the first one may take: it fills some caches."""


async def test_the_first_request_builds_no_routes(service: Service) -> None:
    app = create_app(service.shards)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        first, later = [await _calls(client, "/no/such/page") for _ in range(2)]
        assert first < _MORE * later


async def _calls(client: httpx.AsyncClient, path: str) -> int:
    """Return how many calls of Python functions a request takes, which a busy machine does not change."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        answer = await client.get(path)
    finally:
        sys.setprofile(None)
    assert answer.status_code == 404
    return calls
