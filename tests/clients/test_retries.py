"""What is sent again and what is not, after how long, and for how long in all."""

from typing import Any

import httpx
import pytest

from memory_gateway_client import (
    MemoryGatewayError,
    QuotaExceeded,
    Recall,
    Stored,
    Unavailable,
)
from memory_gateway_client.exchange import Pause, exchange
from memory_gateway_client.operations.memory import recall
from tests.clients.asking import ask
from tests.clients.conftest import Connect
from tests.support.service import Service

EMPTY = httpx.Response(200, json={"entries": [], "confidence": 0.0})
STORED = httpx.Response(201, json={"stored": True})
ERASING = httpx.Response(
    202, json={"id": "1", "status": "running", "accepted_at": "2026-01-01T00:00:00Z", "memories": 0}
)
ULID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


class Script:
    """Answers with one thing after the other, and keeps what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = iter(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def problem(status: int, code: str, retry_after: int | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return httpx.Response(status, json={"code": code, "detail": "Not now."}, headers=headers)


LOST = [
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("late"),
    httpx.RemoteProtocolError("closed"),
    httpx.Response(503, html="<h1>Service Unavailable</h1>"),
    httpx.Response(502, html="<h1>Bad Gateway</h1>"),
]


@pytest.mark.parametrize("lost", LOST, ids=repr)
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("recall", ["q"], EMPTY),
        ("store", ["c"], STORED),
        ("delete_memory", [ULID], httpx.Response(204)),
        ("usage", [], httpx.Response(200, json={"agents": []})),
    ],
)
async def test_what_may_be_done_twice_is_sent_again_unchanged_when_no_answer_came(
    connect: Connect, pauses: list[float], lost: Any, name: str, arguments: list[str], answer: httpx.Response
) -> None:
    script = Script(lost, lost, answer)
    await getattr(connect(script), name)(*arguments)
    first, *others = [(each.method, each.url, each.headers, each.content) for each in script.asked]
    assert others == [first, first]
    assert 0.1 <= pauses[0] <= 0.2 <= pauses[1] <= 0.4


async def test_a_store_whose_answer_is_lost_is_done_once(service: Service, kind: str, pauses: list[float]) -> None:
    inner = service.client._transport  # noqa: SLF001 - the service in this process
    keys: list[str] = []

    class LosesTheFirstAnswer(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await inner.handle_async_request(request)
            keys.append(request.headers["Idempotency-Key"])
            if len(keys) == 1:
                raise httpx.ReadError("the connection broke")
            return answer

    token = service.credential()["Authorization"].removeprefix("Bearer ")
    bot = ask(kind, LosesTheFirstAnswer(), token=token)
    assert await bot.store("once") == Stored()
    assert len(pauses) == 1
    assert keys[0] == keys[1]
    assert await service.contents("once") == ["once"]
    await bot.store("twice")
    assert keys[2] != keys[0]


async def test_the_last_failure_is_told_when_nothing_helped(connect: Connect, pauses: list[float]) -> None:
    script = Script(httpx.ConnectError("1"), httpx.ReadError("2"), httpx.ReadTimeout("3"))
    with pytest.raises(Unavailable) as caught:
        await connect(script).recall("anything")
    assert caught.value.code == "answer_timeout"
    assert (len(script.asked), len(pauses)) == (3, 2)


async def test_an_erasure_is_sent_again_only_where_it_was_never_sent(connect: Connect, pauses: list[float]) -> None:
    script = Script(httpx.ConnectError("refused"), httpx.ConnectTimeout("late"), ERASING)
    assert (await connect(script).erase_agent("bot")).status == "running"
    assert len(pauses) == 2
    for lost, code in (
        (httpx.ReadTimeout("late"), "answer_timeout"),
        (httpx.ReadError("broke"), "answer_lost"),
        (problem(503, "database_unavailable", 1), "database_unavailable"),
    ):
        script = Script(lost, ERASING)
        with pytest.raises(Unavailable) as caught:
            await connect(script).erase_tenant("acme")
        assert caught.value.code == code
        assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mint_credential", {"agent_id": "bot"}),
        ("delete_memories", {"dry_run": False, "confirm": 1}),
        ("restore_archived", {"archive_id": ULID}),
        ("agent_memory_namespace_delete", {"account_id": "a", "namespace_name": "n"}),
        ("agent_memory_profile_delete", {"account_id": "a", "namespace_name": "n", "profile_name": "p"}),
        (
            "agent_memory_memory_delete",
            {"account_id": "a", "namespace_name": "n", "profile_name": "p", "memory_id": ULID},
        ),
    ],
)
async def test_what_is_other_or_refused_the_second_time_is_not_sent_again_where_its_answer_is_lost(
    connect: Connect, pauses: list[float], name: str, said: dict[str, Any]
) -> None:
    script = Script(httpx.ReadError("broke"))
    with pytest.raises(Unavailable) as caught:
        await getattr(connect(script), name)(**said)
    assert (caught.value.code, len(script.asked), pauses) == ("answer_lost", 1, [])


async def test_a_deletion_whose_answer_is_lost_is_not_told_as_a_conflict(service: Service, kind: str) -> None:
    inner = service.client._transport  # noqa: SLF001 - the service in this process

    class LosesTheFirstAnswer(httpx.AsyncBaseTransport):
        lost = False

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await inner.handle_async_request(request)
            if not self.lost:
                self.lost = True
                raise httpx.ReadError("the connection broke")
            return answer

    await service.store("one")
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    with pytest.raises(Unavailable) as caught:
        await ask(kind, LosesTheFirstAnswer(), token=token).delete_memories(dry_run=False, confirm=1)
    assert caught.value.code == "answer_lost"
    assert await service.contents("one") == []


@pytest.mark.parametrize(
    "answer",
    [
        problem(400, "malformed_request", 1),
        problem(401, "unauthenticated", 1),
        problem(403, "forbidden"),
        problem(404, "not_found"),
        problem(409, "erasing", 1),
        problem(409, "idempotency_key_reused"),
        problem(413, "content_too_large"),
        problem(422, "invalid_request"),
        problem(429, "quota_exceeded"),
        problem(429, "rate_limited"),
        problem(500, "internal_error", 1),
        problem(502, "upstream_rejected"),
        problem(503, "quota_exhausted"),
        problem(503, "schema_too_old"),
        httpx.Response(429, html="<h1>Too Many Requests</h1>"),
        httpx.Response(404, html="<h1>Not Found</h1>"),
        httpx.Response(200, html="<h1>Log in</h1>"),
    ],
    ids=lambda answer: f"{answer.status_code} {answer.text[:30]}",
)
async def test_what_waiting_does_not_cure_is_not_sent_again(
    connect: Connect, pauses: list[float], answer: httpx.Response
) -> None:
    script = Script(answer, EMPTY)
    with pytest.raises(MemoryGatewayError):
        await connect(script).recall("anything")
    assert (len(script.asked), pauses) == (1, [])


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "rate_limited"),
        (429, "quota_exceeded"),
        (503, "database_unavailable"),
        (503, "not_thought_of_yet"),
        (504, "upstream_timeout"),
    ],
)
async def test_the_service_is_asked_again_when_it_says(
    connect: Connect, pauses: list[float], status: int, code: str
) -> None:
    script = Script(problem(status, code, 7), problem(status, code, 2), EMPTY)
    assert await connect(script).recall("anything") == Recall((), 0.0)
    assert pauses == [7, 2]


async def test_a_pause_beyond_the_time_of_the_call_is_not_made(connect: Connect, pauses: list[float]) -> None:
    script = Script(problem(429, "quota_exceeded", 31), EMPTY)
    with pytest.raises(QuotaExceeded) as caught:
        await connect(script).recall("anything")
    assert (caught.value.retry_after, len(script.asked), pauses) == (31, 1, [])


@pytest.mark.parametrize("told", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", "²", "9" * 5000, ""])
async def test_a_retry_after_that_is_not_in_seconds_is_not_one(
    connect: Connect, pauses: list[float], told: str
) -> None:
    answer = httpx.Response(503, headers=[(b"Retry-After", told.encode("latin-1"))], html="away")
    assert await connect(Script(answer, EMPTY)).recall("anything") == Recall((), 0.0)
    assert pauses[0] <= 0.2


async def test_retries_can_be_switched_off(connect: Connect, pauses: list[float]) -> None:
    script = Script(httpx.ConnectError("refused"), EMPTY)
    with pytest.raises(Unavailable) as caught:
        await connect(script, retries=0).recall("anything")
    assert caught.value.code == "service_unreachable"
    assert (len(script.asked), pauses) == (1, [])


class Clock:
    """Shows the time it is set to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def request(seconds: float) -> httpx.Request:
    return httpx.Request("POST", "http://service/recall", extensions={"seconds": seconds})


def seconds(step: httpx.Request | Pause) -> float:
    assert isinstance(step, httpx.Request)
    return float(step.extensions["seconds"])


def test_each_try_may_take_half_of_what_is_left_and_the_last_one_all_of_it(clock: Clock) -> None:
    running = exchange(recall("bot", "q"), request, timeout=40, retries=2, clock=clock)
    assert seconds(next(running)) == 20
    clock.now += 20
    assert isinstance(running.throw(httpx.ReadTimeout("late")), Pause)
    assert seconds(next(running)) == 10
    clock.now += 10
    assert isinstance(running.throw(httpx.ReadTimeout("late")), Pause)
    assert seconds(next(running)) == 10
    with pytest.raises(Unavailable) as caught:
        running.throw(httpx.ReadTimeout("late"))
    assert caught.value.code == "answer_timeout"


def test_a_call_that_is_sent_once_may_take_all_of_its_time(clock: Clock) -> None:
    running = exchange(recall("bot", "q"), request, timeout=40, retries=0, clock=clock)
    assert seconds(next(running)) == 40


def test_nothing_is_sent_after_the_time_of_the_call(clock: Clock) -> None:
    running = exchange(recall("bot", "q"), request, timeout=40, retries=9, clock=clock)
    next(running)
    clock.now += 39.95
    with pytest.raises(Unavailable) as caught:
        running.throw(httpx.ConnectError("refused"))
    assert caught.value.code == "service_unreachable"


def test_a_pause_that_took_too_long_leaves_a_moment_to_the_last_try(clock: Clock) -> None:
    running = exchange(recall("bot", "q"), request, timeout=40, retries=1, clock=clock)
    next(running)
    assert isinstance(running.throw(httpx.ConnectError("refused")), Pause)
    clock.now += 60
    assert 0 < seconds(next(running)) < 1
