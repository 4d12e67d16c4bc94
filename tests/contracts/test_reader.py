"""What every reader must do, run on each of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from app.adapters.local.reader.local_reader import LocalReader
from app.domain.errors import ReaderUnavailable
from app.domain.reading import KIND_NAMES, RELATION_NAMES
from app.ports.reader import MAX_CHARACTERS, Reader
from tests.adapters.local.reader.tiny_reader import write_reader

PAIRS = [("red", "green"), ("green", "red"), ("red blue", "blue green"), ("", "red"), ("greenish", "")]
TEXTS = ["red", "green blue", "", "bluish red green", "\N{SNOWMAN} \U0001f600", "red " * 5000]


class OwnedReader(Reader, Protocol):
    async def close(self) -> None: ...


@pytest.fixture(params=["local"])
async def reader(tmp_path: Path) -> AsyncIterator[OwnedReader]:
    opened = LocalReader(*write_reader(tmp_path))
    yield opened
    await opened.close()


async def test_of_each_pair_it_tells_how_likely_each_relation_is(reader: Reader) -> None:
    relations = await reader.relations(PAIRS)
    assert len(relations) == len(PAIRS)
    for relation in relations:
        likely = [getattr(relation, name) for name in RELATION_NAMES]
        assert sum(likely) == pytest.approx(1)
        assert min(likely) >= 0
        assert relation.update == pytest.approx(relation.replaces + relation.ends)


async def test_of_each_text_it_tells_how_likely_each_kind_is(reader: Reader) -> None:
    kinds = await reader.kinds(TEXTS)
    assert [sum(getattr(kind, name) for name in KIND_NAMES) for kind in kinds] == pytest.approx([1] * len(TEXTS))


async def test_relevance_and_what_follows_are_told_in_the_order_of_the_texts(reader: Reader) -> None:
    relevance = await reader.relevance("red", TEXTS)
    assert [(await reader.relevance("red", [text]))[0] for text in TEXTS] == pytest.approx(list(relevance), abs=1e-2)
    follows = await reader.follows(PAIRS)
    assert [(await reader.follows([pair]))[0] for pair in PAIRS] == pytest.approx(list(follows), abs=1e-2)
    assert all(0 <= value <= 1 for value in (*relevance, *follows))


async def test_what_is_older_matters(reader: Reader) -> None:
    there, back = await reader.relations([("red", "green blue"), ("green blue", "red")])
    assert there != back


async def test_nothing_is_read_of_no_texts(reader: Reader) -> None:
    assert not await reader.relations([])
    assert not await reader.relevance("red", [])
    assert not await reader.kinds([])
    assert not await reader.follows([])


async def test_a_text_is_read_up_to_its_limit_alone(reader: Reader) -> None:
    long = "red green " * (MAX_CHARACTERS // 10)
    (whole,), (longer,) = (
        await reader.kinds([long[:MAX_CHARACTERS]]),
        await reader.kinds([long[:MAX_CHARACTERS] + " blue"]),
    )
    assert whole == longer


async def test_who_asks_for_whom_changes_nothing(reader: Reader) -> None:
    answers = await asyncio.gather(*(reader.relations(PAIRS, tenant_id=tenant) for tenant in ("acme", "globex", "")))
    assert answers[0] == answers[1] == answers[2]


async def test_a_call_without_time_is_an_error_and_the_next_one_is_answered(reader: Reader) -> None:
    with pytest.raises(ReaderUnavailable):
        await reader.relevance("red", [f"green {number}" for number in range(200)], seconds=0)
    assert len(await reader.relevance("red", ["green"], seconds=60)) == 1


async def test_one_that_is_closed_is_unavailable(tmp_path: Path) -> None:
    closed = LocalReader(*write_reader(tmp_path))
    await closed.close()
    with pytest.raises(ReaderUnavailable):
        await closed.kinds(["red"])


async def test_it_names_its_weights_and_says_how_far_it_is_to_be_believed(reader: Reader) -> None:
    assert reader.version
    thresholds = reader.thresholds
    assert 0 < thresholds.same_frame <= thresholds.newer_first <= thresholds.hide <= 1
