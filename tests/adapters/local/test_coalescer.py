import asyncio
from collections.abc import Sequence

import pytest

from app.adapters.local.coalescer import Coalescer


class Work:
    """Doubles numbers, one group at a time, when it is let; says no to odd ones."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, list[int]]] = []
        self.gate = asyncio.Event()
        self.broken: Exception | None = None
        self.together: Coalescer[str, int, int] = Coalescer(self.answer)

    async def answer(self, key: str, questions: Sequence[int]) -> list[int | Exception]:
        self.groups.append((key, list(questions)))
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        return [ValueError(f"{number} is odd") if number % 2 else 2 * number for number in questions]

    def ask(self, key: str, *numbers: int) -> list[asyncio.Task[int]]:
        return [asyncio.create_task(self.together.ask(key, number)) for number in numbers]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_who_ask_meanwhile_form_the_next_group_of_their_key() -> None:
    work = Work()
    first = work.ask("a", 2)
    await settled()
    later = work.ask("a", 4, 6) + work.ask("b", 8)
    await settled()
    assert work.groups == [("a", [2]), ("b", [8])]
    work.gate.set()
    assert await asyncio.gather(*first, *later) == [4, 8, 12, 16]
    assert work.groups == [("a", [2]), ("b", [8]), ("a", [4, 6])]


async def test_a_refused_question_does_not_touch_the_others() -> None:
    work = Work()
    work.gate.set()
    two, three, four = await asyncio.gather(*work.ask("a", 2, 3, 4), return_exceptions=True)
    assert (two, str(three), four) == (4, "3 is odd", 8)


async def test_a_failure_of_the_work_reaches_everyone_and_the_next_group_works() -> None:
    work = Work()
    work.gate.set()
    work.broken = OSError("gone")
    outcomes = await asyncio.gather(*work.ask("a", 2, 4), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["gone", "gone"]
    work.broken = None
    assert await work.together.ask("a", 2) == 4


async def test_one_who_leaves_does_not_keep_the_others_from_their_answer() -> None:
    work = Work()
    leaving, staying = work.ask("a", 2, 4)
    await settled()
    leaving.cancel()
    work.gate.set()
    assert await staying == 8
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await work.together.ask("a", 6) == 12
