"""What is asked at the same time is one call, and nobody is harmed by whom it shares the call with."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import pytest

from app.adapters.coalescing import gatherer as gathering
from app.adapters.coalescing.gatherer import Gatherer, Size, of_one_part
from tests.adapters.coalescing.recorded import Recorded, turns

MOST = Size(4, 100)


def gatherer(call: Recorded) -> Gatherer[str, str]:
    return Gatherer(call, parts=of_one_part(lambda text: Size(1, len(text))), most=MOST, refused=(ValueError,))


async def behind_a_call(asked: Gatherer[str, str], texts: Sequence[str]) -> list[asyncio.Task[str]]:
    """Ask for the first text, and for the others while its call is under way."""
    first = asyncio.create_task(asked.ask(texts[0], "t"))
    await turns()
    others = [asyncio.create_task(asked.ask(text, "t")) for text in texts[1:]]
    await turns()
    return [first, *others]


async def test_what_is_asked_alone_goes_at_once() -> None:
    call = Recorded()
    call.gate.set()
    asked = gatherer(call)
    assert [await asked.ask(text, "t") for text in ("a", "b")] == ["A", "B"]
    assert call.calls == [["a"], ["b"]]


async def test_what_is_asked_in_one_turn_of_the_event_loop_goes_together() -> None:
    call = Recorded()
    call.gate.set()
    asked = gatherer(call)
    assert await asyncio.gather(*(asked.ask(text, "t") for text in "abc")) == ["A", "B", "C"]
    assert call.calls == [["a", "b", "c"]]


async def test_a_call_that_takes_long_keeps_nobody_waiting_once_others_have_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck, calls = asyncio.Event(), list[list[str]]()

    async def call(requests: Sequence[str]) -> Sequence[str]:
        calls.append(list(requests))
        if "stuck" in requests:
            await stuck.wait()
        return requests

    asked: Gatherer[str, str] = Gatherer(
        call, parts=of_one_part(lambda text: Size(1, len(text))), most=MOST, refused=()
    )
    monkeypatch.setattr(gathering, "PATIENCE_SECONDS", 0.01)
    waiting = await behind_a_call(asked, ["stuck", "a"])
    await waiting[1]
    monkeypatch.setattr(gathering, "PATIENCE_SECONDS", 3600)
    assert await asyncio.wait_for(asked.ask("b", "t"), 5) == "b"
    stuck.set()
    await waiting[0]
    assert calls == [["stuck"], ["a"], ["b"]]


async def test_what_is_asked_while_a_call_is_under_way_is_the_next_call() -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, "abcd")
    assert call.calls == [["a"]]
    call.gate.set()
    assert await asyncio.gather(*waiting) == ["A", "B", "C", "D"]
    assert call.calls == [["a"], ["b", "c", "d"]]


async def test_while_calls_are_scarce_one_waits_so_that_others_join_it() -> None:
    seconds = [0.2]
    calls: list[list[str]] = []

    async def call(requests: Sequence[str]) -> list[str]:
        calls.append(list(requests))
        return list(requests)

    asked: Gatherer[str, str] = Gatherer(
        call, parts=of_one_part(lambda _: Size(1, 1)), most=Size(100, 100), refused=(), linger=lambda: seconds[0]
    )

    waiting = []
    for text in "abc":
        waiting.append(asyncio.create_task(asked.ask(text, "t")))
        await turns()
    await asyncio.gather(*waiting)
    assert calls == [["a", "b", "c"]]
    seconds[0] = 0.0
    assert await asyncio.wait_for(asked.ask("d", "t"), 5) == "d"
    assert calls[1:] == [["d"]]


async def test_a_call_holds_no_more_than_it_may() -> None:
    call = Recorded()
    asked = gatherer(call)
    texts = ["first", *"abcde", "x" * 60, "y" * 60, "z" * 200]
    waiting = await behind_a_call(asked, texts)
    call.gate.set()
    assert await asyncio.gather(*waiting) == [text.upper() for text in texts]
    assert call.calls == [["first"], [*"abcd"], ["e", "x" * 60], ["y" * 60], ["z" * 200]]


async def test_a_full_call_begins_beside_the_one_under_way_and_the_rest_waits() -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, ["first", *"abcdefghij"])
    assert call.calls == [["first"], [*"abcd"], [*"efgh"]]
    call.gate.set()
    await asyncio.gather(*waiting)
    assert call.calls[3:] == [["i", "j"]]


async def test_where_enough_waits_a_call_begins_beside_another_unless_calls_are_scarce() -> None:
    for linger, begun in ((0.0, [["first"], ["b", "c", "d"]]), (3600.0, [])):
        call = Recorded()
        asked: Gatherer[str, str] = Gatherer(
            call,
            parts=of_one_part(lambda _: Size(1, 1)),
            most=Size(4, 100),
            enough=Size(2, 100),
            refused=(),
            linger=iter([linger] * 100).__next__,
        )
        waiting = await behind_a_call(asked, ["first", *"bcd"])
        assert call.calls == begun
        for task in waiting:
            task.cancel()
        call.gate.set()
        await turns()


async def test_no_more_than_four_calls_are_under_way_for_full_ones_to_begin() -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, ["first", *map(str, range(30))])
    assert len(call.calls) == 4
    call.gate.set()
    assert await asyncio.gather(*waiting) == ["FIRST", *map(str, range(30))]
    assert [len(each) for each in call.calls] == [1, 4, 4, 4, 4, 4, 4, 4, 2]


async def test_a_part_that_requests_share_counts_once_in_a_call() -> None:
    call = Recorded()
    asked: Gatherer[str, str] = Gatherer(
        call, parts=lambda text: {letter: Size(1, 1) for letter in text}, most=MOST, refused=()
    )
    waiting = await behind_a_call(asked, ["first", "abc", "ab", "bcd", "ce", "e"])
    assert call.calls == [["first"], ["abc", "ab", "bcd"]]
    call.gate.set()
    await asyncio.gather(*waiting)
    assert call.calls[2:] == [["ce", "e"]]


async def test_what_was_cancelled_makes_no_call_full() -> None:
    call = Recorded()
    asked = gatherer(call)
    first, *others = await behind_a_call(asked, ["first", *"abcd"])
    for task in others:
        task.cancel()
    await turns()
    call.gate.set()
    await first
    later = [asyncio.create_task(asked.ask(text, "t")) for text in "ef"]
    assert await asyncio.gather(*later) == ["E", "F"]
    assert call.calls == [["first"], ["e", "f"]]


async def test_tenants_take_turns_in_a_call() -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, ["first"])
    waiting += [asyncio.create_task(asked.ask(f"loud {n}", "loud")) for n in range(8)]
    waiting += [asyncio.create_task(asked.ask(f"quiet {n}", "quiet")) for n in range(2)]
    await turns()
    call.gate.set()
    await asyncio.gather(*waiting)
    assert call.calls[1] == ["loud 0", "quiet 0", "loud 1", "quiet 1"]


async def test_one_bad_request_costs_the_others_of_its_call_one_call_more_and_nothing_else() -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, ("first", "a", "bad", "b"))
    call.gate.set()
    first, a, bad, b = await asyncio.gather(*waiting, return_exceptions=True)
    assert (first, a, b) == ("FIRST", "A", "B")
    assert isinstance(bad, ValueError)
    assert sorted(call.calls[2:]) == [["a"], ["b"], ["bad"]]


async def test_an_outage_is_told_to_all_and_asked_for_once() -> None:
    call = Recorded()
    call.error = OSError("away")
    asked = gatherer(call)
    waiting = await behind_a_call(asked, "abc")
    call.gate.set()
    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [OSError] * 3
    assert len(call.calls) == 2


@pytest.mark.parametrize("under_way", [True, False])
async def test_a_cancelled_request_takes_nobody_with_it(*, under_way: bool) -> None:
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, "abc")
    waiting[0 if under_way else 1].cancel()
    await turns()
    call.gate.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    kept = [answer for answer in answers if isinstance(answer, str)]
    assert kept == (["B", "C"] if under_way else ["A", "C"])
    assert call.calls == ([["a"], ["b", "c"]] if under_way else [["a"], ["c"]])


async def test_a_slow_call_keeps_the_next_one_waiting_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "PATIENCE_SECONDS", 0.01)
    call = Recorded()
    asked = gatherer(call)
    waiting = await behind_a_call(asked, "abc")
    while len(call.calls) < 2:
        await asyncio.sleep(0.005)
    assert call.calls == [["a"], ["b", "c"]]
    call.gate.set()
    await asyncio.gather(*waiting)


async def test_a_call_is_made_in_no_requests_own_context() -> None:
    whose: ContextVar[str] = ContextVar("whose", default="nobody's")
    seen: list[str] = []

    async def call(requests: list[str]) -> list[str]:
        seen.append(whose.get())
        return requests

    whose.set("the first request's")
    asked: Gatherer[str, str] = Gatherer(call, parts=of_one_part(lambda _: Size(1, 1)), most=MOST, refused=())  # type: ignore[arg-type]
    await asked.ask("a", "t")
    assert seen == ["nobody's"]
