"""Shared context of one tenant: its configuration, and documents that administrators write and all agents read."""

from collections.abc import Sequence
from hashlib import sha256

from ulid import ULID

from app.domain import limits
from app.domain.context import CONFIGURATION, ContextDocument, ContextRead, ContextVersion
from app.domain.errors import NotFound, PreconditionFailed, QuotaExceeded
from app.domain.json_types import Json, to_json
from app.domain.memory import Tenant
from app.domain.preconditions import Precondition
from app.ports.database import Row
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import Refusals, WriteKind, errors_of, write
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers.context import NewVersion, SharedDocuments

_ANY = Precondition()


class SharedContext:
    """Keeps the documents of one tenant. A document may come from a cache, up to ``CONTEXT_CACHE_SECONDS`` old.

    ``ContextRead`` tells the age of its document. A process sees its own writes at once. Every method may also raise
    ``Unavailable``: the database does not answer, and the cache lacks a document; it is unknown whether a write was
    made.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._cache = backends.data.caches.context
        self._statements = SharedDocuments(backends.tenant_id)

    @property
    def seconds(self) -> int:
        """How many seconds old a document from the cache may be."""
        return self._cache.seconds

    async def put(self, name: str, content: str, media_type: str, only: Precondition = _ANY) -> ContextVersion:
        """Write a document that fulfils the precondition. The same content again makes no new version.

        Raises:
            PreconditionFailed: the document does not fulfil it; nothing was changed.
            QuotaExceeded: the tenant may have no more documents or bytes; nothing was changed.
            InvalidRequest: a field is outside its bounds.
            Erasing, Unauthenticated: as ``write`` says.
        """
        limits.check(
            ("name", limits.CONTEXT_NAME, name),
            ("content", limits.CONTEXT_CONTENT, content),
            ("media_type", limits.MEDIA_TYPE, media_type),
        )
        content = await self._backends.screened(content, "content")
        return await self._put(name, content, media_type, only)

    async def get(self, name: str, version: int | None = None) -> ContextRead:
        """Return a document, or an older version of it.

        Raises:
            NotFound: there is no document of this name, or this version of it is not kept any more.
            InvalidRequest: a field is outside its bounds.
        """
        limits.check(("name", limits.CONTEXT_NAME, name), ("version", limits.CONTEXT_VERSION, version))
        return await self._get(name, version, "There is no such document, or not this version of it.")

    async def documents(self, names: Sequence[str] | None = None) -> list[ContextDocument]:
        """Return documents with their contents, in the order of ``names``; None: all documents, by their names.

        A name that has no document is left out. The database is called at most once.

        Raises:
            InvalidRequest: a name has not the form of a document's name.
        """
        now = self._backends.clock()
        if names is None:
            wanted = self._cache.names(self._backends.tenant_id, now)
            found = self._cached(wanted or (), now)
            is_whole = wanted is not None and len(found) == len(wanted)
            return list(found.values()) if is_whole else await self._read_every()
        for name in names:
            limits.check(("names", limits.CONTEXT_NAME, name))
        unique = list(dict.fromkeys(names))
        found = self._cached(unique, now)
        missing = [name for name in unique if name not in found]
        if missing:
            found |= {document.name: document for document in await self._read(missing)}
        return [found[name] for name in unique if name in found]

    def _cached(self, names: Sequence[str], now: int) -> dict[str, ContextDocument]:
        """Return the documents that the cache has, by their names."""
        cached = {name: self._cache.document(self._backends.tenant_id, name, now) for name in names}
        return {name: read.document for name, read in cached.items() if read is not None}

    async def versions(self, name: str) -> list[ContextVersion]:
        """Return the versions of a document that are kept, newest first.

        Raises:
            NotFound: there is no document of this name.
            InvalidRequest: the name has not the form of a document's name.
        """
        limits.check(("name", limits.CONTEXT_NAME, name))
        (rows,) = await self._database.run([self._statements.versions(name)])
        if not rows:
            raise NotFound("There is no such document.")
        return read_rows(ContextVersion, rows)

    async def listed(self) -> list[ContextVersion]:
        """Return the newest version of each document, without its content, by the documents' names."""
        (rows,) = await self._database.run([self._statements.every(content=False)])
        return read_rows(ContextVersion, rows)

    async def delete(self, name: str) -> None:
        """Delete a document with all of its versions. A name that has no document is no error.

        Raises:
            InvalidRequest: the name has not the form of a document's name.
            Erasing, Unauthenticated: as ``write`` says.
        """
        limits.check(("name", limits.CONTEXT_NAME, name))
        await self._write(name, self._statements.delete(name), "upkeep")

    async def configuration(self, version: int | None = None) -> ContextRead:
        """Return the tenant's configuration, or an older version of it; its content is a JSON object.

        Raises:
            NotFound: no configuration was written, or this version of it is not kept any more.
            InvalidRequest: the version is outside its bounds.
        """
        limits.check(("version", limits.CONTEXT_VERSION, version))
        return await self._get(CONFIGURATION, version, "There is no configuration, or not this version of it.")

    async def configure(self, values: dict[str, Json], only: Precondition = _ANY) -> ContextVersion:
        """Write the tenant's configuration, under the rules of ``put``."""
        limits.check(("values", limits.CONFIGURATION, values))
        values = await self._backends.screened(values, "values")
        return await self._put(CONFIGURATION, to_json(values), "application/json", only)

    async def _get(self, name: str, version: int | None, absent: str) -> ContextRead:
        now = self._backends.clock()
        cached = None if version is not None else self._cache.document(self._backends.tenant_id, name, now)
        if cached is not None:
            return cached
        if version is None:
            documents = await self._read([name])
        else:
            (rows,) = await self._database.run([self._statements.version(name, version)])
            documents = read_rows(ContextDocument, rows)
        if not documents:
            raise NotFound(absent)
        return ContextRead(documents[0])

    async def _read(self, names: Sequence[str]) -> list[ContextDocument]:
        now, changes = self._backends.clock(), self._cache.changes
        (rows,) = await self._database.run([self._statements.current(names)])
        documents = read_rows(ContextDocument, rows)
        self._cache.put_documents(self._backends.tenant_id, documents, now, changes)
        return documents

    async def _read_every(self) -> list[ContextDocument]:
        now, changes = self._backends.clock(), self._cache.changes
        (rows,) = await self._database.run([self._statements.every(content=True)])
        documents = read_rows(ContextDocument, rows)
        self._cache.put_names(self._backends.tenant_id, [document.name for document in documents], now, changes)
        self._cache.put_documents(self._backends.tenant_id, documents, now, changes)
        return documents

    async def _put(self, name: str, content: str, media_type: str, only: Precondition) -> ContextVersion:
        digest = sha256(content.encode()).hexdigest()
        new = NewVersion(name, content, media_type, digest, str(ULID()))
        *_, rows = await self._write(name, self._statements.put(new, only))
        return read_rows(ContextVersion, rows)[0]

    async def _write(
        self, name: str, statements: Sequence[ScopedStatement], kind: WriteKind = "store"
    ) -> list[list[Row]]:
        """Run the statements, and drop the document from the cache. Raise the error of a refusal by the schema."""
        refusals: Refusals = {
            "precondition": lambda _: PreconditionFailed(
                "The document is not as If-Match or If-None-Match asks. Nothing was changed."
            ),
            "documents_full": lambda _: self._full("documents", limits.MAX_CONTEXT_DOCUMENTS),
            "bytes_full": lambda _: self._full("bytes", limits.MAX_CONTEXT_BYTES),
        }
        try:
            async with errors_of(refusals):
                return await write(self._backends, Tenant(self._backends.tenant_id), statements, kind=kind)
        finally:
            self._cache.changed(self._backends.tenant_id, name)

    async def _full(self, what: str, limit: int) -> QuotaExceeded:
        ((row,),) = await self._database.run([self._statements.used()])
        used = int(row[what] or 0)
        return QuotaExceeded(
            f"This is over the tenant's limit of {limit} {what} of shared context, of which {used} are used. "
            "Nothing was written. An administrator can delete documents.",
            reached=f"context_{what};scope=tenant;used={used};limit={limit}",
        )
