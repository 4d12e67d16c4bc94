"""The routes of shared context: documents that all agents of a tenant read, and the tenant's configuration."""

from typing import Annotated, Any

from fastapi import Query, Response

from app.domain.context import ContextRead
from app.domain.errors import Erasing, NotFound, PreconditionFailed, QuotaExceeded, SensitiveContent
from app.interfaces.http.dependencies import Administrator, ReadCaller
from app.interfaces.http.failures import WRITES
from app.interfaces.http.preconditions import ETAG, Only, etag
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.context import (
    ConfigurationAnswer,
    ConfiguredAnswer,
    ContextAnswer,
    ContextListAnswer,
    ContextName,
    ContextQuery,
    ContextVersionAnswer,
    ContextVersionsAnswer,
    PutConfigurationRequest,
    PutContextRequest,
)

# A name with a slash is refused as a name: without these convertors, nothing would say what is wrong with it.
_NAMED = "/context/{name:context_name}"
_CHANGES = (*WRITES, Erasing, SensitiveContent, PreconditionFailed, QuotaExceeded)
_CACHED: dict[str, Any] = {
    "headers": {
        **ETAG["headers"],
        "Age": {
            "description": "How many seconds ago it was read, at most.",
            "schema": {"type": "integer"},
            "example": 4,
        },
        "Cache-Control": {
            "description": "How old it may become.",
            "schema": {"type": "string"},
            "example": "private, max-age=30",
        },
    }
}

context = Router("shared context")


def _say(response: Response, read: ContextRead, seconds: int) -> None:
    """Say of which version an answer is, and how old it may be."""
    response.headers["ETag"] = etag(read.document.version)
    response.headers["Age"] = str(read.age // 1000)
    response.headers["Cache-Control"] = f"private, max-age={seconds}"


@context.get("/context")
async def list_context(caller: ReadCaller) -> ContextListAnswer:
    """List the documents of the tenant by their names, without what they say."""
    services, _ = caller.shared()
    documents = await services.context.listed()
    return ContextListAnswer(documents=[ContextVersionAnswer.model_validate(document) for document in documents])


@context.get("/context/{name:path}/versions", NotFound)
async def context_versions(caller: ReadCaller, name: ContextName) -> ContextVersionsAnswer:
    """List the versions of a document that are kept, the last 20, newest first."""
    services, _ = caller.shared()
    versions = await services.context.versions(name)
    return ContextVersionsAnswer(versions=[ContextVersionAnswer.model_validate(version) for version in versions])


@context.get(_NAMED, NotFound, answers={200: _CACHED})
async def get_context(
    caller: ReadCaller, response: Response, name: ContextName, query: Annotated[ContextQuery, Query()]
) -> ContextAnswer:
    """Return a document. It may be as old as `Cache-Control` says."""
    services, _ = caller.shared()
    read = await services.context.get(name, query.version)
    _say(response, read, services.context.seconds)
    return ContextAnswer.model_validate(read.document)


@context.put(_NAMED, needs=_CHANGES, answers={200: ETAG}, act="context.put")
async def put_context(
    caller: Administrator, response: Response, name: ContextName, request: PutContextRequest, only: Only
) -> ContextVersionAnswer:
    """Write a document, as an administrator. The same content again makes no new version."""
    written = await caller.every_agent().context.put(name, request.content, request.media_type, only)
    response.headers["ETag"] = etag(written.version)
    return ContextVersionAnswer.model_validate(written)


@context.delete(_NAMED, needs=(*WRITES, Erasing), act="context.delete", status_code=204)
async def delete_context(caller: Administrator, name: ContextName) -> None:
    """Delete a document with its versions, as an administrator. One that is not there is no error."""
    await caller.every_agent().context.delete(name)


@context.get("/configuration", NotFound, answers={200: _CACHED})
async def get_configuration(
    caller: ReadCaller, response: Response, query: Annotated[ContextQuery, Query()]
) -> ConfigurationAnswer:
    """Return the tenant's configuration. It may be as old as `Cache-Control` says."""
    services, _ = caller.shared()
    read = await services.context.configuration(query.version)
    _say(response, read, services.context.seconds)
    return ConfigurationAnswer.model_validate(read.document)


@context.put("/configuration", needs=_CHANGES, answers={200: ETAG}, act="configuration.put")
async def put_configuration(
    caller: Administrator, response: Response, request: PutConfigurationRequest, only: Only
) -> ConfiguredAnswer:
    """Write the tenant's configuration, as an administrator. The same values again make no new version."""
    written = await caller.every_agent().context.configure(request.values, only)
    response.headers["ETag"] = etag(written.version)
    return ConfiguredAnswer.model_validate(written)
