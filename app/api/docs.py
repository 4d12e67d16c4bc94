"""The OpenAPI document and its page, with every asset served from here."""

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRouter
from fastapi.staticfiles import StaticFiles
from starlette.responses import HTMLResponse

from app.api.problems import Problem, ProblemField
from app.fields import JSON_VALUE_SCHEMA

_ASSETS = "/docs/assets"
router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Show the OpenAPI document as a page to read and try."""
    root = request.scope.get("root_path", "")
    return get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Memory Gateway",
        swagger_js_url=f"{root}{_ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{root}{_ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{root}{_ASSETS}/favicon-32x32.png",
        swagger_ui_parameters={"persistAuthorization": True, "tryItOutEnabled": True},
    )


def install(app: FastAPI) -> None:
    """Serve the page, its assets and a document that describes problems too."""
    app.mount(_ASSETS, StaticFiles(directory=str(files("fastapi_swagger") / "resources")))
    app.include_router(router)

    @cache
    def openapi() -> dict[str, Any]:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        _prefer_written_out(document)
        schemas = document["components"]["schemas"]
        schemas["JsonValue"] = JSON_VALUE_SCHEMA
        for model in (Problem, ProblemField):
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schema.pop("$defs", None)
            schemas[model.__name__] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _prefer_written_out(document: dict[str, Any]) -> None:
    """Let a parameter that a route has written out take the place of what FastAPI makes of it."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if "parameters" in operation:
                by_name = {(each["in"], each["name"]): each for each in operation["parameters"]}
                operation["parameters"] = list(by_name.values())
