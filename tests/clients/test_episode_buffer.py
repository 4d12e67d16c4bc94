"""Episodes are noted at once and sent beside the turns: each once, in batches, whatever fails on the way."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from memory_gateway_client import (
    AsyncEpisodeBuffer,
    AsyncMemoryClient,
    Conflict,
    EpisodeBuffer,
    MemoryClient,
    Unavailable,
)
from memory_gateway_client.ulids import new_ulid
from tests.clients.asking import TOKEN

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
NEVER = 3600.0


class Gateway:
    """Answers writes of episodes as a service does, after the failures that it is given."""

    def __init__(self, failures: Sequence[Callable[[], httpx.Response]] = (), bad: str = "") -> None:
        self.failures = list(failures)
        self.bad = bad
        self.batches: list[list[str]] = []
        self.held: dict[str, str] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)["episodes"]
        assert len(request.content) <= 256 * 1024
        self.batches.append([each["content"] for each in body])
        if any(self.bad and each["content"] == self.bad for each in body):
            return problem(422, "invalid_request")
        new = {each["episode_id"]: each["content"] for each in body if each["episode_id"] not in self.held}
        if self.failures:
            failed = self.failures.pop(0)()
            if failed.status_code == 504:  # it was written, and the answer is lost
                self.held |= new
            return failed
        self.held |= new
        return httpx.Response(201, json={"written": len(new), "known": len(body) - len(new)})


def problem(status: int, code: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "detail": "It cannot be.", "status": status})


@pytest.fixture
def buffered(kind: str) -> Callable[..., Any]:
    """Note contents in a buffer of either kind, flush it, and close it; return it and what flushing has raised."""

    async def noted(gateway: Gateway, *contents: str, flushes: int = 1, **options: Any) -> tuple[Any, list[Any]]:
        asked: dict[str, Any] = {"base_url": "http://service", "token": TOKEN, "retries": 0}
        errors: list[Any] = []
        options = {"seconds": NEVER, **options}
        buffer: Any
        if kind == "async":
            http = httpx.AsyncClient(transport=httpx.MockTransport(gateway))
            buffer = AsyncEpisodeBuffer(AsyncMemoryClient(**asked, http=http), RUN, **options)
        else:
            buffer = EpisodeBuffer(
                MemoryClient(**asked, http=httpx.Client(transport=httpx.MockTransport(gateway))), RUN, **options
            )
        for content in contents:
            buffer.append("note", content)
        assert gateway.batches == [], "no turn waits for a request"
        for _ in range(flushes):
            try:
                flushed = buffer.flush()
                if kind == "async":
                    await flushed
            except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
                errors.append(error)
        return buffer, errors

    return noted


async def test_what_is_noted_is_sent_in_its_order_in_batches_of_a_hundred(buffered: Any) -> None:
    gateway, contents = Gateway(), [str(n) for n in range(250)]
    buffer, errors = await buffered(gateway, *contents)
    assert [len(batch) for batch in gateway.batches] == [100, 100, 50]
    assert [gateway.held[id_] for id_ in sorted(gateway.held)] == contents
    assert (len(buffer), errors) == (0, [])


async def test_a_batch_is_never_larger_than_a_request_may_be(buffered: Any) -> None:
    gateway = Gateway()
    await buffered(gateway, *("\x01" * 32 * 1024,) * 3, *("ä" * 16 * 1024,) * 5)
    assert sum(map(len, gateway.batches)) == 8


async def test_what_has_failed_is_sent_again_and_is_there_once(buffered: Any) -> None:
    away, lost = lambda: problem(503, "unavailable"), lambda: problem(504, "upstream_timeout")
    gateway = Gateway([away, lost])
    buffer, errors = await buffered(gateway, "a", "b", flushes=3)
    assert [type(error) for error in errors] == [Unavailable, Unavailable]
    assert gateway.batches == [["a", "b"]] * 3
    assert sorted(gateway.held.values()) == ["a", "b"]
    assert len(buffer) == 0


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: httpx.Response(200, html="<h1>Log in to the hotel's network</h1>"), "answer_not_understood"),
        (lambda: httpx.Response(404, html="<h1>nginx</h1>"), "answer_not_understood"),
        (lambda: problem(401, "unauthenticated"), "unauthenticated"),
        (lambda: problem(500, "internal_error"), "internal_error"),
        (lambda: httpx.Response(429, headers={"Retry-After": "1"}), "rate_limited"),
    ],
)
async def test_what_tells_nothing_of_the_episodes_lets_them_wait_on(
    buffered: Any, answer: Callable[[], httpx.Response], error: str
) -> None:
    gateway = Gateway([answer])
    buffer, errors = await buffered(gateway, "a", "b", flushes=2)
    assert [each.code for each in errors] == [error]
    assert (sorted(gateway.held.values()), buffer.refused, len(buffer)) == (["a", "b"], [], 0)


async def test_one_that_is_refused_for_good_stops_no_other(buffered: Any) -> None:
    gateway = Gateway(bad="b")
    buffer, errors = await buffered(gateway, "a", "b", "c")
    assert sorted(gateway.held.values()) == ["a", "c"]
    assert ([each["content"] for each, _ in buffer.refused], len(buffer), errors) == (["b"], 0, [])


async def test_what_comes_after_the_end_of_the_run_is_refused_and_told(buffered: Any) -> None:
    buffer, _ = await buffered(Gateway([lambda: problem(409, "run_ended")]), "late")
    ((episode, reason),) = buffer.refused
    assert (episode["content"], type(reason), reason.code) == ("late", Conflict, "run_ended")


async def test_while_the_service_is_away_the_oldest_of_too_many_are_dropped(buffered: Any) -> None:
    gateway = Gateway()
    buffer, _ = await buffered(gateway, "a", "b", "c", max_waiting=2)
    assert (buffer.dropped, gateway.batches) == (1, [["b", "c"]])


async def test_a_buffer_sends_in_the_background_and_what_is_left_when_it_is_closed(kind: str) -> None:
    gateway = Gateway()
    asked: dict[str, Any] = {"base_url": "http://service", "token": TOKEN}
    transport = httpx.MockTransport(gateway)
    if kind == "async":
        awaited = AsyncMemoryClient(**asked, http=httpx.AsyncClient(transport=transport))
        async with AsyncEpisodeBuffer(awaited, RUN, seconds=0.001) as happening:
            happening.append("note", "first")
            while len(happening):
                await asyncio.sleep(0.001)
            happening.append("note", "last")
    else:
        client = MemoryClient(**asked, http=httpx.Client(transport=transport))
        with EpisodeBuffer(client, RUN, seconds=0.001) as happened:
            happened.append("note", "first")
            while len(happened):
                await asyncio.sleep(0.001)
            happened.append("note", "last")
    assert list(gateway.held.values()) == ["first", "last"]


async def test_either_client_begins_writes_ends_and_lists(bot: Any) -> None:
    run = await bot.start_run("t", {"task": None})
    assert (run.status, run.input, run.episodes, run.agent_id) == ("running", {"task": None}, (), "bot")
    assert (await bot.append_episode(run.run_id, {"type": "note", "content": "one"})).written == 1
    both = await bot.append_episode(run.run_id, [{"type": "note", "content": each} for each in ("two", "three")])
    assert (both.written, both.known) == (2, 0)
    assert [each.content for each in (await bot.episodes(agent_type="t")).episodes] == ["three", "two", "one"]
    assert [each.content for each in (await bot.start_run("t", 1, episodes=1)).episodes] == ["three"]
    done = await bot.complete_run(run.run_id, [1, {"a": None}])
    assert (done.status, done.output) == ("completed", [1, {"a": None}])
    assert await bot.get_run(run.run_id) == done
    failed = await bot.fail_run((await bot.start_run("t", None)).run_id, "boom")
    assert (failed.status, failed.error) == ("failed", "boom")
    assert [each.run_id for each in (await bot.runs(status="completed")).runs] == [run.run_id]
    with pytest.raises(Conflict) as caught:
        await bot.fail_run(run.run_id, "late")
    assert caught.value.code == "run_ended"


def test_ids_go_up_and_have_the_form_of_one() -> None:
    made = [new_ulid() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {len(each) for each in made} == {26}
