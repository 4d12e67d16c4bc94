"""Calls with a circuit: they have connections of their own, and none is made while it is open."""

import asyncio
from dataclasses import replace

import pytest

from app.adapters.breaker import TIME_OUTS, Breaker
from app.adapters.upstream import Call
from app.domain.errors import CircuitOpen, UpstreamTimeout
from tests.adapters.replies import BODY, CALL, done, failed, hangs, serving, upstream_of

_CONNECTIONS = 100


async def test_calls_of_one_kind_that_hang_leave_those_of_another_their_connections() -> None:
    async with serving(*[hangs] * _CONNECTIONS, done) as service, upstream_of(service.url) as upstream:
        slow, other = (Call("thing.do", "POST", "/thing", b"{}", breaker=Breaker(name)) for name in ("slow", "other"))
        hanging = [asyncio.create_task(upstream.send(slow)) for _ in range(2 * _CONNECTIONS)]
        while service.requests < _CONNECTIONS:
            await asyncio.sleep(0.001)
        assert (await upstream.send(other)).content == BODY
        assert (await upstream.send(CALL)).content == BODY
        assert service.connections == _CONNECTIONS + 2
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


async def test_after_three_time_outs_no_call_reaches_the_service() -> None:
    call = replace(CALL, seconds=0.05, breaker=Breaker("thing"))
    async with serving(hangs) as service, upstream_of(service.url) as upstream:
        for _ in range(TIME_OUTS):
            assert type(await failed(upstream, call)) is UpstreamTimeout
        requests = service.requests
        with pytest.raises(CircuitOpen):
            await upstream.send(call)
        assert service.requests == requests
