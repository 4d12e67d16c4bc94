"""Three services on one account that enforces Cloudflare's limit, under agents that ask as fast as they can.

Time runs ten times as fast for all of them: the account's clock is the clock of the budgets too.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.runtime.call_shares import CallShares
from memory_gateway_double.faults import Fault
from tests.simulation.call_budget import jain
from tests.support.backends import Backend, running_on
from tests.support.service import Service, serving

SCALE = 10.0
WINDOW = 300.0
LIMIT = 1_100
SHORTEST_STEP = 0.04
"""What D1 and Vectorize take for a call, in seconds of the account."""
BLOCKED = 60.0
"""For how many seconds of the account it is blocked."""


@pytest.fixture
def account() -> Iterator[Backend]:
    with running_on("cloudflare", rate_limit=True, time_scale=SCALE) as backend:
        yield backend


@pytest.fixture
def limited(account: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """An account of which services count the calls by its clock."""
    account.settings(tmp_path)
    double = account.doubles[tmp_path].double
    for operation in ("d1.query", "vectorize.query"):
        double.faults.add(Fault(operation, kind="delay", delay_seconds=SHORTEST_STEP / SCALE, times=10**9))
    clock = double.clock.now

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / SCALE)

    monkeypatch.setattr("app.bootstrap.account.CallBudget", partial(CallBudget, clock=clock))
    tenant_calls = partial(TenantCalls, clock=clock, linger_seconds=1 / SCALE)
    monkeypatch.setattr("app.bootstrap.account.TenantCalls", tenant_calls)
    monkeypatch.setattr("app.bootstrap.account.CallShares", partial(CallShares, clock=clock, sleep=sleep))
    return account


class Agents:
    """Agents that ask again as soon as they are answered, or wait as long as they are told and ask the same again."""

    def __init__(self) -> None:
        self.served: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.names = count()
        self.waited = 0
        self.in_vain = 0

    async def ask(self, service: Service, tenant: str, pause: float) -> None:
        name, number, told = next(self.names), 0, False
        while True:
            number += not told
            body = {"agent_id": "bot", "query": f"Agent {name} asks {number}"}
            answer = await service.post("/recall", body, tenant=tenant)
            self.statuses[answer.status_code] += 1
            refused = answer.status_code != 200
            self.waited += told
            self.in_vain += told and refused
            told = refused
            self.served[tenant] += not refused
            await asyncio.sleep((int(answer.headers["retry-after"]) if refused else pause) / SCALE)


@pytest.mark.thorough
async def test_64_agents_of_8_tenants_at_3_services_use_two_windows_up_without_a_block(
    tmp_path: Path, limited: Backend
) -> None:
    agents = Agents()
    double = limited.doubles[tmp_path].double
    async with AsyncExitStack() as stack:
        services = [
            await stack.enter_async_context(serving(tmp_path, on=limited, cloudflare_calls_per_window=LIMIT))
            for _ in range(3)
        ]
        began, before = double.clock.now(), sum(double.calls().values())
        asking = [
            asyncio.create_task(
                agents.ask(services[n // 8 % 3], f"t{n % 8}", pause=SHORTEST_STEP if n % 8 == 0 else 50 * SHORTEST_STEP)
            )
            for n in range(64)
        ]
        await asyncio.sleep((began + 2 * WINDOW - double.clock.now()) / SCALE)
        calls = sum(double.calls().values()) - before
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    said = f"{calls} calls, {sum(agents.served.values())} served, {agents.in_vain} of {agents.waited} waited in vain"
    assert set(agents.statuses) == {200, 429}
    assert 0.95 * 2 * LIMIT <= calls <= 2 * LIMIT, said
    assert jain(list(agents.served.values())) >= 0.95, said
    # The way of an answer takes ten times as long as it does, so another agent of the tenant often comes first.
    assert agents.in_vain <= 0.2 * agents.waited, said


@pytest.mark.long
async def test_64_agents_of_a_service_are_served_3_recalls_a_second_and_more_for_as_long_as_they_ask(
    tmp_path: Path, limited: Backend
) -> None:
    agents = Agents()
    double = limited.doubles[tmp_path].double
    async with serving(tmp_path, on=limited, cloudflare_calls_per_window=1_200) as service:
        asking = [asyncio.create_task(agents.ask(service, f"t{n % 8}", pause=SHORTEST_STEP)) for n in range(64)]
        await asyncio.sleep(WINDOW / SCALE)  # in the first one they may spend three quarters at once
        began, served, calls = double.clock.now(), sum(agents.served.values()), sum(double.calls().values())
        await asyncio.sleep(WINDOW / SCALE)
        seconds = double.clock.now() - began
        served, calls = sum(agents.served.values()) - served, sum(double.calls().values()) - calls
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    said = f"{served} served with {calls} calls in {seconds:.0f} s"
    assert set(agents.statuses) == {200, 429}
    assert served >= 3 * seconds, said
    # tests/runtime/test_many_clients.py holds 1.15; here ten times as much happens at a time, and calls end unanswered.
    assert calls <= 1.2 * served, said


@pytest.mark.thorough
async def test_after_a_block_that_others_have_caused_services_only_look_now_and_then_whether_it_is_over(
    tmp_path: Path, limited: Backend
) -> None:
    double = limited.doubles[tmp_path].double

    async def ask(service: Service) -> tuple[int, str | None]:
        answer = await service.post("/recall", {"agent_id": "bot", "query": "anything"})
        return answer.status_code, answer.json().get("code")

    async with AsyncExitStack() as stack:
        services = [
            await stack.enter_async_context(serving(tmp_path, on=limited, cloudflare_calls_per_window=LIMIT))
            for _ in range(3)
        ]
        for operation in ("d1.*", "vectorize.*"):
            double.faults.add(Fault(operation, status=429, headers={"retry-after": f"{BLOCKED:g}"}, times=None))
        began = double.clock.now()
        for service in services:  # each finds out by a call of its own: D1, which they share, is blocked too
            assert await ask(service) == (503, "cloudflare_blocks")
        found_out, calls = double.clock.now(), double.calls()
        while double.clock.now() < began + BLOCKED - 5:
            for service in services:
                assert await ask(service) == (503, "cloudflare_blocks")
            await asyncio.sleep(2 / SCALE)
        looks = Counter(double.calls()) - Counter(calls)  # each looks again after 30 seconds, by asking for its share
        assert set(looks) <= {"d1.query"}
        assert looks.total() <= 2 * len(services)
        double.faults.clear()
        # A look that was refused heard of another minute, and the next one is 30 seconds after it.
        await asyncio.sleep((found_out + BLOCKED + 40 - double.clock.now()) / SCALE)
        assert [await ask(service) for service in services] == [(200, None)] * 3
