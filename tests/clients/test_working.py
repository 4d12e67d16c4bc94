"""The operations of working memory, of both clients, on the running service."""

import asyncio
from datetime import UTC, datetime

import pytest

from memory_gateway_client import NotFound, PreconditionFailed
from tests.clients.asking import Asked
from tests.support.scopes import old_run
from tests.support.service import Service

RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM"


async def test_a_key_is_set_by_compare_and_set(bot: Asked) -> None:
    first = await bot.set_working("i", "n", 1, if_none_match="*")
    with pytest.raises(PreconditionFailed) as caught:
        await bot.set_working("i", "n", 2, if_none_match="*")
    assert (caught.value.code, caught.value.status) == ("precondition_failed", 412)
    second = await bot.set_working("i", "n", None, if_match=first.etag, ttl_seconds=60)
    held = await bot.get_working("i", "n")
    assert (held.value, held.etag) == (None, second.etag)
    working = await bot.list_working("i")
    assert (working.keys, working.budget.used_bytes) == ((held,), held.bytes)
    with pytest.raises(PreconditionFailed):
        await bot.delete_working("i", "n", if_match=first.etag)
    await bot.delete_working("i", "n", if_match=second.etag)
    with pytest.raises(NotFound):
        await bot.get_working("i", "n")


async def test_a_run_has_a_state_and_a_log(bot: Asked, service: Service) -> None:
    await old_run(service, RUN)
    written = await bot.set_turn_state(RUN, {"turn": [1, None]})
    state = await bot.get_turn_state(RUN)
    assert (state.value, state.etag, state.run_id) == ({"turn": [1, None]}, written.etag, RUN)
    appended = await bot.append_run_log(RUN, [{"n": 1}, {"n": 2}])
    page = await bot.run_log(RUN, limit=1)
    assert [each.entry for each in page.entries] == [{"n": 1}]
    rest = await bot.run_log(RUN, after=page.after)
    assert ([each.number for each in rest.entries], rest.after) == ([appended.last], None)


async def test_a_window_gives_back_what_was_appended(bot: Asked) -> None:
    said = [{"role": "user", "content": "Hi", "occurred_at": datetime(2026, 1, 1, tzinfo=UTC)}]
    assert (await bot.append_messages("i", said)).appended == 1
    assert (await bot.append_messages("i", said, ttl_seconds=60)).known == 1
    window = await bot.window("i", max_tokens=100)
    assert [(each.content, each.occurred_at) for each in window.messages] == [("Hi", said[0]["occurred_at"])]
    assert (window.tokens, window.older, window.summaries) == (1, 0, ())
    assert (window.counted, window.fallen) == ("estimated", None)


async def test_a_window_names_what_fell_out_of_it(bot: Asked, service: Service) -> None:
    for number in range(3):
        said = [{"role": "user", "content": f"I keep {number} boats.", "tokens": 5_000}]
        assert (await bot.append_messages("i", said)).tokens == 5_000 * min(number + 1, 2)
        while tasks := list(service.runtime.backends.background._tasks):  # noqa: SLF001 - nothing else tells
            await asyncio.wait(tasks)
    window = await bot.window("i")
    (summary,) = window.summaries
    assert [(each.tokens, each.counted) for each in window.messages] == [(5_000, "told")]
    assert (summary.content, summary.turns) == ("user: I keep 0 boats.\nuser: I keep 1 boats.", 2)
    assert (len(summary.memories), summary.since < summary.until, summary.made_by) == (2, True, "sentences")
    assert window.fallen is not None
    assert (window.fallen.since, window.fallen.messages) == (summary.since, 2)
