"""Finds and deletes the account's Workers, and reads what is bound to them. wrangler uploads them.

https://developers.cloudflare.com/api/resources/workers/subresources/scripts/
"""

from typing import Any

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.errors import MemoryGatewayError, NotFound, UpstreamRejected

_SCRIPTS = "/workers/scripts"
_NOT_FOUND = 404


class WorkerScripts:
    """The part of the control plane of Workers that a deployment needs."""

    def __init__(self, client: CloudflareClient) -> None:
        """Use a client that the caller closes."""
        self._client = client

    async def bindings(self, name: str) -> list[dict[str, Any]] | None:
        """Return what is bound to a Worker, also the names of its secrets; None where there is no such Worker."""
        scripts = _objects(await self._call(Call("workers.list", "GET", _SCRIPTS)))
        if all(script.get("id") != name for script in scripts):
            return None
        settings = await self._call(Call("workers.settings", "GET", f"{_SCRIPTS}/{name}/settings"))
        return _objects(settings.get("bindings") if isinstance(settings, dict) else None)

    async def subdomain(self) -> str | None:
        """Return the account's subdomain of workers.dev; None where it has none."""
        try:
            result = await self._call(Call("workers.subdomain", "GET", "/workers/subdomain"))
        except NotFound:
            return None
        subdomain = result.get("subdomain") if isinstance(result, dict) else None
        return str(subdomain) if subdomain else None

    async def delete(self, name: str) -> None:
        """Delete a Worker with its secrets; one that is gone already is no error."""
        try:
            await self._call(Call("workers.delete", "DELETE", f"{_SCRIPTS}/{name}", query={"force": "true"}))
        except NotFound:
            return

    async def _call(self, call: Call) -> Any:  # noqa: ANN401 - as JSON has it
        return (await self._client.call(call, _meaning)).result


def _meaning(refusal: Refusal) -> MemoryGatewayError | None:
    return NotFound("There is no such Worker.") if refusal.status == _NOT_FOUND else None


def _objects(result: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as JSON has it
    found = [] if result is None else result
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UpstreamRejected("Cloudflare answered a list in another form.")
    return found
