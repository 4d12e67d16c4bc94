"""Prepares an account for the service, in an order that leaves no vector outside a metadata index.

Vectorize does not find a vector by a metadata index that is younger than the vector. So the metadata indexes are
created first, and a probe proves that they work before anything else is written: until then the database says that the
index is being made, which every replica of a running service sees (``app.storage.system.index_build``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.vectorize import SCOPE_TYPES, VectorizeIndex
from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, IndexNotProvisioned, UpstreamTimeout
from app.domain.json_types import Scalar
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Database
from app.ports.vector_index import IndexedVector
from app.storage.migrations.runner import SchemaVersion, known_migrations, migrate, schema_version
from app.storage.system import index_build
from app.storage.system.new_shard import check_unused

Report = Callable[[str], object]
"""Receives a line of text about the progress."""

_PROBE = Scope("memory-gateway.provision", "probe")
_PROBE_ID = "PR0BE".zfill(26)
"""The id of the probe, a ULID by which a later run recognizes the probe of an interrupted one."""
_PROBE_VALUES: Mapping[IndexType, Scalar] = {"string": "probe", "number": 1, "boolean": True}
_ROUND_POLLS = 24
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class ProvisioningPlan:
    """The resources that the service needs.

    ``database_id`` is None where only the database's name is known. ``neighbour_database_id`` names another database of
    the same service: a jurisdiction that binds it binds this one too, since new tenants live in either. A
    database with a neighbour begins empty.
    """

    database_name: str
    database_id: str | None
    placement: Placement
    config: EmbeddingConfig
    filterable: Mapping[str, IndexType]
    neighbour_database_id: str | None = None


@dataclass(frozen=True, slots=True)
class MissingSteps:
    """The steps that are still missing."""

    database_id: str | None
    placement: Placement
    """Where the database is created, if there is none."""
    migrations: tuple[str, ...]
    index: bool
    metadata_indexes: Mapping[str, IndexType]
    proof: bool
    """Whether the filters have still to be proved: neither an empty index nor one that a stopped run left proves it.
    """

    @property
    def steps(self) -> list[str]:
        """Return a description of each step, in order."""
        return [
            *(["create the D1 database"] if self.database_id is None else []),
            *(f"apply migration {name}" for name in self.migrations),
            *(["create the Vectorize index"] if self.index else []),
            *(f"create the metadata index {key} ({kind})" for key, kind in self.metadata_indexes.items()),
            *(["write a probe vector, find it through every filter, delete it"] if self.proof else []),
        ]


class Provisioning:
    """Creates the resources that an account lacks. Safe to run again."""

    def __init__(
        self,
        account: Account,
        index: VectorizeIndex,
        wanted: ProvisioningPlan,
        *,
        open_database: Callable[[str], Database],
        poll_seconds: float = 5.0,
    ) -> None:
        """Take the account, the index that the service will use, and a function that opens a database by its id."""
        self._account = account
        self._index = index
        self._wanted = wanted
        self._open_database = open_database
        self._poll_seconds = poll_seconds

    async def plan(self) -> MissingSteps:
        """Find the missing steps, without changing the account.

        Raises:
            IndexNotProvisioned: the index exists with properties that cannot be changed.
            ConfigurationError: the jurisdiction is not that of the neighbour database.
            Conflict: a database that is to have a neighbour is not empty.
        """
        database_id = self._wanted.database_id or await self._account.database_id(self._wanted.database_name)
        if self._wanted.neighbour_database_id is not None and database_id is not None:
            await check_unused(self._open_database(database_id), f"The database {database_id}")
        placement = await self._placement(database_id)
        version = await schema_version(self._open_database(database_id)) if database_id else SchemaVersion([], {})
        exists = await self._account.index_exists(self._index.name)
        info = await self._index.info() if exists else {}
        stopped = database_id is not None and await self._was_stopped(database_id)
        vectors = 0 if stopped else await self._vectors(info)
        return MissingSteps(
            database_id=database_id,
            placement=placement,
            migrations=tuple(version.to_apply(known_migrations())),
            index=not exists,
            metadata_indexes=await self._missing_metadata_indexes(info, vectors) if exists else self._metadata_indexes,
            proof=not vectors,
        )

    async def apply(self, plan: MissingSteps, report: Report) -> str:
        """Carry out the missing steps and return the id of the database.

        Raises:
            UpstreamTimeout: the metadata indexes do not work after a long wait; another run continues to wait.
        """
        database_id = await self.apply_database(plan, report)
        await self.apply_index(plan, database_id, report)
        return database_id

    async def apply_database(self, plan: MissingSteps, report: Report) -> str:
        """Create the database, without a schema, if there is none, and return its id."""
        if plan.database_id is not None:
            return plan.database_id
        database_id = await self._account.create_database(self._wanted.database_name, plan.placement)
        where = f" in the jurisdiction {plan.placement.jurisdiction}" if plan.placement.jurisdiction else ""
        report(f"created the D1 database {self._wanted.database_name}{where}: {database_id}")
        return database_id

    async def apply_index(self, plan: MissingSteps, database_id: str, report: Report) -> None:
        """Carry out the steps after the database was created: its schema, the index and the metadata indexes.

        Raises:
            UpstreamTimeout: the metadata indexes do not work after a long wait; another run continues to wait.
        """
        for name in await migrate(self._open_database(database_id)):
            report(f"applied migration {name}")
        if not (plan.index or plan.metadata_indexes or plan.proof):
            return
        database, config = self._open_database(database_id), self._wanted.config
        await index_build.begin(database, config)
        if plan.index:
            await self._account.create_index(self._wanted.config, self._index.name)
            report(f"created the Vectorize index {self._index.name}")
        if plan.metadata_indexes:
            await self._account.create_metadata_indexes(self._index.name, plan.metadata_indexes)
            report(f"requested the metadata indexes {', '.join(plan.metadata_indexes)}")
        await self._prove(report)
        await index_build.end(database, config)

    async def _was_stopped(self, database_id: str) -> bool:
        """Return whether an earlier run began to make the index and did not finish.

        The vectors that the index holds then are queued again at the end, or found by the reconcile that follows.
        """
        return await index_build.is_building(self._open_database(database_id), self._wanted.config)

    async def _placement(self, database_id: str | None) -> Placement:
        """Return where the database is to be; an existing one, which cannot be moved, is checked."""
        requested = self._wanted.placement.jurisdiction
        if self._wanted.neighbour_database_id is None:
            return self._wanted.placement
        neighbour_jurisdiction = await self._account.jurisdiction(self._wanted.neighbour_database_id)
        if neighbour_jurisdiction is not None and requested not in {None, neighbour_jurisdiction}:
            raise ConfigurationError(
                f"The first database is bound to the jurisdiction {neighbour_jurisdiction}. New tenants live in any "
                f"database of the service, so this one cannot be in {requested}."
            )
        required = requested or neighbour_jurisdiction
        if database_id is not None and required is not None:
            found = await self._account.jurisdiction(database_id)
            if found != required:
                raise ConfigurationError(
                    f"The database {database_id} is bound to {f'the jurisdiction {found}' if found else 'none'}, but "
                    f"{required} is needed. This cannot be changed: use another database, or let one be created."
                )
        return replace(self._wanted.placement, jurisdiction=required)

    @property
    def _metadata_indexes(self) -> Mapping[str, IndexType]:
        return {**SCOPE_TYPES, **self._wanted.filterable}

    async def _vectors(self, info: Mapping[str, Any]) -> int:
        """Count the vectors in the index, without the probe of an interrupted run."""
        count = int(info.get("vectorCount") or 0)
        return 0 if count == 1 and _PROBE_ID in await self._index.held([_PROBE_ID]) else count

    async def _missing_metadata_indexes(self, info: Mapping[str, Any], vectors: int) -> Mapping[str, IndexType]:
        declared = await self._index.metadata_indexes()
        missing = {key: kind for key, kind in self._metadata_indexes.items() if key not in declared}
        wrong = sorted(key for key, kind in self._metadata_indexes.items() if declared.get(key, kind) != kind)
        name = self._index.name
        if info.get("dimensions") != self._wanted.config.dimensions or wrong:
            found = f"{info.get('dimensions')} dimensions" if not wrong else f"another type of {', '.join(wrong)}"
            raise IndexNotProvisioned(f"The index {name} exists with {found}. Delete it, or choose another embedder.")
        if missing and vectors:
            raise IndexNotProvisioned(
                f"The index {name} holds {vectors} vectors, which a metadata index made now "
                f"({', '.join(missing)}) would never find. Delete the index, or leave those keys undeclared."
            )
        return missing

    async def _prove(self, report: Report) -> None:
        """Wait until the metadata indexes are listed and a vector written afterwards is found by each of them."""
        report("waiting until the metadata indexes are listed")
        if not await self._holds(self._listed):
            raise UpstreamTimeout("Vectorize does not list the metadata indexes yet. Run provision again later.")
        report("waiting until a probe vector is found through every filter")
        for _ in range(_ROUNDS):
            probe = self._probe()
            unproved = self._filters(probe)
            try:
                await self._index.upsert([probe])
                found = await self._holds(partial(self._found, probe, unproved))
            finally:
                await self._index.delete(_PROBE, [probe.id])
            if found:
                report("a probe vector was found through every filter, and deleted")
                return
            report("not found: the probe may be older than an index; writing another")
        raise UpstreamTimeout("Vectorize did not find the probe through every filter. Run provision again later.")

    async def _holds(self, condition: Callable[[], Awaitable[bool]]) -> bool:
        """Return whether the condition becomes true within a round."""
        for _ in range(_ROUND_POLLS):
            if await condition():
                return True
            await asyncio.sleep(self._poll_seconds)
        return False

    async def _listed(self) -> bool:
        return self._metadata_indexes.items() <= (await self._index.metadata_indexes()).items()

    async def _found(self, probe: IndexedVector, unproved: list[Filter]) -> bool:
        """Return whether every filter has found the probe; a filter that finds it now is removed from the list.

        Each filter takes a call, and the search stops at the first filter that finds nothing.
        """
        while unproved:
            hits = await self._index.query(probe.scope, probe.values, top_k=1, where=unproved[0])
            if probe.id not in {hit.id for hit in hits.hits}:
                return False
            del unproved[0]
        return True

    def _filters(self, probe: IndexedVector) -> list[Filter]:
        """Return the filters that have to find the probe: its scope alone, its time and each declared key."""
        return [
            Filter(),
            Filter(created_after=probe.created_at - 1, created_before=probe.created_at + 1),
            *(Filter(metadata={key: _PROBE_VALUES[kind]}) for key, kind in self._wanted.filterable.items()),
        ]

    def _probe(self) -> IndexedVector:
        values = np.zeros(self._wanted.config.dimensions, np.float32)
        values[0] = 1
        metadata = {key: _PROBE_VALUES[kind] for key, kind in self._wanted.filterable.items()}
        return IndexedVector(_PROBE, _PROBE_ID, values, 1, 1, metadata)
