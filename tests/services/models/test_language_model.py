"""A language model as one tenant's services see it: its share, its limits of a day, and whose messages are told."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field

from app.domain.errors import QuotaExceeded, UpstreamTimeout, UpstreamUnavailable
from app.domain.quotas import ModelLimits, ModelUsage
from app.ports.language_model import STAGES, ModelMessage, Stage
from app.services.models.language_model import ModelShares, TenantLanguageModel
from app.services.models.schema import schema
from app.services.models.spend import ModelSpend
from app.services.turns.shares import ALL_LEARNING_CALLS, LEARNING_CALLS, RECALL_CALLS
from tests.support.language_models import TOKENS, ScriptedLanguageModel

NOW = 1_790_000_000_000


@dataclass(frozen=True)
class Answer:
    word: Annotated[str, Field(max_length=9)]


FORM = schema("answer", Answer)
READ = Answer("word")


@dataclass
class Tenants:
    """A model, and what makes it a tenant's."""

    model: ScriptedLanguageModel
    spend: ModelSpend
    shares: ModelShares

    def of(self, tenant_id: str) -> TenantLanguageModel:
        return TenantLanguageModel(tenant_id, self.model, self.spend, self.shares, lambda: NOW)

    async def ask(self, tenant_id: str = "acme", stage: Stage = "extract", **given: Any) -> Answer:
        asked: dict[str, Any] = {"max_tokens": 50, "affinity": "ann"} | given
        return await self.of(tenant_id).complete([ModelMessage("user", "hello")], FORM, stage=stage, **asked)


def tenants(**limits: int) -> Tenants:
    model = ScriptedLanguageModel({stage: {"word": "word"} for stage in STAGES})
    return Tenants(model, ModelSpend(ModelLimits(**limits)), ModelShares())


async def test_an_answer_is_that_of_the_model() -> None:
    of = tenants()
    assert await of.ask("acme", "verify", max_tokens=7, seconds=3.0) == READ
    (asked,) = of.model.calls
    assert (asked.stage, asked.max_tokens, asked.schema) == ("verify", 7, "answer")
    assert asked.seconds == pytest.approx(3.0, abs=0.1)
    assert of.of("acme").name("verify") == "scripted/verify"


async def test_an_ingestions_call_has_the_time_that_the_model_gives_it() -> None:
    of = tenants()
    await of.ask()
    assert of.model.calls[0].seconds is None


async def test_what_tells_that_messages_belong_together_is_one_for_a_profile_and_names_nobody() -> None:
    of = tenants()
    for tenant, profile in (("acme", "ann"), ("acme", "ann"), ("acme", "bob"), ("other", "ann"), ("acmea", "nn")):
        await of.ask(tenant, affinity=profile)
    first, again, *others = (asked.affinity for asked in of.model.calls)
    assert first == again
    assert len({first, *others}) == 4
    assert all(len(each) == 32 and each.isalnum() for each in (first, *others))


async def test_a_tenant_asks_so_much_at_once_for_its_ingestions_and_others_find_the_model_free() -> None:
    of = tenants()
    of.model.waits = True
    calls = [asyncio.create_task(of.ask()) for _ in range(3 * LEARNING_CALLS)]
    other = asyncio.create_task(of.ask("other"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert of.model.under_way == LEARNING_CALLS + 1
    of.model.waits = False
    assert await asyncio.gather(*calls, other) == [READ] * (3 * LEARNING_CALLS + 1)
    assert of.model.most_at_once == LEARNING_CALLS + 1


async def test_the_ingestions_of_all_tenants_leave_the_model_room_for_recalls() -> None:
    of = tenants()
    of.model.waits = True
    calls = [asyncio.create_task(of.ask(f"tenant-{number}")) for number in range(2 * ALL_LEARNING_CALLS)]
    recall = asyncio.create_task(of.ask("tenant-1", "synthesise"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert of.model.under_way == ALL_LEARNING_CALLS + 1
    of.model.waits = False
    assert await asyncio.gather(*calls, recall) == [READ] * (2 * ALL_LEARNING_CALLS + 1)


async def test_a_recall_does_not_wait_for_the_ingestions_of_its_tenant() -> None:
    of = tenants()
    of.model.waits = True
    ingestions = [asyncio.create_task(of.ask()) for _ in range(2 * LEARNING_CALLS)]
    recalls = [asyncio.create_task(of.ask(stage="analyse", seconds=5)) for _ in range(2 * RECALL_CALLS)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert of.model.under_way == LEARNING_CALLS + RECALL_CALLS
    of.model.waits = False
    await asyncio.gather(*ingestions, *recalls)


async def test_what_is_asked_in_the_background_takes_no_room_of_recalls_whatever_its_stage() -> None:
    of = tenants()
    of.model.waits = True
    behind = [asyncio.create_task(of.ask(stage="synthesise", in_background=True)) for _ in range(2 * LEARNING_CALLS)]
    recalls = [asyncio.create_task(of.ask(stage="synthesise", seconds=5)) for _ in range(RECALL_CALLS)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert of.model.under_way == LEARNING_CALLS + RECALL_CALLS
    of.model.waits = False
    assert set(await asyncio.gather(*behind, *recalls)) == {READ}


async def test_a_wait_for_earlier_calls_of_the_tenant_counts_in_the_seconds() -> None:
    of = tenants()
    of.model.waits = True
    earlier = [asyncio.create_task(of.ask(stage="synthesise", seconds=60)) for _ in range(RECALL_CALLS)]
    await asyncio.sleep(0.01)
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamTimeout, match="Earlier calls of the tenant"):
            await of.ask(stage="analyse", seconds=0.05)
    late = asyncio.create_task(of.ask(stage="analyse", seconds=10))
    await asyncio.sleep(0.05)
    of.model.waits = False
    await asyncio.gather(*earlier, late)
    assert of.model.calls[-1].seconds is not None
    assert of.model.calls[-1].seconds < 9.97


@pytest.mark.parametrize("error", [UpstreamUnavailable("away"), RuntimeError("defect")])
async def test_a_call_that_fails_gives_back_its_place(error: Exception) -> None:
    of = tenants()
    of.model.errors["extract"] = error
    for _ in range(2 * LEARNING_CALLS):
        with pytest.raises(type(error)):
            await of.ask()
    of.model.errors.clear()
    assert await of.ask() == READ


async def test_a_call_that_is_cancelled_gives_back_its_place() -> None:
    of = tenants()
    of.model.waits = True
    calls = [asyncio.create_task(of.ask()) for _ in range(2 * LEARNING_CALLS)]
    await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    of.model.waits = False
    assert await of.ask() == READ


async def test_calls_over_the_limit_of_a_day_are_refused_before_they_are_made() -> None:
    of = tenants(calls_per_day=2)
    await of.ask()
    await of.ask(stage="synthesise")
    for stage in ("extract", "synthesise"):
        with pytest.raises(QuotaExceeded, match="2 calls of language models per day") as caught:
            await of.ask(stage=stage)
        assert caught.value.reached == "model_calls_per_day;scope=tenant;used=2;limit=2"
        assert caught.value.retry_after is not None
    assert len(of.model.calls) == 2
    assert await of.ask("other") == READ


async def test_calls_that_wait_together_do_not_pass_the_limit_together() -> None:
    of = tenants(tokens_per_day=2 * TOKENS)
    done = await asyncio.gather(*(of.ask() for _ in range(3 * LEARNING_CALLS)), return_exceptions=True)
    refused = [each for each in done if isinstance(each, QuotaExceeded)]
    assert len(of.model.calls) <= LEARNING_CALLS
    assert len(refused) == 3 * LEARNING_CALLS - len(of.model.calls)


async def test_calls_that_are_under_way_count_against_the_calls_of_a_day() -> None:
    of = tenants(calls_per_day=3)
    of.model.waits = True
    calls = [asyncio.create_task(of.ask(stage="analyse", seconds=5)) for _ in range(RECALL_CALLS)]
    other = asyncio.create_task(of.ask("other", "analyse", seconds=5))
    await asyncio.sleep(0.01)
    of.model.waits = False
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert done.count(READ) == 3
    assert all(each == READ or isinstance(each, QuotaExceeded) for each in done)
    assert await other == READ
    assert len(of.model.calls) == 4


async def test_a_call_that_fails_takes_none_of_the_calls_of_a_day() -> None:
    of = tenants(calls_per_day=1)
    of.model.errors["analyse"] = UpstreamUnavailable("away")
    for _ in range(3):
        with pytest.raises(UpstreamUnavailable):
            await of.ask(stage="analyse", seconds=5)
    of.model.errors.clear()
    assert await of.ask(stage="analyse", seconds=5) == READ


async def test_usage_is_what_is_written_and_what_is_not_yet() -> None:
    of = tenants(calls_per_day=9)
    await of.ask()
    await of.ask("other")
    assert of.of("acme").usage(5, 500) == ModelUsage(6, 500 + TOKENS, ModelLimits(calls_per_day=9))
    of.spend.take()
    assert of.of("acme").usage(6, 600) == ModelUsage(6, 600, ModelLimits(calls_per_day=9))
