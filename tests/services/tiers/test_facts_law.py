"""Which facts hold is a function of what was told, how surely and when, as a plain model has it."""

import asyncio
import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.claim import PERHAPS
from app.domain.explicit import about, read_fact
from app.domain.facts import Fact
from app.domain.query import Query
from app.services.tiers.facts import SemanticMemory
from tests.support.backends import BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.memories import set_memories

DAY = 86_400_000
KEYS = (("user", "lives in"), ("api", "port"), ("invoice service", "retries after"))
VALUES = (("Rome", "Oslo"), ("8080", "9090"), ("5 s", "a while"))
SINGLE = (True, True, False)
"""Whether of each key one object holds at a time."""


@dataclass(frozen=True)
class Said:
    """Something that is told on a day of its own."""

    key: int
    value: int
    sureness: float
    day: int
    is_forgotten: bool

    @property
    def fact(self) -> Fact:
        return Fact(*KEYS[self.key], VALUES[self.key][self.value], self.sureness, single=SINGLE[self.key])

    @property
    def chain(self) -> tuple[int, int]:
        """What one value holds of at a time: what is told as single, else each object of its own."""
        return self.key, 0 if SINGLE[self.key] else self.value

    @property
    def is_sure(self) -> bool:
        return self.sureness >= 0.5


said = st.builds(
    Said,
    st.integers(0, len(KEYS) - 1),
    st.integers(0, 1),
    st.sampled_from([0.0, 0.3, 0.49, 0.5, 0.8, 1.0]),
    st.integers(1, 12),
    st.sampled_from([False, False, False, True]),
)


def standing(told: Sequence[Said]) -> list[Said]:
    """Return those of one key and kind that say what holds of it, in order: the last that say the same."""
    ordered = sorted(told, key=lambda each: each.day)
    return list(itertools.takewhile(lambda each: each.value == ordered[-1].value, reversed(ordered)))[::-1]


def expected(told: Sequence[Said]) -> tuple[list[Said], set[Said], set[Said]]:
    """Return what is listed of what holds, newest first, all that holds, and all of the history."""
    listed: list[Said] = []
    holds: set[Said] = set()
    for chain in sorted({each.chain for each in told}):
        for sure in (True, False):
            shown = [
                each
                for each in standing([each for each in told if each.chain == chain and each.is_sure == sure])
                if not each.is_forgotten
            ]
            if shown and (sure or not any(each.chain == chain for each in listed)):
                listed.append(shown[-1])
                holds |= {*shown}
    listed.sort(key=lambda each: each.day, reverse=True)
    return listed, holds, {each for each in told if not each.is_forgotten}


async def tell(bench: Bench, each: Said) -> str:
    semantic = SemanticMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
    learned = await semantic.learn("bot", each.fact, occurred_at=each.day * DAY)
    assert learned.fact == each.fact
    return learned.memory_id


async def check(bench: Bench, told: Sequence[Said], order: Random) -> None:
    semantic = SemanticMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
    ids: dict[Said, str] = {}
    arriving = [*told, *told[::2]]
    order.shuffle(arriving)
    for each in arriving:
        memory_id = await tell(bench, each)
        assert ids.setdefault(each, memory_id) == memory_id  # told again, it is the same memory
    assert len({*ids.values()}) == len(told)
    for each in told:
        if each.is_forgotten:
            await set_memories(bench, {"forgotten_at": 1}, id=ids[each])
    said_by = {memory_id: each for each, memory_id in ids.items()}
    listed, holds, history = expected(told)
    assert [said_by[each.memory_id] for each in (await semantic.facts("bot")).items] == listed
    assert [said_by[each.memory_id] for each in await semantic.holding("bot", 2)] == listed[:2]
    page = (await semantic.facts("bot", history=True, limit=100)).items
    assert {said_by[each.memory_id] for each in page} == history
    assert {said_by[each.memory_id] for each in page if each.holds} == holds
    assert [each.since for each in page] == sorted((each.day * DAY for each in history), reverse=True)
    assert all(each.fact == said_by[each.memory_id].fact for each in page)
    for number, key in enumerate(KEYS):
        of_key = [each.memory_id for each in (await semantic.facts("bot", subject=key[0], predicate=key[1])).items]
        assert [said_by[each] for each in of_key] == [each for each in listed if each.key == number]
    found = (await semantic.recall("bot", Query("Where is the user, the api port, the invoice service?", 50))).entries
    assert {said_by[each.entry.id] for each in found} == holds
    for recalled in found:
        assert recalled.fact == said_by[recalled.entry.id].fact


TOLD = st.lists(said, min_size=1, max_size=8, unique_by=lambda each: each.day)


def as_the_model(told: Sequence[Said], order: Random, on: BackendName) -> None:
    async def run(path: Path) -> None:
        with running_on(on) as backend:
            async with bench_on(path, backend) as bench:
                await check(bench, told, order)

    with tempfile.TemporaryDirectory() as path:
        asyncio.run(run(Path(path)))


@pytest.mark.parametrize("name", ["embedded", pytest.param("cloudflare", marks=pytest.mark.cloudflare)])
@settings(deadline=None, max_examples=examples(40))
@given(told=TOLD, order=st.randoms())
def test_what_holds_is_as_a_model_says_in_whatever_order_it_arrives(
    name: BackendName, told: list[Said], order: Random
) -> None:
    as_the_model(told, order, name)


texts = st.text(min_size=1, max_size=256).filter(lambda text: text.strip() and len(text.encode()) <= 256)
parts = texts | st.sampled_from(["user", "Perhaps user", "PERHAPS", "lives in", "likes", "a/b", "w " * 120, "p" * 256])


@settings(max_examples=examples(400))
@given(parts, parts, parts)
def test_no_sure_key_is_one_of_a_doubtful_fact_and_all_are_as_long_as_keys_may_be(
    subject: str, predicate: str, said: str
) -> None:
    if "\0" in subject + predicate + said:
        return
    (sure,) = read_fact(Fact(subject, predicate, said)).claims
    (doubtful,) = read_fact(Fact(subject, predicate, said, 0.49)).claims
    assert not sure.key.startswith(PERHAPS)
    assert (doubtful.key, doubtful.value) == (PERHAPS + sure.key, sure.value)
    assert doubtful.subject == sure.subject
    assert 0 < len(doubtful.key) <= 200
    assert "/" in sure.key
    assert {sure.key.partition("/")[0], doubtful.key.partition("/")[0]} <= {*(about(subject, None).subjects or ())}
