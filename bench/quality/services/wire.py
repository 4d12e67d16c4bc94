"""One request to a service, sent again while the service says it is busy."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from bench.quality.service import ServiceFailed

_BUSY = frozenset({429, 503})
_ATTEMPTS = 6
_WAIT_SECONDS, _MAX_WAIT = 1.0, 60.0


async def post(client: httpx.AsyncClient, path: str, body: object, headers: Mapping[str, str]) -> dict[str, Any]:
    """Send JSON and return the JSON object of the answer; a busy service is asked up to six times.

    Raises:
        ServiceFailed: it cannot be reached, stays busy, or answers with no success or no object.
    """
    return await _sent(client, client.build_request("POST", path, json=body, headers=headers))


async def get(client: httpx.AsyncClient, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Read a JSON object; raises as ``post`` does."""
    return await _sent(client, client.build_request("GET", path, headers=headers))


async def _sent(client: httpx.AsyncClient, request: httpx.Request) -> dict[str, Any]:
    what = f"{request.method} {request.url.path}"
    for left in reversed(range(_ATTEMPTS)):
        try:
            answer = await client.send(request)
        except httpx.TransportError as error:
            raise ServiceFailed(f"{what}: {error!r}") from error
        if answer.status_code not in _BUSY or not left:
            return _object(what, answer)
        await asyncio.sleep(_pause(answer))
    raise AssertionError  # the last attempt returns


def _object(what: str, answer: httpx.Response) -> dict[str, Any]:
    if not answer.is_success:
        raise ServiceFailed(f"{what}: {answer.status_code} {answer.text[:500]}")
    try:
        read = answer.json()
    except ValueError as error:
        raise ServiceFailed(f"{what}: the answer is not JSON") from error
    if not isinstance(read, dict):
        raise ServiceFailed(f"{what}: the answer is not an object")
    return read


def _pause(answer: httpx.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return min(float(told), _MAX_WAIT) if told.isdigit() else _WAIT_SECONDS
