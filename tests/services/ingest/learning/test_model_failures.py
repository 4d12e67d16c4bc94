"""Whatever the model does, the messages are memories, the operation ends, and it tells what failed."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import (
    MemoryGatewayError,
    OperationRunning,
    QuotaExceeded,
    QuotaExhausted,
    RateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.domain.limits import MAX_UNFINISHED_INGESTIONS
from app.domain.quotas import ModelLimits
from app.ports.language_model import Stage
from app.services.ingest.ingester import Ingester
from app.services.models import model_calls
from app.services.models.spend import ModelSpend
from tests.services.ingest.learning.scenes import Scene, scene, user
from tests.support.ingestions import ingestion as unfinished
from tests.support.scripted_model import HONEST, Answer, ScriptedModel, at_once, failing
from tests.support.tables import ANY

pytestmark = pytest.mark.thorough

SAID = [f"I like number{number}" for number in range(12)]
LEARNED = [f"The user like number{number}" for number in range(12)]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait between two tries."""
    monkeypatch.setattr(model_calls, "_FIRST_PAUSE", 0.01)


async def every_message_is_there(made: Scene) -> None:
    assert sorted(await made.texts(message_id=ANY)) == sorted(SAID)
    assert SAID[3] in await made.bench.contents("number3")


def first_fail(times: int, error: MemoryGatewayError, answer: Answer) -> Answer:
    left = iter(range(times))

    def answered(text: str) -> Any:
        if next(left, None) is not None:
            raise error
        return answer(text)

    return answered


OUTAGES: Mapping[str, Callable[[], MemoryGatewayError]] = {
    "upstream_unavailable": lambda: at_once(UpstreamUnavailable("It is down.")),
    "upstream_timeout": lambda: at_once(UpstreamTimeout("It is slow.")),
    "rate_limited": lambda: RateLimited("Too many calls.", retry_after=3600),
    "quota_exhausted": lambda: QuotaExhausted("No credit is left."),
}
STAGES: tuple[Stage, ...] = ("extract", "detail", "verify", "classify")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("code", OUTAGES)
async def test_what_the_model_does_not_answer_has_failed_and_a_retry_finishes_it(
    tmp_path: Path, stage: Stage, code: str
) -> None:
    async with scene(tmp_path, ScriptedModel({stage: failing(OUTAGES[code]())})) as made:
        ingestion = await made.ingest(user(*SAID))
        report = await made.report(ingestion)
        await every_message_is_there(made)
        ended = await made.ended(ingestion)
        assert (ended.status, ended.written, ended.failure) == ("done", 12, None)
        codes = [each.code for each in report.failed_passes] + [each.reason for each in report.told["failed"]]
        assert codes
        assert {*codes} == {code}
        assert "waiting" not in report.counts.passes
        assert not {"proposed", "verified"} & report.counts.proposals.keys()
        made.model.answers = {}
        assert (await made.ingester.retry("bot", str(ingestion.id))).status == "running"
        again = await made.report(ingestion)
        assert sorted(await made.texts()) == sorted(LEARNED)
        assert (again.counts.passes, again.counts.proposals) == ({"done": 2}, {"learned": 12})
        await every_message_is_there(made)


async def test_a_model_that_is_busy_is_asked_twice_more(tmp_path: Path) -> None:
    busy = RateLimited("Too many calls.", retry_after=0)
    answers: Mapping[Stage, Answer] = {
        "extract": first_fail(2, busy, HONEST["extract"]),
        "verify": first_fail(2, at_once(UpstreamUnavailable("It is down.")), HONEST["verify"]),
    }
    async with scene(tmp_path, ScriptedModel(answers)) as made:
        report = await made.learned(user("I moved to Oslo"))
        assert report.counts.proposals == {"learned": 1}
        assert (made.model.calls["extract"], made.model.calls["verify"]) == (3, 3)


async def test_a_model_that_stays_away_is_asked_three_times_for_a_pass_and_no_more_after_eight(tmp_path: Path) -> None:
    away = failing(at_once(UpstreamUnavailable("It is down.")))
    async with scene(tmp_path, ScriptedModel({"extract": away, "detail": away})) as made:
        report = await made.learned(user("I moved to Oslo"))
        assert made.model.calls == {"extract": 3}
        assert report.counts.passes == {"failed": 1}
        made.model.calls.clear()
        report = await made.learned(user(*(f"I like number{number} {'x ' * 4000}" for number in range(30))), "long")
        assert report.counts.passes["failed"] == 60
        assert sum(made.model.calls.values()) <= 3 * (8 + model_calls.AT_ONCE)


@pytest.mark.parametrize("code", ["quota_exhausted", "rate_limited"])
async def test_whoever_has_no_credit_or_asks_to_wait_for_long_is_not_asked_again_for_the_pass(
    tmp_path: Path, code: str
) -> None:
    async with scene(tmp_path, ScriptedModel({"extract": failing(OUTAGES[code]())})) as made:
        await made.learned(user("I moved to Oslo"))
        assert made.model.calls == {"extract": 1}


async def test_where_the_days_limit_is_reached_no_call_is_made_and_the_rest_has_failed(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        made.bench.backends = _limited(made, calls_per_day=1)
        report = await made.learned(user(*SAID[:3]))
        assert made.model.calls == {"extract": 1}
        assert {each.reason for each in report.told["failed"]} == {"quota_exceeded"}
        assert len(report.told["failed"]) == 3
        assert sorted(await made.texts(message_id=ANY)) == sorted(SAID[:3])


def _limited(made: Scene, **limits: int) -> Any:
    return replace(made.bench.backends, model_spend=ModelSpend(ModelLimits(**limits)))


@pytest.mark.parametrize(
    "nonsense", [None, [], "text", 7, {}, {"memories": "none"}, {"memories": [{}]}, {"memories": [], "more": 1}]
)
@pytest.mark.parametrize("stage", STAGES)
async def test_an_answer_of_another_form_fails_what_was_asked_and_nothing_else(
    tmp_path: Path, stage: Stage, nonsense: Any
) -> None:
    async with scene(tmp_path, ScriptedModel({stage: lambda _: nonsense})) as made:
        report = await made.learned(user(*SAID))
        await every_message_is_there(made)
        failed = [each.code for each in report.failed_passes] + [each.reason for each in report.told["failed"]]
        assert {*failed} == {"model_answer_rejected"}
        if stage == "detail":
            assert sorted(await made.texts()) == sorted(LEARNED)


async def test_an_operation_that_runs_is_not_tried_again_and_one_that_failed_nothing_does_nothing(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ScriptedModel(seconds=0.3)) as made:
        ingestion = await made.ingest(user("I moved to Oslo"))
        with pytest.raises(OperationRunning):
            await made.ingester.retry("bot", str(ingestion.id))
        await made.ended(ingestion)
        calls = made.model.calls.total()
        assert (await made.ingester.retry("bot", str(ingestion.id))).status == "done"
        await asyncio.sleep(0.1)
        assert made.model.calls.total() == calls


async def test_without_room_a_retry_is_refused_where_something_has_failed_and_does_nothing_where_nothing_has(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as made:
        done = await made.ingest(user("I moved to Oslo"))
        await made.ended(done)
        made.model.answers = {"extract": failing(QuotaExhausted("No credit is left."))}
        failed = await made.ingest(user("I moved to Rome"), "later")
        await made.ended(failed)
        for number in range(MAX_UNFINISHED_INGESTIONS):
            await unfinished(made.bench, f"01M8QQTCXRV86AW2R8FMJRT8{number:02}", session_id=str(number))
        assert (await made.ingester.retry("bot", str(done.id))).status == "done"
        with pytest.raises(QuotaExceeded):
            await made.ingester.retry("bot", str(failed.id))
        assert (await made.ended(failed)).status == "done"


async def test_where_no_model_is_set_any_more_a_resumed_ingestion_ends_and_says_what_was_not_read(
    tmp_path: Path,
) -> None:
    async with scene(
        tmp_path, ScriptedModel({"extract": failing(at_once(UpstreamUnavailable("It is down.")))})
    ) as made:
        ingestion = await made.ingest(user("I moved to Oslo"))
        await made.report(ingestion)
        without = made.bench.backends.of_tenant("acme")
        await Ingester(without).retry("bot", str(ingestion.id))
        report = await made.report(ingestion)
        assert [each.code for each in report.failed_passes] == ["unavailable"]
