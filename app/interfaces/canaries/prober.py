"""Asks as every scope what could show it another one's canary, and looks for one in each answer."""

import asyncio
import base64
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import httpx
import structlog

from app.domain.canaries import CANARY_AGENT, PROBE_TENANT, Canary, tokens_in
from app.domain.errors import Conflict
from app.interfaces.canaries.probes import Probe, probes
from app.interfaces.canaries.scopes import ProbeClient, ProbeScope, scopes_of

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of an answer in which tokens are looked for."""
_UNANSWERED = frozenset({408, 429, 500, 502, 503, 504})
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{48,}")
_MOST_REPORTED = 100


@dataclass(frozen=True, slots=True)
class Leak:
    """An answer to one scope that had the canary of another."""

    route: str
    asked_as: str
    canary_of: str


@dataclass(slots=True)
class ProbeReport:
    """What came of a round."""

    tenants: int = 0
    """How many tenants were asked as."""
    probes: int = 0
    unanswered: list[str] = field(default_factory=list)
    """What was not answered, each with the status or the failure."""
    blind: list[str] = field(default_factory=list)
    """Scopes that were not shown their own canary: nothing that they were not shown proves anything."""
    leaks: list[Leak] = field(default_factory=list)
    cut: bool = False
    """Whether the round ended at its most probes, or because calls were scarce, before all tenants were asked as."""

    @property
    def passed(self) -> bool:
        """Whether everything that was asked was answered, and no answer had another scope's canary."""
        return bool(self.probes) and not (self.leaks or self.unanswered or self.blind)


class Prober:
    """One round over the canaries of all tenants, within a number of probes."""

    def __init__(
        self,
        client: ProbeClient,
        canaries: Mapping[str, Canary],
        *,
        most_probes: int,
        pause: float = 0.0,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take the client, and the canaries by tenant.

        ``pause``: seconds between two probes. The round ends where the process is not ``ready`` any more.
        """
        self._client = client
        self._canaries = canaries
        self._tenant_of = {canary.token: tenant for tenant, canary in canaries.items()}
        self._most = most_probes
        self._pause = pause
        self._ready = ready
        self._random = secrets.SystemRandom()
        self.report = ProbeReport()

    async def run(self) -> ProbeReport:
        """Ask as the tenants, in an order of chance, each wholly before the next, the service's own tenant first.

        Raises:
            Conflict: there is no canary to look for.
        """
        if not self._canaries:
            raise Conflict("There is no canary to look for: memory-gateway canary plant.")
        document = await self._document()
        others = [tenant for tenant in self._canaries if tenant != PROBE_TENANT]
        tenants = [tenant for tenant in (PROBE_TENANT,) if tenant in self._canaries]
        for tenant_id in [*tenants, *self._random.sample(others, len(others))]:
            if not await self._ask_as(tenant_id, document):
                self.report.cut = True
                break
            self.report.tenants += 1
        return self.report

    async def _document(self) -> Mapping[str, object]:
        answer = await self._client.request(ProbeScope(PROBE_TENANT), "GET", "/openapi.json")
        found: Mapping[str, object] = answer.json()
        return found

    async def _ask_as(self, tenant_id: str, document: Mapping[str, object]) -> bool:
        """Ask as the scopes of a tenant; return whether all was asked."""
        victim, own = self._victim(tenant_id), self._canaries[tenant_id]
        for scope, agent_id in scopes_of(tenant_id):
            seen = False
            # To another agent of the tenant, the tenant's own canary is another one's.
            for probe in probes(document, agent_id, victim if scope.may_see(tenant_id) else own):
                if self.report.probes >= self._most or not self._ready():
                    return False
                seen |= own.token in await self._ask(scope, probe)
            if scope.agent_id == CANARY_AGENT and not seen:
                self.report.blind.append(scope.shown)
        return True

    def _victim(self, tenant_id: str) -> Canary:
        """Choose the other tenant whose canary is asked for by its id."""
        others = [canary for tenant, canary in self._canaries.items() if tenant != tenant_id]
        return self._random.choice(others) if others else self._canaries[tenant_id]

    async def _ask(self, scope: ProbeScope, probe: Probe) -> set[str]:
        """Ask once, and return the tokens in the answer."""
        self.report.probes += 1
        try:
            answer = await self._client.request(
                scope,
                probe.method,
                probe.path,
                params=dict(probe.params),
                json=probe.body,
                # An administrator's reads are acts, of which the customer's log would tell in each round.
                admin=scope.tenant_id == PROBE_TENANT,
            )
        except httpx.HTTPError as error:
            self._unanswered(scope, probe, type(error).__name__)
            return set()
        if answer.status_code in _UNANSWERED:
            self._unanswered(scope, probe, str(answer.status_code))
        tokens = set(tokens_of(answer))
        for token in tokens:
            owner = self._tenant_of.get(token)
            if owner is not None and not scope.may_see(owner):
                self._leaked(Leak(probe.route, scope.shown, owner))
        if self._pause:
            await asyncio.sleep(self._pause)
        return tokens

    def _unanswered(self, scope: ProbeScope, probe: Probe, why: str) -> None:
        if len(self.report.unanswered) < _MOST_REPORTED:
            self.report.unanswered.append(f"{probe.route} as {scope.shown}: {why}")

    def _leaked(self, leak: Leak) -> None:
        structlog.get_logger().error("canary_leak", route=leak.route, asked_as=leak.asked_as, canary_of=leak.canary_of)
        if len(self.report.leaks) < _MOST_REPORTED:
            self.report.leaks.append(leak)


def tokens_of(answer: httpx.Response) -> Iterator[str]:
    """Yield the tokens of an answer: in its headers and its body, as they are and in Base64."""
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.multi_items())
    for text in (headers, answer.content[:MOST_BYTES].decode("utf-8", "replace")):
        yield from tokens_in(text)
        for match, skipped in product(_BASE64.findall(text), range(4)):
            yield from tokens_in(_decoded(match[skipped:]))


def _decoded(text: str) -> str:
    whole = text if len(text) % 4 != 1 else text[:-1]
    padded = whole.translate(str.maketrans("-_", "+/")) + "=" * (-len(whole) % 4)
    return base64.b64decode(padded).decode("latin-1")


def distinct(leaks: Sequence[Leak]) -> list[Leak]:
    """Return each leak once, in the order in which they were found."""
    return list(dict.fromkeys(leaks))
