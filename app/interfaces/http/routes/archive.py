"""The routes for what was archived because it is old: to an administrator."""

from contextlib import closing
from typing import Annotated, Any

from fastapi import Query

from app.domain.errors import Erasing, InvalidCursor, InvalidRequest, NotFound, ObjectGone, QuotaExceeded
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import Administrator, BodylessAdministrator
from app.interfaces.http.failures import OUTAGE
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.archive import (
    ArchiveAnswer,
    ArchivedItemAnswer,
    ArchiveId,
    ArchiveQuery,
    RestoredAnswer,
)
from app.services.transfer.report import STATUSES, ImportReport
from app.storage.listing import ListPosition

archives = Router("archive")


@archives.get("/archive", InvalidCursor)
async def list_archive(caller: Administrator, query: Annotated[ArchiveQuery, Query()]) -> ArchiveAnswer:
    """List the objects that memories, episodes and ended runs were archived in, newest first, to an administrator."""
    services, agent_id = caller.tenant(query.agent_id)
    asked: dict[str, Any] = {"agent_id": agent_id, "kind": query.kind, "since": query.since, "until": query.until}
    listing = Listing(caller, "archive", query.cursor, **asked)
    before = query.before if listing.after is None else listing.after.id
    objects = await services.archives.list(**asked, before=before, limit=query.limit)
    last = ListPosition(objects[-1].archived_at, objects[-1].id) if len(objects) == query.limit else None
    return ArchiveAnswer.model_validate({"objects": objects, "cursor": listing.cursor(last)})


@archives.get("/archive/items/{item_id}", NotFound, ObjectGone, act="archive.read")
async def get_archived(caller: Administrator, item_id: ArchiveId) -> ArchivedItemAnswer:
    """Return an archived memory, episode or run by its id, to an administrator.

    410: the object that has it is missing or has changed.
    """
    services, only_agent = caller.tenant()
    archived, item = await services.archives.item(item_id, only_agent=only_agent)
    return ArchivedItemAnswer(archive_id=archived.id, item=item)


@archives.post(
    "/archive/{archive_id}/restore",
    NotFound,
    ObjectGone,
    Erasing,
    QuotaExceeded,
    body=(InvalidRequest,),
    needs=OUTAGE,
    act="archive.restore",
)
async def restore_archived(caller: BodylessAdministrator, archive_id: ArchiveId) -> RestoredAnswer:
    """Store the items of an object again, as an import does, as an administrator.

    Once all are there the object is let go, and they stay out of the archive for 30 days. 410: it is missing or has
    changed, and nothing was stored.
    """
    services, only_agent = caller.tenant()
    with closing(ImportReport()) as report:
        archived = await services.archives.one(archive_id, only_agent=only_agent)
        await services.archives.restore(archived, report, only_agent=only_agent)
        return RestoredAnswer(**{status: report.counts[status] for status in STATUSES})
