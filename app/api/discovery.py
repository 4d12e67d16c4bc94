"""What a machine finds out about the service before it has a credential: ``llms.txt`` and the well-known documents.

All of it is public and the same for everyone: it asks for no credential, shows none, and holds nothing of a tenant.

Its URLs begin with the base URL of the request: the scheme it came by, its Host header and the path the service is
served under (``root_path``). Behind a proxy they are right where the proxy passes the Host header on, sends
``X-Forwarded-Proto`` from an address that ``FORWARDED_ALLOW_IPS`` names (127.0.0.1 by default) and, under a path,
leads that host's own ``/.well-known/`` here too: well-known paths count from the root of a host. A Host header is its
sender's word; what is made with it goes to that sender alone, unless a cache in front keeps answers without the host.
"""

import hashlib
import re
from ipaddress import ip_address
from typing import Any

from fastapi import APIRouter, Request, Response

from app.api import llms
from app.auth import SCOPES
from app.errors import FieldError, InvalidRequest
from app.model import Json, to_json

_SERVER_CARD = "application/mcp-server-card+json"
_LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
_SERVER_NAME = "memory-gateway"
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
    return _answer(request, llms.text(_base(request)), "text/plain; charset=utf-8")


@discovery.api_route("/.well-known/api-catalog", methods=_METHODS)
async def api_catalog(request: Request) -> Response:
    """List the service's two interfaces and what describes them (RFC 9727, RFC 8631)."""
    base = _base(request)
    doc = [_link(f"{base}/docs", "text/html"), _link(f"{base}/llms.txt", "text/plain")]
    status = [_link(f"{base}/readyz", "application/json")]
    http = [_link(f"{base}/openapi.json", "application/json")]
    mcp = [_link(f"{base}/mcp/server-card", _SERVER_CARD)]
    linkset: list[Json] = [
        {"anchor": anchor, "service-desc": desc, "service-doc": doc, "status": status}
        for anchor, desc in ((base, http), (f"{base}/mcp", mcp))
    ]
    return _answer(request, to_json({"linkset": linkset}), _LINKSET)


@discovery.api_route("/.well-known/oauth-protected-resource", methods=_METHODS)
async def protected_resource(request: Request) -> Response:
    """Tell how a request shows its credential (RFC 9728)."""
    return _protected_resource(request, "")


@discovery.api_route("/.well-known/oauth-protected-resource/mcp", methods=_METHODS)
async def protected_mcp(request: Request) -> Response:
    """Tell the same of ``/mcp``, where the clients of MCP look for it."""
    return _protected_resource(request, "/mcp")


@discovery.api_route("/.well-known/ai-catalog.json", methods=_METHODS)
async def ai_catalog(request: Request) -> Response:
    """Name the MCP server that this host has, and where its card is."""
    identifier = f"urn:air:{_domain(request)}:mcp:{_SERVER_NAME}"
    entry = {"identifier": identifier, "type": _SERVER_CARD, "url": f"{_base(request)}/mcp/server-card"}
    return _answer(request, to_json({"specVersion": "1.0", "entries": [entry]}), "application/ai-catalog+json")


@discovery.api_route("/mcp/server-card", methods=_METHODS)
async def server_card(request: Request) -> Response:
    """Tell how to connect to the MCP server (SEP-2127): what it offers, it tells itself."""
    base = _base(request)
    credential = {"description": "A credential that the operator of the service has minted.", "isSecret": True}
    header: dict[str, Any] = {
        "name": "Authorization",
        "value": "Bearer {credential}",
        "variables": {"credential": {**credential, "isRequired": True}},
        "isRequired": True,
        "isSecret": True,
    }
    card = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": f"{'.'.join(reversed(_domain(request).split('.')))}/{_SERVER_NAME}",
        "title": request.app.title,
        "description": "Long-term memory for AI agents: store what was learned, recall it by words and meaning.",
        "version": request.app.version,
        "websiteUrl": f"{base}/docs",
        "remotes": [{"type": "streamable-http", "url": f"{base}/mcp", "headers": [header]}],
    }
    return _answer(request, to_json(card), _SERVER_CARD)


def _protected_resource(request: Request, path: str) -> Response:
    base = _base(request)
    # No authorization_servers: credentials come from the operator, and llms.txt says how.
    metadata = {
        "resource": f"{base}{path}",
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": request.app.title,
        "resource_documentation": f"{base}/llms.txt",
    }
    return _answer(request, to_json(metadata), "application/json")


def _answer(request: Request, content: str, media_type: str) -> Response:
    """Answer a page of any origin, and without the content where the caller has it already."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=_HEADERS)
    etag = f'"{hashlib.sha256(content.encode()).hexdigest()}"'
    link = f'<{_base(request)}/.well-known/api-catalog>; rel="api-catalog"'
    headers = {**_HEADERS, "ETag": etag, "Link": link}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if known & {etag, "*"}:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def _base(request: Request) -> str:
    """Return the URL that the service is asked under, without a slash at its end.

    Raises:
        InvalidRequest: there is no Host header, or one that no service has.
    """
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host) or request.base_url.netloc != host:
        raise InvalidRequest("The Host header does not name a host.", errors=[FieldError("Host", "must name a host")])
    return str(request.base_url).rstrip("/")


def _domain(request: Request) -> str:
    """Return the domain of the host; of an address the one that stands for it in the DNS."""
    host = request.base_url.hostname or ""
    try:
        return ip_address(host).reverse_pointer
    except ValueError:
        return host.strip(".").replace("_", "-")


def _link(href: str, media_type: str) -> dict[str, str]:
    return {"href": href, "type": media_type}
