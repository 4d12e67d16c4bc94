"""Finds, creates and deletes the account's R2 buckets.

https://developers.cloudflare.com/api/resources/r2/subresources/buckets/
"""

from collections.abc import Mapping
from typing import Any

import orjson

from app.adapters.cloudflare.account import Placement
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.errors import ConfigurationError, MemoryGatewayError, UpstreamRejected

_BUCKETS = "/r2/buckets"
_NOT_ENABLED = 10042


class Buckets:
    """The part of R2's control plane that a deployment needs. A jurisdiction has buckets of its own."""

    def __init__(self, client: CloudflareClient) -> None:
        """Use a client that the caller closes."""
        self._client = client

    async def exists(self, name: str, jurisdiction: str | None) -> bool:
        """Return whether there is a bucket of exactly this name.

        Raises:
            ConfigurationError: the account has not enabled R2.
        """
        query = {"name_contains": name, "per_page": "1000"}
        result = await self._call(Call("r2.list", "GET", _BUCKETS, query=query, headers=_headers(jurisdiction)))
        buckets = result.get("buckets") if isinstance(result, dict) else None
        if not isinstance(buckets, list) or not all(isinstance(bucket, dict) for bucket in buckets):
            raise UpstreamRejected("Cloudflare answered the list of buckets in another form.")
        return any(bucket.get("name") == name for bucket in buckets)

    async def create(self, name: str, placement: Placement) -> None:
        """Create a bucket."""
        body = {"name": name}
        if placement.location_hint and not placement.jurisdiction:
            body["locationHint"] = placement.location_hint
        headers = _headers(placement.jurisdiction)
        await self._call(Call("r2.create", "POST", _BUCKETS, orjson.dumps(body), headers=headers))

    async def delete(self, name: str, jurisdiction: str | None) -> None:
        """Delete a bucket, which has to be empty."""
        await self._call(Call("r2.delete", "DELETE", f"{_BUCKETS}/{name}", headers=_headers(jurisdiction)))

    async def is_empty(self, name: str, jurisdiction: str | None) -> bool:
        """Return whether a bucket holds no object."""
        path = f"{_BUCKETS}/{name}/objects"
        found = await self._call(
            Call("r2.objects", "GET", path, query={"per_page": "1"}, headers=_headers(jurisdiction))
        )
        return not found

    async def _call(self, call: Call) -> Any:  # noqa: ANN401 - as JSON has it
        return (await self._client.call(call, _meaning)).result


def _headers(jurisdiction: str | None) -> Mapping[str, str] | None:
    return {"cf-r2-jurisdiction": jurisdiction} if jurisdiction else None


def _meaning(refusal: Refusal) -> MemoryGatewayError | None:
    if refusal.code != _NOT_ENABLED:
        return None
    return ConfigurationError("The account has not enabled R2.")
