"""The shares of Cloudflare's calls, by the statements that lease them, on the engine that D1 runs on."""

from app.adapters.cloudflare.call_budget import CallBudget
from app.runtime.call_shares import CallShares
from app.storage.migrations.runner import migrate
from app.storage.system.call_shares import CallLimits
from tests.contracts.conftest import Opened

LIMIT = 1_080


async def test_replicas_divide_the_calls_and_give_them_back(open_database: Opened) -> None:
    async with open_database() as database:
        await migrate(database)
        budgets = [CallBudget(LIMIT, unleased=0) for _ in range(2)]
        first, second = (
            CallShares(database, budget, replica=f"r{number}", limits=CallLimits(LIMIT))
            for number, budget in enumerate(budgets)
        )
        for each in [first, second] * 12:
            await each.renew()
        held = [budget.left() for budget in budgets]
        assert LIMIT / 2 - 4 <= sum(held) <= LIMIT / 2  # an idle one keeps half of its even part
        assert abs(held[0] - held[1]) <= 4
        budgets[0].refuse()
        for each in [first, second] * 4:
            await each.renew()
        assert budgets[0].left() > LIMIT * 3 / 4
        budgets[0].report_by(first.renew)
        for _ in range(100):
            await budgets[0].admit()
            budgets[0].take()
        await first.give_back()
        assert budgets[0].left() == 0
        for _ in range(12):
            await second.renew()
        assert LIMIT - 104 <= budgets[1].left() <= LIMIT - 100
