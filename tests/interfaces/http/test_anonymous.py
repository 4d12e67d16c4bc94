"""Requests without a verified credential take turns: addresses one after the other, health checks in their own line."""

import asyncio

from app.interfaces.http.anonymous import LEAST_PAUSE_SECONDS, AnonymousTurns


async def order(asked: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return in which order requests that come together begin."""
    turns, begun = AnonymousTurns(), list[tuple[str, str]]()

    async def ask(address: str, path: str) -> None:
        await turns.wait(address, path)
        begun.append((address, path))

    await asyncio.gather(*(ask(address, path) for address, path in asked))
    return begun


async def test_addresses_take_turns() -> None:
    asked = [("flood", "/docs")] * 4 + [("other", "/docs")]
    assert (await order(asked)).index(("other", "/docs")) == 2, "behind the one that had begun, and one of the flood"


async def test_a_health_check_does_not_wait_behind_a_flood_from_its_own_address() -> None:
    asked = [("proxy", "/openapi.json")] * 20 + [("proxy", "/healthz")]
    assert (await order(asked)).index(("proxy", "/healthz")) <= 2


async def test_one_that_comes_alone_begins_at_once() -> None:
    turns = AnonymousTurns()
    waiting = asyncio.ensure_future(turns.wait("a", "/docs"))
    await asyncio.sleep(0)
    assert waiting.done()


async def test_the_next_one_waits_for_longer_after_an_answer_that_took_long_or_is_large() -> None:
    loop = asyncio.get_running_loop()
    for seconds, sent_bytes, pause in ((0.0, 0, LEAST_PAUSE_SECONDS), (0.005, 0, 0.02), (0.0, 400_000, 0.02)):
        turns, began = AnonymousTurns(), loop.time()
        await turns.wait("a", "/docs")
        turns.ended(seconds, sent_bytes)
        await turns.wait("a", "/docs")
        assert loop.time() - began >= pause * 0.99


async def test_who_has_gone_takes_no_turn() -> None:
    turns = AnonymousTurns()
    await turns.wait("a", "/docs")
    gone, there = (asyncio.ensure_future(turns.wait("a", "/docs")) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await there
    assert gone.cancelled()
