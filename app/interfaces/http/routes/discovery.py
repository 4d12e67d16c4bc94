"""The public discovery documents: ``llms.txt`` and the metadata of the protected resource.

All of it is public and the same for everyone: it asks for no credential, shows none, and holds nothing of a tenant.

Its URLs begin with the public URL that the settings name. Without one they begin with the base URL of the request: the
scheme it came by, its Host header and the path the service is served under (``root_path``). Behind a proxy they are
right where the proxy passes the Host header on, sends ``X-Forwarded-Proto`` from an address that
``FORWARDED_ALLOW_IPS`` names (127.0.0.1 by default) and, under a path, leads that host's own ``/.well-known/`` here
too: well-known paths count from the root of a host. A Host header is its sender's word; what is made with it goes to
that sender alone, unless a cache in front keeps answers without the host. So the issuer of tokens is named beside a
public URL alone.
"""

import re
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from app.domain.errors import FieldError, InvalidRequest
from app.domain.json_types import to_json
from app.interfaces.http import llms
from app.interfaces.http.dependencies import shards_of
from app.interfaces.http.pages import Pages, StaticPage
from app.services.access.credentials import SCOPES
from app.services.access.delegation import Delegation

_METHODS = ["GET", "HEAD", "OPTIONS"]
_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "Content-Type, If-None-Match",
    "Access-Control-Expose-Headers": "ETag",
    "Cache-Control": "public, max-age=3600",
    "Vary": "Host, X-Forwarded-Proto",
}
# Starlette takes more: characters that mean something to a shell, and the service shows commands to paste.
_HOST = re.compile(r"(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)

discovery = APIRouter(include_in_schema=False)


@discovery.api_route("/llms.txt", methods=_METHODS)
async def llms_txt(request: Request) -> Response:
    """Describe the service to a language model (https://llmstxt.org)."""
    base = _base(request)
    issuer = _delegation(request).issuer
    return await _answer(request, base, lambda: llms.text(base, issuer), "text/plain; charset=utf-8")


@discovery.api_route("/.well-known/oauth-protected-resource", methods=_METHODS)
async def protected_resource(request: Request) -> Response:
    """Return the metadata of the protected resource: how a request carries its credential (RFC 9728)."""
    return await _protected_resource(request, "")


@discovery.api_route("/.well-known/oauth-protected-resource/mcp", methods=_METHODS)
async def protected_mcp(request: Request) -> Response:
    """Return the metadata of ``/mcp``, at the path where MCP clients look for it."""
    return await _protected_resource(request, "/mcp")


async def _protected_resource(request: Request, path: str) -> Response:
    base, delegation = _base(request), _delegation(request)
    issued: dict[str, Any] = {"scopes_supported": list(SCOPES)}  # by the operator, and llms.txt says how
    if delegation.issuer is not None:
        issued = {"authorization_servers": [delegation.issuer]}
        if delegation.words:  # those of an administrator are asked for once a request needs them
            issued["scopes_supported"] = delegation.usual
    metadata = {
        "resource": f"{base}{path}",
        **issued,
        "bearer_methods_supported": ["header"],
        "resource_name": request.app.title,
        "resource_documentation": f"{base}/llms.txt",
    }
    return await _answer(request, base, lambda: to_json(metadata), "application/json")


async def _answer(request: Request, base: str, make: Callable[[], str], media_type: str) -> Response:
    """Answer a page of any origin, and without the content where the caller has it already."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=_HEADERS)
    key = f"{request.scope['path']} {base}"
    pages: Pages = request.app.state.pages_by_host
    page = await pages.get(key, lambda: StaticPage.of(make().encode(), media_type, _HEADERS))
    return page.answer(request)


def _base(request: Request) -> str:
    """Return the public URL of the service or, without one, the URL that it is asked under; no slash at the end.

    Raises:
        InvalidRequest: there is no Host header, or one that no service has.
    """
    public_url = _delegation(request).public_url
    if public_url is not None:
        return public_url
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host) or request.base_url.netloc != host:
        raise InvalidRequest("The Host header does not name a host.", errors=[FieldError("Host", "must name a host")])
    return str(request.base_url).rstrip("/")


def _delegation(request: Request) -> Delegation:
    return shards_of(request).main.backends.delegation
