"""Who waits for whom at the model, told by the order in which layers are computed."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from app.adapters.local.passes import Passes, Sequences
from app.domain.embedding import Vector

LAYERS = 3
LONG = [[1] * 250]
SHORT = [[2] * 10]


class Pass:
    """Says which layer it computes, and computes nothing."""

    def __init__(self, sequences: Sequences, computed: list[int]) -> None:
        self.sequences, self.computed, self.layer = sequences, computed, 0

    def advance(self, stop: Callable[[], bool]) -> list[Vector] | None:
        while self.layer < LAYERS:
            self.computed.append(sum(map(len, self.sequences)))
            self.layer += 1
            if self.layer < LAYERS and stop():
                return None
        return [np.full(1, len(tokens), np.float32) for tokens in self.sequences]


class Model:
    """One thread, which computes when it is let."""

    def __init__(self) -> None:
        self.computed: list[int] = []
        self.may = asyncio.Event()
        self.broken: Exception | None = None
        self.passes = Passes(lambda sequences: Pass(sequences, self.computed), self.run, 1)

    async def run(self, work: Callable[..., Any], *arguments: object) -> object:
        await self.may.wait()
        if self.broken is not None:
            raise self.broken
        return work(*arguments)

    async def asked(self, *calls: tuple[str, Sequences]) -> list[asyncio.Task[list[Vector]]]:
        tasks = [asyncio.create_task(self.passes.encode(tenant, sequences)) for tenant, sequences in calls]
        await asyncio.sleep(0)
        return tasks


async def told(tasks: Sequence["asyncio.Task[list[Vector]]"]) -> list[list[float]]:
    async with asyncio.timeout(10):
        return [[float(vector[0]) for vector in vectors] for vectors in await asyncio.gather(*tasks)]


async def test_a_short_text_of_another_tenant_is_computed_between_the_layers_of_a_long_one() -> None:
    model = Model()
    tasks = await model.asked(("loud", LONG), ("loud", LONG), ("quiet", SHORT))
    model.may.set()
    assert await told(tasks) == [[250], [250], [10]]
    assert model.computed == [250, 10, 10, 10, 250, 250, 250, 250, 250]


async def test_a_tenant_alone_is_not_interrupted() -> None:
    model = Model()
    tasks = await model.asked(("loud", LONG), ("loud", [*SHORT, *LONG]))
    model.may.set()
    assert await told(tasks) == [[250], [10, 250]]
    assert model.computed == [250] * LAYERS + [260] * LAYERS


async def test_short_calls_share_a_pass_and_a_long_one_is_not_among_them() -> None:
    model = Model()
    tasks = await model.asked(("a", SHORT), ("b", SHORT), ("c", LONG), ("a", SHORT * 2), ("b", SHORT * 9))
    model.may.set()
    assert await told(tasks) == [[10], [10], [250], [10, 10], [10] * 9]
    assert set(model.computed) == {40, 250, 90}


async def test_texts_of_one_tenant_share_a_pass_which_makes_room_for_another() -> None:
    model = Model()
    text = [[3] * 60]
    tasks = await model.asked(*[("a", text)] * 5, ("b", SHORT))
    model.may.set()
    assert await told(tasks) == [[60]] * 5 + [[10]]
    assert model.computed == [240, 10, 10, 10, 240, 240, 60, 60, 60]


async def test_who_has_gone_is_not_computed() -> None:
    model = Model()
    _, gone, last = tasks = await model.asked(("a", SHORT), ("a", LONG), ("b", SHORT * 2))
    gone.cancel()
    await asyncio.sleep(0)
    model.may.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await told([last]) == [[10, 10]]
    assert 250 not in model.computed


async def test_a_failure_is_told_to_all_who_share_the_pass_and_not_to_later_ones() -> None:
    model = Model()
    tasks = await model.asked(("a", LONG), ("a", SHORT), ("b", SHORT))
    model.broken = ValueError("broken")
    model.may.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(result) for result in results] == ["broken"] * 3
    model.broken = None
    assert await told(await model.asked(("a", SHORT))) == [[10]]


@pytest.mark.parametrize("sequences", [LONG, SHORT])
async def test_each_tenant_of_many_has_its_turn(sequences: Sequences) -> None:
    model = Model()
    tasks = await model.asked(*((f"t{number % 5}", sequences) for number in range(20)))
    model.may.set()
    assert len(await told(tasks)) == 20


class Threads:
    """Threads that compute a pass once they are told to."""

    def __init__(self, threads: int) -> None:
        self.running: list[tuple[int, asyncio.Event]] = []
        self.passes = Passes(lambda sequences: Pass(sequences, []), self.run, threads)

    async def run(self, work: Any, stop: Callable[[], bool]) -> object:
        may = asyncio.Event()
        entry = (sum(len(each) for each in work.__self__.sequences), may)
        self.running.append(entry)
        await may.wait()
        self.running.remove(entry)
        return work(stop)

    def tokens(self) -> list[int]:
        return sorted(tokens for tokens, _ in self.running)

    async def ask(self, tenant: str, sequences: Sequences) -> "asyncio.Task[list[Vector]]":
        task = asyncio.create_task(self.passes.encode(tenant, sequences))
        for _ in range(3):
            await asyncio.sleep(0)
        return task

    async def finish(self, tokens: int) -> None:
        next(may for number, may in self.running if number == tokens).set()
        for _ in range(5):
            await asyncio.sleep(0)


async def test_long_texts_of_one_tenant_alone_have_all_threads() -> None:
    threads = Threads(2)
    tasks = [await threads.ask("a", LONG) for _ in range(2)]
    assert threads.tokens() == [250, 250]
    for _ in tasks:
        await threads.finish(250)
    await told(tasks)


async def test_short_calls_gather_while_a_pass_of_others_is_under_way() -> None:
    threads = Threads(2)
    first = await threads.ask("a", SHORT)
    later = [await threads.ask(tenant, SHORT) for tenant in ("a", "b", "b")]
    assert threads.tokens() == [10]
    await threads.finish(10)
    assert threads.tokens() == [30]
    await threads.finish(30)
    await told([first, *later])


async def test_a_thread_is_kept_free_for_a_tenant_that_asked_lately() -> None:
    threads = Threads(2)
    first = await threads.ask("b", SHORT)
    await threads.finish(10)
    long = [await threads.ask("a", LONG) for _ in range(2)]
    assert threads.tokens() == [250]
    second = await threads.ask("b", SHORT)
    assert threads.tokens() == [10, 250]
    await threads.finish(10)
    for _ in long:
        await threads.finish(250)
    await told([first, second, *long])
