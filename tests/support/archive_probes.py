"""Probes of the routes for the archive: everything one can ask of them to learn of what another one has archived."""

import httpx

from app.services.archive.moving import ArchiveMover
from app.storage.archive import ArchivedObject
from app.storage.tiers.tables import TIER_TABLES
from tests.support.service import Service
from tests.support.tier_rows import added_to, row_of

_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def _owners(service: Service) -> ArchivedObject:
    """Have an agent of the owner's with something archived, and return its object."""
    backends = service.runtime.backends.of_tenant("owner")
    archives = service.runtime.services("owner").archives
    if not await archives.list(agent_id="keeps", kind="episodes"):
        for tier in (tier for tier in TIER_TABLES if tier.kind in {"runs", "episodes"}):
            await added_to(service.runtime.backends.database, "owner", tier, [row_of(tier, 9, "keeps")])
        await ArchiveMover(backends, "keeps").move(backends.clock(), now=backends.clock())
    (object_,) = await archives.list(agent_id="keeps", kind="episodes")
    return object_


async def _asked(service: Service, tenant: str, agent_id: str, method: str, path: str) -> list[httpx.Response]:
    """Ask by the ids of the owner's object and item; where the tenant is the owner's, as its other agent."""
    object_ = await _owners(service)
    headers = service.credential(tenant, agent_id if tenant == "owner" else None, admin=True)
    return [
        await service.client.request(method, path.format(id_), headers=headers)
        for id_ in (object_.id, object_.first_id, _UNKNOWN)
    ]


async def probe_list_archive(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    object_ = await _owners(service)
    headers = service.credential(tenant, agent_id if tenant == "owner" else None, admin=True)
    asked: tuple[dict[str, str], ...] = ({}, {"agent_id": agent_id}, {"kind": "episodes"})
    answers = [await service.client.get("/archive", params=params, headers=headers) for params in asked]
    assert not [answer for answer in answers if object_.id in answer.text]
    return answers


async def probe_get_archived(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _asked(service, tenant, agent_id, "GET", "/archive/items/{}")


async def probe_restore_archived(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _asked(service, tenant, agent_id, "POST", "/archive/{}/restore")


ARCHIVE_PROBES = {
    "GET /archive": probe_list_archive,
    "GET /archive/items/{item_id}": probe_get_archived,
    "POST /archive/{archive_id}/restore": probe_restore_archived,
}
