"""Load that does not wait for answers, and the table and plot of what became of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.client import HOST, get
from bench.line_plot import Line, plot
from bench.load import Step
from bench.open_loop import NO_ANSWER, Answer, moments, offer

REQUEST = get("/", {})
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    async with await asyncio.start_server(serve, HOST, 0) as server:
        port: int = server.sockets[0].getsockname()[1]
        yield port


def reply(status: int) -> bytes:
    return f"HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\nok".encode()


async def test_requests_are_sent_whether_or_not_earlier_ones_were_answered() -> None:
    came, wanted = 0, 20
    all_came = asyncio.Event()

    async def answer_when_all_came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        await reader.readuntil(b"\r\n\r\n")
        came += 1
        if came == wanted:
            all_came.set()
        await all_came.wait()
        writer.write(reply(200))
        writer.close()

    async with serving(answer_when_all_came) as port:
        answers = await offer(port, [REQUEST] * wanted, 1000.0, seed=1)
    assert [answer.status for answer in answers] == [200] * wanted


async def test_a_request_that_could_not_be_sent_when_it_was_due_has_waited_all_the_same() -> None:
    due = list(moments(100.0, 10, seed=1))
    stalled = False

    async def stall_at_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal stalled
        await reader.readuntil(b"\r\n\r\n")
        if not stalled:
            stalled = True
            time.sleep(2 * due[-1])  # noqa: ASYNC251 - nothing can be sent meanwhile
        writer.write(reply(200))
        writer.close()

    async with serving(stall_at_first) as port:
        answers = await offer(port, [REQUEST] * 10, 100.0, seed=1)
    assert all(answer.seconds > due[-1] / 2 for answer in answers)


async def test_refusals_and_broken_connections_are_told_apart() -> None:
    served = 0

    async def refuse_then_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        if served == 1:
            writer.write(reply(429))
        writer.close()

    async with serving(refuse_then_hang_up) as port:
        first = await offer(port, [REQUEST], 100.0, seed=1)
        second = await offer(port, [REQUEST], 100.0, seed=1)
    assert [each.status for each in first + second] == [429, NO_ANSWER]


@given(st.floats(0.1, 1000), st.integers(1, 50), st.integers(0, 5))
def test_moments_begin_at_0_and_never_go_back(rate: float, count: int, seed: int) -> None:
    due = list(moments(rate, count, seed))
    assert len(due) == count
    assert due[0] == 0
    assert all(before <= after for before, after in pairwise(due))


def test_as_many_requests_are_due_as_the_rate_says() -> None:
    *_, last = moments(50.0, 10_000, seed=3)
    assert last == pytest.approx(200.0, rel=0.05)


@pytest.mark.parametrize(
    ("statuses", "kept_up"), [([200] * 20, True), ([200] * 19 + [429], True), ([200] * 18 + [429, NO_ANSWER], False)]
)
def test_a_rate_is_kept_up_with_while_nearly_all_succeed(statuses: list[int], *, kept_up: bool) -> None:
    assert Step(10.0, [Answer(status, 0.1) for status in statuses], None).kept_up is kept_up


def test_a_rate_whose_slowest_are_late_is_not_kept_up_with() -> None:
    assert not Step(10.0, [Answer(200, 0.1)] * 20 + [Answer(200, 9.0)] * 2, None).kept_up


def test_a_line_of_the_table_tells_what_was_answered_refused_and_lost() -> None:
    answers = [Answer(200, 0.25)] * 7 + [Answer(503, 0.001)] * 2 + [Answer(NO_ANSWER, 10.0)]
    row = Step(20.0, answers, calls=2.0, limited=True).row()
    assert row == ("20", "14.0", "250", "250", "250", "20.0%", "10.0%", "2.00", "1.8")


def test_where_no_limit_concerns_its_calls_a_line_tells_none() -> None:
    row = Step(20.0, [Answer(200, 0.25)] * 2, calls=1.0).row()
    assert row[-2:] == ("1.00", "")


@given(st.lists(st.tuples(st.floats(0.01, 1e6), st.floats(0.01, 1e6)), min_size=1, max_size=8))
def test_every_point_of_a_plot_lies_within_its_frame(points: list[tuple[float, float]]) -> None:
    drawn = ET.fromstring(plot([Line("a < b", points, "#000")], across="x", up="y"))  # noqa: S314 - drawn here
    (line,) = drawn.iter("{http://www.w3.org/2000/svg}polyline")
    frame = [each for each in drawn.iter("{http://www.w3.org/2000/svg}line") if each.get("class") == "grid"]
    xs = [float(each.attrib["x1"]) for each in frame]
    ys = [float(each.attrib["y1"]) for each in frame]
    for point in line.attrib["points"].split():
        x, y = map(float, point.split(","))
        assert min(xs) <= x <= max(xs)
        assert min(ys) <= y <= max(ys)
