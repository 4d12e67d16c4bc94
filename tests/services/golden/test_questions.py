"""Golden questions of a tenant: kept within a bound, removed with their agent, and judged by what a recall finds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.errors import Erasing, InvalidRequest
from app.domain.golden import GoldenAnswer, GoldenComparison, GoldenQuestion
from app.domain.memory import NewMemory
from app.services.golden import questions as kept
from app.services.golden.questions import GoldenQuestions
from app.storage.golden import StoredQuestion
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on

RED, BLUE = StoredQuestion("bot", "red", '{"n":1}'), StoredQuestion("other", "blue", '{"n":2}')


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def golden(bench: Bench, tenant: str = "acme") -> GoldenQuestions:
    return GoldenQuestions(bench.backends.of_tenant(tenant))


async def test_an_erasure_of_an_agent_removes_its_questions_and_no_others(bench: Bench) -> None:
    await golden(bench).keep([RED, BLUE])
    await golden(bench, "globex").keep([RED])
    await bench.gateway.store("bot", NewMemory("red"))
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await golden(bench).keep([RED])
    await bench.quiet()
    assert await golden(bench).stored() == [BLUE]
    assert await golden(bench, "globex").stored() == [RED]
    assert await golden(bench).remove() == 1
    assert await golden(bench, "globex").stored() == [RED]


async def test_a_tenant_may_keep_so_many_questions(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_QUESTIONS", 2)
    await golden(bench).keep([RED, BLUE])
    changed = StoredQuestion("bot", "red", '{"n":3}')
    await golden(bench).keep([changed])
    with pytest.raises(InvalidRequest, match="A tenant may have 2 golden questions"):
        await golden(bench).keep([StoredQuestion("bot", "green", "{}")])
    assert await golden(bench).stored() == [changed, BLUE]


async def test_the_rank_of_a_question_is_that_of_the_last_memory_that_it_expects(bench: Bench) -> None:
    ids = [await bench.gateway.store("bot", NewMemory(text)) for text in ("a red fox runs", "a red fox sleeps here")]
    asked = GoldenQuestion("acme", "bot", "q", "a red fox runs", ids)
    missing = GoldenQuestion("acme", "bot", "q", "a red fox runs", [ids[0]], [["a blue whale"]])
    few = GoldenQuestion("acme", "bot", "q", "a red fox runs", ids, k=1)
    answers = await golden(bench).ask([asked, missing, few])
    assert [answer.rank for answer in answers] == [2, None, None]


def test_what_is_gained_does_not_make_up_for_what_is_lost() -> None:
    one, other = (GoldenQuestion("acme", "bot", name, name, expected=[["a"]]) for name in ("one", "other"))
    before = [GoldenAnswer(one, 1), GoldenAnswer(other, None)]
    after = [GoldenAnswer(one, None), GoldenAnswer(other, 1)]
    comparison = GoldenComparison(before, after)
    assert (comparison.lost, comparison.gained, comparison.loss) == ([one], [other], 0.5)
