"""The names by which Cloudflare's Agent Memory asks for stores: namespaces, and the profiles in them."""

from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from app.domain import limits
from app.domain.memory import Scope, Tenant
from app.domain.profiles import DEFAULT_NAMESPACE, ProfileName, agents_of
from app.ports.database import NOW
from app.storage.declared import behind
from app.storage.erasures import LAST_AGENT
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement

Order: TypeAlias = Literal["id", "name"]
Direction: TypeAlias = Literal["asc", "desc"]

_COLUMNS = "namespace.id, namespace.name, namespace.created_at, namespace.updated_at"
_TENANT = "namespace.tenant_id = ?1 ->> 'tenant_id'"
_ONE = f"{_TENANT} AND namespace.name = ?1 ->> 'name'"
_READ = f"SELECT {_COLUMNS} FROM namespace WHERE {_ONE}"
_CREATE = f"""
INSERT INTO namespace (tenant_id, name, id, created_at, updated_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'name', ?1 ->> 'id', {NOW}, {NOW}
WHERE (SELECT count(*) FROM namespace AS every WHERE every.tenant_id = ?1 ->> 'tenant_id') < ?1 ->> 'most'
ON CONFLICT (tenant_id, name) DO NOTHING
"""
_DELETE = f"DELETE FROM namespace WHERE {_ONE} RETURNING name"

_PROFILE = "profile.tenant_id = ?1 ->> 'tenant_id' AND profile.agent_id = ?1 ->> 'agent_id'"
# No agent is named while it is being erased: the names go with the memories.
_NOT_ERASED = """
NOT EXISTS (
  SELECT 1 FROM erasure
  WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.receipt IS NULL
    AND (erasure.agent_id IS NULL OR erasure.agent_id = {agent_id})
)
"""
_ENTER = f"""
INSERT INTO profile (tenant_id, agent_id, namespace, name, created_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'name', ?1 ->> 'profile', {NOW}
WHERE {_NOT_ERASED.format(agent_id="?1 ->> 'agent_id'")}
  AND EXISTS (SELECT 1 FROM namespace WHERE {_ONE})
ON CONFLICT DO NOTHING
"""
# An agent may have been written to without a name: then it has a row of usage, which stays until its erasure has ended.
_KNOWN = f"""
SELECT EXISTS (SELECT 1 FROM namespace WHERE {_ONE}) AS namespace,
  (SELECT profile.name FROM profile WHERE {_PROFILE}) AS profile,
  EXISTS (
    SELECT 1 FROM usage WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = ?1 ->> 'agent_id'
  ) AND {_NOT_ERASED.format(agent_id="?1 ->> 'agent_id'")} AS written
"""
_LEAVE = f"DELETE FROM profile WHERE {_PROFILE}"
_LEAVE_ALL = """
DELETE FROM profile WHERE profile.tenant_id = ?1 ->> 'tenant_id' AND profile.namespace = ?1 ->> 'name'
"""
_HELD = """
SELECT profile.agent_id FROM profile
WHERE profile.tenant_id = ?1 ->> 'tenant_id' AND profile.namespace = ?1 ->> 'name'
UNION
SELECT usage.agent_id FROM usage
WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id BETWEEN ?1 ->> 'first_agent' AND ?1 ->> 'last_agent'
"""
# The ids of these erasures share their beginning, which is the time and random characters, and end with a number.
_ERASE_ALL = f"""
INSERT INTO erasure (id, tenant_id, agent_id, accepted_at, advanced_at)
SELECT substr(?1 ->> 'id', 1, 20) || printf('%06d', row_number() OVER (ORDER BY held.agent_id)), ?1 ->> 'tenant_id',
  held.agent_id, {NOW}, {NOW}
FROM ({_HELD}) AS held
WHERE EXISTS (SELECT 1 FROM namespace WHERE {_ONE}) AND {_NOT_ERASED.format(agent_id="held.agent_id")}
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of a tenant."""

    id: str
    name: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Which names of a profile there are."""

    namespace: bool
    profile: str | None
    """The name under which the agent was written to first; None: it has none."""
    written: bool
    """Whether the agent was written to, by whatever name, and is not being erased."""


@dataclass(frozen=True, slots=True)
class NamespaceStatements:
    """Statements over the namespaces and profiles of one tenant, bound here."""

    tenant_id: str

    def create(self, name: str, id_: str) -> list[ScopedStatement]:
        """Create a namespace, where there is none of the name and the tenant may have one more.

        The default namespace, which needs no creation, is allowed beyond the tenant's number. The second statement
        returns the namespace of the name: the new one, with the id ``id_``, or the one that was there.
        """
        most = limits.MAX_NAMESPACES + (name == DEFAULT_NAMESPACE)
        create = ScopedStatement.write(Tenant(self.tenant_id), _CREATE, name=name, id=id_, most=most)
        return [create, self.one(name)]

    def one(self, name: str) -> ScopedStatement:
        """Read a namespace, as rows of ``Namespace``."""
        return ScopedStatement.read(Tenant(self.tenant_id), _READ, name=name)

    def page(self, *, order: Order, direction: Direction, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next namespaces, for ``list_page``: their position is the value that they are ordered by."""
        further = ">" if direction == "asc" else "<"
        return ScopedStatement.read(
            Tenant(self.tenant_id),
            f"SELECT {_COLUMNS}, 0 AS page_at, CAST(namespace.{order} AS TEXT) AS page_tie FROM namespace"
            f" WHERE {_TENANT}"
            f" AND (?1 ->> 'page_tie' IS NULL OR namespace.{order} {further} ?1 ->> 'page_tie')"
            f" ORDER BY namespace.{order} {direction} LIMIT ?1 ->> 'limit'",
            limit=limit,
            **behind(after),
        )

    def delete(self, name: str, erasure_id: str) -> list[ScopedStatement]:
        """Delete a namespace with the names of its profiles, and begin to erase the agents of these profiles.

        The last statement returns the ``name`` where there was such a namespace.
        """
        first = agents_of(name)
        make = partial(
            ScopedStatement.write,
            Tenant(self.tenant_id),
            repeatable=False,
            name=name,
            id=erasure_id,
            first_agent=first,
            last_agent=first + LAST_AGENT,
        )
        return [make(_ERASE_ALL), make(_LEAVE_ALL), make(_DELETE)]

    def known(self, profile: ProfileName) -> ScopedStatement:
        """Read which names of a profile there are: one row of ``KnownNames``."""
        return ScopedStatement.read(self._scope(profile), _KNOWN, name=profile.namespace)

    def enter(self, profile: ProfileName, id_: str) -> list[ScopedStatement]:
        """Name a profile, where its namespace is there; the default namespace is made where it is not."""
        scope = self._scope(profile)
        enter = ScopedStatement.write(scope, _ENTER, name=profile.namespace, profile=profile.name)
        if profile.namespace != DEFAULT_NAMESPACE:
            return [enter]
        return [*self.create(DEFAULT_NAMESPACE, id_), enter]

    def leave(self, profile: ProfileName) -> ScopedStatement:
        """Forget the name of a profile."""
        return ScopedStatement.write(self._scope(profile), _LEAVE)

    def _scope(self, profile: ProfileName) -> Scope:
        return Scope(self.tenant_id, profile.agent_id)
