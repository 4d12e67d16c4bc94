"""The prober finds each kind of leak that is planted, on the embedded default and on the stand-in account."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.canaries import CANARY_AGENT, PROBE_TENANT
from app.domain.memory import Scope as MemoryScope
from app.ports.database import Row, Statement
from app.ports.index_admin import IndexAdmin
from app.runtime.backends import Backends
from app.services.access.credentials import Principal
from app.services.tenant.context_cache import ContextCache
from app.storage.scoped import ScopedStatement
from tests.support.backends import Backend
from tests.support.canaries import planted, probed
from tests.support.service import Service, serving

_OF_TENANT = re.compile(r"\b(\w+\.)?tenant_id\s*=\s*\?1\s*->>\s*'tenant_id'")


class _Switch:
    """Begins a leak once the canaries are planted."""

    on = False


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of the product that makes it leak: of its backends, or of anything by a monkeypatch."""

    change: Callable[[Backends, _Switch], Backends] = lambda backends, _: backends
    patch: Callable[[pytest.MonkeyPatch, Service], None] = lambda *_: None
    shown: Sequence[str] = ()
    """Routes and tools that show a canary then."""


class _Passing:
    """Passes everything on to a port, but for what a mutation has itself."""

    _port: Any

    def __init__(self, port: Any, switch: _Switch) -> None:
        self._port = port
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


class _NoTenant(_Passing):
    """A database whose statements that read have lost their tenant."""

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        mutated = [self._mutated(each) for each in statements] if self._switch.on else statements
        rows: list[list[Row]] = await self._port.run(mutated)
        return rows

    def _mutated(self, statement: Statement) -> Statement:
        if statement.writes or not isinstance(statement, ScopedStatement):
            return statement
        sql = _OF_TENANT.sub(r"\1tenant_id IS NOT NULL", statement.sql)
        return replace(statement, sql=sql, stepwise=None)  # which would make the statement anew, with its tenant


class _MixedUp(_Passing):
    """A database that gives one tenant's answer to another: every fifth read is of the tenant that was asked before."""

    last: str | None = None
    other: str | None = None
    reads = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        rows: list[list[Row]] = await self._port.run(self._mixed_up(statements) if self._switch.on else statements)
        return rows

    def _mixed_up(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        argument = statements[-1].argument
        scoped = all(isinstance(each, ScopedStatement) and not each.writes for each in statements)
        if not scoped or not isinstance(argument, Mapping):
            return statements
        tenant_id = str(argument["tenant_id"])
        if tenant_id != self.last:
            self.last, self.other = tenant_id, self.last
        self.reads += 1
        other = self.other
        return statements if other is None or self.reads % 5 else [_given_to(each, other) for each in statements]


def _given_to(statement: Statement, tenant_id: str) -> Statement:
    assert isinstance(statement.argument, Mapping)
    return replace(statement, argument={**statement.argument, "tenant_id": tenant_id})


class _AnyScope(_Passing):
    """An index whose filter is dropped: it finds the vectors of every scope."""

    def __init__(self, index: IndexAdmin, switch: _Switch) -> None:
        super().__init__(index, switch)
        self.scopes: set[MemoryScope] = set()

    def ask_within(self, *_: Any, **__: Any) -> None:
        return None

    async def query(self, scope: MemoryScope, vector: Any, **asked: Any) -> Any:
        self.scopes.add(scope)
        if not self._switch.on:
            return await self._port.query(scope, vector, **asked)
        others = [MemoryScope(tenant, CANARY_AGENT) for tenant in ("acme", "globex", PROBE_TENANT)]
        answers = [await self._port.query(other, vector, **asked) for other in (scope, *others)]
        return replace(answers[0], hits=[hit for answer in answers for hit in answer.hits])


def _cache_without_tenant(patch: pytest.MonkeyPatch, service: Service) -> None:
    """Have the cache of shared documents forget whose they are."""
    del service
    find, put = ContextCache.document, ContextCache.put_documents
    patch.setattr(ContextCache, "document", lambda self, _, name, now: find(self, "anybody", name, now))
    patch.setattr(ContextCache, "put_documents", lambda self, _, *given: put(self, "anybody", *given))


def _any_agent(patch: pytest.MonkeyPatch, service: Service) -> None:
    """Let a credential for one agent name every other one."""
    del service
    patch.setattr(Principal, "check_agent", lambda *_: None)
    patch.setattr(Principal, "readable", lambda _, agent_id: agent_id)


class _Told:
    """The last token that an answer of the service has had, told with the next answers in a header, in Base64."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._token = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def telling(message: Message) -> None:
            if message["type"] == "http.response.start":
                told = base64.b64encode(b"{" + self._token + b"}")
                message = {**message, "headers": [*message["headers"], (b"x-trace", told)]}
            elif found := re.search(rb"mgcanary[0-9a-f]{32}", message.get("body", b"")):
                self._token = found[0]
            await send(message)

        await self._app(scope, receive, telling)


def _header(patch: pytest.MonkeyPatch, service: Service) -> None:
    transport = service.client._transport  # noqa: SLF001 - the only way to put an application around another
    patch.setattr(transport, "app", _Told(transport.app))  # type: ignore[attr-defined]


def _database(made: type[_Passing]) -> Callable[[Backends, _Switch], Backends]:
    return lambda backends, switch: replace(backends, database=made(backends.database, switch))


def _unscoped(backends: Backends, switch: _Switch) -> Backends:
    """Drop the filter of the index, and let the database read any id that the index finds."""
    index: Any = _AnyScope(backends.index, switch)
    return replace(backends, index=index, database=_NoTenant(backends.database, switch))


MUTATIONS = {
    "a statement without the tenant": Mutation(
        _database(_NoTenant), shown=["GET /memories", "POST /recall", "GET /export", "recall_memory", "GET /runs"]
    ),
    "an answer for another tenant": Mutation(_database(_MixedUp)),
    "a cache without the tenant": Mutation(patch=_cache_without_tenant, shown=["GET /context/{name}"]),
    "a vector filter that is dropped": Mutation(_unscoped, shown=["POST /recall", "POST /profiles/{profile}/recall"]),
    "an agent that is not checked": Mutation(
        patch=_any_agent, shown=["GET /memories", "GET /working/{agent_id}/{instance}"]
    ),
    "a header with the last answer": Mutation(patch=_header, shown=["GET /healthz", "GET /metrics"]),
}


_OFTEN = "a vector filter that is dropped"
"""The mutation that is tried on the stand-in account in every run, where the others are thorough."""


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        *(pytest.param("embedded", name, marks=pytest.mark.thorough) for name in MUTATIONS),
        *(
            pytest.param("cloudflare", name, marks=[pytest.mark.cloudflare, *[pytest.mark.thorough] * (name != _OFTEN)])
            for name in MUTATIONS
        ),
    ],
    indirect=["backend"],
)
async def test_a_planted_leak_is_found_and_named(
    tmp_path: Path, backend: Backend, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutation, switch = MUTATIONS[name], _Switch()
    async with serving(tmp_path, on=backend, change=lambda backends: mutation.change(backends, switch)) as service:
        await planted(service)
        assert (await probed(service)).leaks == []
        switch.on = True
        mutation.patch(monkeypatch, service)
        report = await probed(service)
        assert not report.passed
        assert {leak.route for leak in report.leaks} >= set(mutation.shown), report.leaks
        assert report.leaks
        switch.on = False
        rendered = service.runtime.metrics.render().decode()
        assert f"memory_gateway_canary_leaks_total {float(len(report.leaks))}" in rendered
