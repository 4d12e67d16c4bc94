"""The namespaces of a tenant, and the names of the profiles in them (Cloudflare's Agent Memory).

https://developers.cloudflare.com/agent-memory/api/http-api/
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ulid import ULID

from app.domain import limits
from app.domain.errors import Conflict, NamespaceExists, NotFound, QuotaExceeded
from app.domain.moments import moment
from app.domain.profiles import DEFAULT_NAMESPACE, ProfileName
from app.ports.database import Row
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.tenant.backends import TenantBackends
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.namespaces import Direction, KnownNames, Namespace, NamespaceStatements, Order
from app.storage.rows import read_row


class Namespaces:
    """Creates, lists and deletes the namespaces of one tenant, bound here, and keeps the names of their profiles."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._names = NamespaceStatements(backends.tenant_id)

    async def create(self, name: str) -> Namespace:
        """Create a namespace and return it.

        Raises:
            NamespaceExists: the tenant has a namespace of this name; nothing was changed.
            QuotaExceeded: the tenant has as many namespaces as it may have.
            InvalidRequest: the name is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("name", limits.NAMESPACE, name))
        new_id = self._new_id()
        _, rows = await self._database.run(self._names.create(name, new_id))
        if not rows:
            most = limits.MAX_NAMESPACES
            raise QuotaExceeded(
                f"This tenant has {most} namespaces, and no more may be created. Delete those that are not used.",
                reached=f"namespaces;scope=tenant;used={most};limit={most}",
            )
        namespace = read_row(Namespace, rows[0])
        if namespace.id != new_id:
            raise NamespaceExists("Namespace name already exists")
        return namespace

    async def list(
        self, *, limit: int, after: ListPosition | None = None, order: Order = "id", direction: Direction = "asc"
    ) -> ListPage[Namespace]:
        """Return the next namespaces; ``default`` is among them once it was created or one of its profiles written to.

        Raises:
            InvalidRequest: the limit is outside its bounds.
            Unavailable: the database does not answer.
        """
        limits.check(("per_page", limits.PROFILE_PAGE, limit))
        wanted = self._names.page(order=order, direction=direction, limit=limit + 1, after=after)
        (rows,) = await self._database.run([wanted])
        return list_page(Namespace, rows, limit)

    async def get(self, name: str) -> Namespace:
        """Return a namespace.

        Raises:
            NotFound: the tenant has no namespace of this name.
            InvalidRequest: the name is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("namespace_name", limits.NAMESPACE, name))
        (rows,) = await self._database.run([self._names.one(name)])
        return _found(rows)

    async def delete(self, name: str) -> None:
        """Delete a namespace, and begin to erase every profile in it; the name may be used again.

        Until a profile is erased, nothing is stored in it. The profiles of ``default`` are agents that other routes
        name, and are deleted one by one.

        Raises:
            NotFound: the tenant has no namespace of this name.
            Conflict: the namespace is ``default``; nothing was changed.
            InvalidRequest: the name is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("namespace_name", limits.NAMESPACE, name))
        if name == DEFAULT_NAMESPACE:
            raise Conflict(
                f"The namespace {DEFAULT_NAMESPACE} cannot be deleted: its profiles are this tenant's agents. "
                "Delete those of its profiles that are to go."
            )
        *_, deleted = await self._database.run(self._names.delete(name, self._new_id()))
        if not deleted:
            raise _no_namespace()
        self._backends.data.acknowledgements.wake()

    @asynccontextmanager
    async def writing(self, profile: ProfileName) -> AsyncIterator[None]:
        """Let the block write to a profile, and keep the profile's name after the block.

        Raises:
            NotFound: there is no such namespace.
            Conflict: the profile's agent has the name of another profile.
            Unavailable: the database does not answer.
        """
        known = await self._known(profile)
        if not known.namespace and profile.namespace != DEFAULT_NAMESPACE:
            raise _no_namespace()
        if known.profile not in {None, profile.name}:
            raise Conflict("The profile cannot be written to: the id of its agent is taken by another name.")
        yield
        if known.profile is None:
            await self._database.run(self._names.enter(profile, self._new_id()))

    async def check(self, profile: ProfileName) -> None:
        """Raise ``NotFound`` where there is no such namespace, or nothing was ever written to the profile.

        Raises:
            NotFound: the namespace or the profile does not exist.
            Unavailable: the database does not answer.
        """
        known = await self._known(profile)
        if not known.namespace and profile.namespace != DEFAULT_NAMESPACE:
            raise _no_namespace()
        if known.profile is None and not known.written:
            raise NotFound("profile not found")

    async def delete_profile(self, profile: ProfileName) -> None:
        """Begin to erase a profile. It is no error where the profile does not exist, or is being erased.

        Raises:
            NotFound: there is no such namespace.
            Unavailable: the database does not answer; deleting the profile again is safe.
        """
        known = await self._known(profile)
        if not known.namespace and profile.namespace != DEFAULT_NAMESPACE:
            raise _no_namespace()
        await LongTermMemoryGateway(self._backends).erase(profile.agent_id)
        await self._database.run([self._names.leave(profile)])

    async def _known(self, profile: ProfileName) -> KnownNames:
        ((row,),) = await self._database.run([self._names.known(profile)])
        return read_row(KnownNames, row)

    def _new_id(self) -> str:
        return str(ULID.from_datetime(moment(self._backends.clock())))


def _found(rows: Sequence[Row]) -> Namespace:
    if not rows:
        raise _no_namespace()
    return read_row(Namespace, rows[0])


def _no_namespace() -> NotFound:
    return NotFound("namespace not found")
