"""The OpenAPI document and its page, with every asset served from here."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRouter
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from app.domain.errors import InvalidRequest, NotFound
from app.interfaces.http import which_call
from app.interfaces.http.pages import Pages, StaticPage
from app.interfaces.http.problems import MEDIA_TYPE, Problem, ProblemField, example
from app.interfaces.http.schemas.agent_memory import AgentMemoryIngestRequest, AgentMemoryMessage
from app.interfaces.http.schemas.ingest import IngestMessage, IngestRequest
from app.interfaces.version import installed_version

_DESCRIBED = (Problem, ProblemField, IngestRequest, IngestMessage, AgentMemoryIngestRequest, AgentMemoryMessage)
"""What no route names as its schema."""
_ASSETS = "/docs/assets"
_ASSET_TYPES = {
    "favicon-32x32.png": "image/png",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
}
_CACHED = "public, no-cache"
"""Kept by who asks, and asked for again by its entity tag: it changes with the version."""
_SERVERS = [{"url": "/", "description": "The host that this document came from."}]
router = APIRouter(include_in_schema=False)


@router.get("/")
async def root(request: Request) -> RedirectResponse:
    """Lead a browser to the documentation."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/docs")


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Show the OpenAPI document as a page to read and try."""
    root = _root(request)
    page = await pages_of(request).get(f"/docs {root}", lambda: _docs(root))
    return page.answer(request)


def _docs(root: str) -> StaticPage:
    page = get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Memory Gateway",
        swagger_js_url=f"{root}{_ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{root}{_ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{root}{_ASSETS}/favicon-32x32.png",
        swagger_ui_parameters={"tryItOutEnabled": True},
    )
    content = bytes(page.body)
    headers = {
        "Cache-Control": _CACHED,
        "Content-Security-Policy": _policy(content.decode()),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return StaticPage.of(content, "text/html; charset=utf-8", headers)


@router.api_route("/openapi.json", methods=["GET", "HEAD"])
async def openapi_document(request: Request) -> Response:
    """Return the OpenAPI document."""
    root, document = _root(request), request.app.openapi
    page = await pages_of(request).get(f"/openapi.json {root}", lambda: _document(document(), root))
    return page.answer(request)


@router.api_route(f"{_ASSETS}/{{name}}", methods=["GET", "HEAD"])
async def asset(request: Request, name: Annotated[str, Path()]) -> Response:
    """Return what the page loads."""
    if name not in _ASSET_TYPES:
        raise NotFound("There is no such file.")
    page = await pages_of(request).get(f"{_ASSETS}/{name}", lambda: _asset(name))
    return page.answer(request)


def _document(document: dict[str, Any], root: str) -> StaticPage:
    if root:  # the service is served below a path: a client that is not a page knows it by this
        document = {**document, "servers": [{"url": root}, *document.get("servers", [])]}
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return StaticPage.of(content, "application/json", {"Cache-Control": _CACHED})


def _asset(name: str) -> StaticPage:
    content = (files("fastapi_swagger") / "resources" / name).read_bytes()
    return StaticPage.of(content, _ASSET_TYPES[name], {"Cache-Control": _CACHED, "X-Content-Type-Options": "nosniff"})


def pages_of(request: Request) -> Pages:
    """Return the pages of the application that a request has reached."""
    pages: Pages = request.app.state.pages
    return pages


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")


def _policy(page: str) -> str:
    """Let the page load what is served from here and run the script that it holds, by its hash; nobody may frame it."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    sources = f"script-src 'self' {' '.join(hashes)}; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
    elsewhere = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return f"default-src 'none'; connect-src 'self'; {sources}; {elsewhere}"


def install(app: FastAPI, document: Callable[[], dict[str, Any]]) -> None:
    """Serve the page, its assets and the OpenAPI document that the function makes when it is first asked for."""
    app.state.pages, app.state.pages_by_host = Pages(), Pages()
    app.router.routes.extend(router.routes)
    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way


def openapi(title: str, description: str, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes, which describes problems too."""
    document = get_openapi(
        title=title,
        version=installed_version(),
        description=description,
        routes=routes,
        servers=_SERVERS,
        tags=which_call.tags(),
    )
    for operation in _operations(document):
        _leave_out_unused(operation)
        _summarize(operation)
        _prefer_written_out(operation)
        _mark_old_parameters(operation)
        _share_examples(operation, document["components"].setdefault("examples", {}))
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for model in _DESCRIBED:
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        schemas[model.__name__] = schema
    schemas[Problem.__name__]["examples"] = [example(InvalidRequest)]
    return {**document, **{part: _with_widths(document[part]) for part in ("paths", "components")}}


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def _leave_out_unused(operation: dict[str, Any]) -> None:
    """Leave out the refusal that FastAPI adds: every route says itself how it refuses a wrong field."""
    if operation["responses"].get("422", {}).get("description") == "Validation Error":
        del operation["responses"]["422"]


def _summarize(operation: dict[str, Any]) -> None:
    """Set the summary to the first sentence of the description, instead of the route's name."""
    operation["summary"] = re.split(r"\.(?=\s|$)", operation["description"], maxsplit=1)[0]


def _prefer_written_out(operation: dict[str, Any]) -> None:
    """Replace parameters that FastAPI describes by those that a route describes by hand."""
    if "parameters" in operation:
        by_name = {(each["in"], each["name"]): each for each in operation["parameters"]}
        operation["parameters"] = list(by_name.values())


def _mark_old_parameters(operation: dict[str, Any]) -> None:
    """Mark a parameter as deprecated whose field is: FastAPI leaves the mark in the schema."""
    for parameter in operation.get("parameters", []):
        if parameter.get("schema", {}).pop("deprecated", False):
            parameter["deprecated"] = True


def _share_examples(operation: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the examples of problems to the components, because many routes share them."""
    for answer in operation["responses"].values():
        examples = answer.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})
        for code in examples:
            shared[code] = examples[code]
            examples[code] = {"$ref": f"#/components/examples/{code}"}


def _with_widths(part: Any) -> Any:  # noqa: ANN401 - any part of the document
    """Name the width of every integer without bounds, such as a count of bytes: typed clients would take 32 bits."""
    if isinstance(part, list):
        return [_with_widths(each) for each in part]
    if not isinstance(part, dict):
        return part
    wide = part.get("type") == "integer" and not part.keys() & {"minimum", "exclusiveMinimum"}
    return {name: _with_widths(each) for name, each in part.items()} | ({"format": "int64"} if wide else {})
