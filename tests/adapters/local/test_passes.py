"""Who waits for whom at the model, told by the order of its passes."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest

from app.adapters.local.passes import Passes
from app.domain.embedding import Vector

LONG = [[1] * 250]
SHORT = [[2] * 10]


Sequences: TypeAlias = Sequence[Sequence[int]]


class Model:
    """One thread, which computes when it is let."""

    def __init__(self) -> None:
        self.computed: list[int] = []
        self.may = asyncio.Event()
        self.broken: Exception | None = None
        self.passes = Passes(self.encode, self.run, 1)

    def encode(self, sequences: Sequences) -> list[Vector]:
        self.computed.append(sum(map(len, sequences)))
        return [np.full(1, len(tokens), np.float32) for tokens in sequences]

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


async def test_a_short_text_of_another_tenant_is_computed_between_the_passes_of_a_long_one() -> None:
    model = Model()
    tasks = await model.asked(("loud", LONG * 3), ("loud", LONG), ("quiet", SHORT))
    model.may.set()
    assert await told(tasks) == [[250] * 3, [250], [10]]
    assert model.computed == [250, 250, 10, 250, 250]


async def test_a_short_text_is_computed_between_the_passes_of_its_own_tenants_long_one() -> None:
    model = Model()
    tasks = await model.asked(("a", LONG * 3), ("a", SHORT))
    model.may.set()
    assert await told(tasks) == [[250] * 3, [10]]
    assert model.computed == [250, 10, 250, 250]


async def test_the_texts_of_a_call_share_passes_of_up_to_256_tokens_and_keep_their_order() -> None:
    model = Model()
    tasks = await model.asked(("a", [[1] * 200, [1] * 56, [1] * 257, [1], [1] * 2]))
    model.may.set()
    assert await told(tasks) == [[200, 56, 257, 1, 2]]
    assert model.computed == [256, 257, 3]


async def test_short_calls_share_a_pass_and_a_long_one_is_not_among_them() -> None:
    model = Model()
    tasks = await model.asked(("a", SHORT), ("b", SHORT), ("c", LONG), ("a", SHORT * 12), ("b", SHORT * 12))
    model.may.set()
    assert await told(tasks) == [[10], [10], [250], [10] * 12, [10] * 12]
    assert sorted(model.computed) == [120, 140, 250]


async def test_no_sequences_have_no_pass() -> None:
    model = Model()
    assert await told(await model.asked(("a", []))) == [[]]
    assert not model.computed


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
        self.passes: Passes[Sequence[int], Vector] = Passes(
            lambda sequences: [np.full(1, len(each), np.float32) for each in sequences], self.run, threads
        )

    async def run(self, work: Callable[[Sequences], object], sequences: Sequences) -> object:
        may = asyncio.Event()
        entry = (sum(map(len, sequences)), may)
        self.running.append(entry)
        await may.wait()
        self.running.remove(entry)
        return work(sequences)

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


async def test_long_texts_of_two_tenants_delay_no_third_one_while_a_thread_is_kept_free() -> None:
    threads = Threads(2)
    long = [await threads.ask(tenant, LONG * 3) for tenant in "ab"]
    lags = []
    for _ in range(6):
        await asyncio.sleep(0.002)
        await threads.finish(250)
        lags.append(threads.passes.lag("c"))
    await told(long)
    assert set(lags) == {0}
