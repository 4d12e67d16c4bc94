"""Selections learn which workflow is best, as textbook Thompson sampling does, and with a discount learn anew.

The bandits are Bernoulli ones: what an arm gives in a round is fixed by the seed, whoever pulls it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.tiers.procedural import ProceduralMemory
from tests.domain.test_posterior import chances
from tests.support.backends import BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import LONG, ON_THE_DOUBLE, examples
from tests.support.tables import set_rows
from tests.support.workflows import begin_runs, run_id, workflow

pytestmark = pytest.mark.thorough

RATES = (0.2, 0.35, 0.5, 0.65, 0.8)
ROUNDS = 1_000
CHANGE, AFTER = 300, 300
Rewards = npt.NDArray[np.int64]
UNLIMITED: dict[str, Any] = {"tenant_stores_per_minute": 10_000_000, "agent_stores_per_minute": 10_000_000}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, **UNLIMITED) as made:
        await begin_runs(made, range(max(ROUNDS, CHANGE + AFTER)))
        yield made


@pytest.fixture
def memory(bench: Bench) -> ProceduralMemory:
    return ProceduralMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))


def rewards(rates: Sequence[float] | npt.NDArray[np.float64], rounds: int, seed: int) -> Rewards:
    """Return what each arm gives in each round."""
    generator = np.random.default_rng([seed, 1])
    given_: Rewards = (generator.random((rounds, np.size(rates))) < np.asarray(rates)).astype(np.int64)
    return given_


async def played(memory: ProceduralMemory, task: str, table: Rewards, seed: int, discount: float = 1.0) -> list[int]:
    """Let the service choose an arm in each round, and tell it what the arm gave."""
    arms = [f"{task}.{arm}" for arm in range(table.shape[1])]
    for arm in arms:
        await memory.put(workflow(arm, task_type=task, discount=discount))
    chosen = []
    for number, given_ in enumerate(table):
        selection = await memory.select("support", task, seed=seed * ROUNDS + number)
        chosen.append(arms.index(selection.workflow_id))
        await memory.outcome(selection.workflow_id, run_id(number), float(given_[chosen[-1]]))
    return chosen


def textbook(table: Rewards, draws: Callable[[int], np.random.Generator]) -> list[int]:
    """Play Thompson sampling with Beta(1, 1) priors (Russo and others, A Tutorial on Thompson Sampling, 2018).

    ``draws`` returns what each round draws with.
    """
    wins, losses = np.ones(table.shape[1]), np.ones(table.shape[1])
    chosen = []
    for number, given_ in enumerate(table):
        arm = int(np.argmax(draws(number).beta(wins, losses)))
        wins[arm] += given_[arm]
        losses[arm] += 1 - given_[arm]
        chosen.append(arm)
    return chosen


def regret(chosen: list[int]) -> float:
    return float(sum(max(RATES) - RATES[arm] for arm in chosen))


async def test_with_the_same_draws_the_choices_and_the_regret_are_those_of_the_textbook(
    memory: ProceduralMemory,
) -> None:
    ours, textbooks = [], []
    for seed, table in [(seed, rewards(RATES, ROUNDS, seed)) for seed in range(2 if LONG else 1)]:
        chosen = await played(memory, f"t{seed}", table, seed)
        expected = textbook(table, lambda number, seed=seed: np.random.default_rng(seed * ROUNDS + number))  # type: ignore[misc]
        assert chosen == expected
        ours.append(regret(chosen))
        textbooks.append(regret(expected))
    assert np.mean(ours) == pytest.approx(np.mean(textbooks), rel=0.1)
    assert np.mean(ours) < 0.12 * ROUNDS * (max(RATES) - np.mean(RATES)), "chance has the whole of it"


@pytest.mark.long
async def test_the_mean_regret_is_within_a_tenth_of_the_textbook_s_with_draws_of_its_own(
    memory: ProceduralMemory,
) -> None:
    tables = [rewards(RATES, ROUNDS, seed) for seed in range(60)]
    ours = await asyncio.gather(*(played(memory, f"t{seed}", table, seed) for seed, table in enumerate(tables)))
    plays = [
        textbook(table, partial(lambda one, _: one, np.random.default_rng([seed, play])))
        for seed, table in enumerate(tables)
        for play in range(5)
    ]
    ours_, textbooks = np.mean([regret(each) for each in ours]), np.mean([regret(each) for each in plays])
    assert ours_ == pytest.approx(textbooks, rel=0.1)


async def test_workflows_are_selected_in_proportion_as_their_posteriors_say(
    bench: Bench, memory: ProceduralMemory
) -> None:
    posteriors = [(5, 3), (4, 4), (3, 5), (7, 5)]
    for number, (alpha, beta) in enumerate(posteriors):
        await memory.put(workflow(str(number)))
        await set_rows(bench, "workflow", {"alpha": alpha, "beta": beta}, id=number)
    rounds = 600
    chosen = await asyncio.gather(*(memory.select("support", "answer", seed=seed) for seed in range(rounds)))
    seen = np.bincount([int(each.workflow_id) for each in chosen], minlength=len(posteriors))
    expected = chances(posteriors) * rounds
    assert float(np.sum((seen - expected) ** 2 / expected)) < 16.27  # chi-square with 3 degrees of freedom: 99.9 %


async def test_once_the_best_workflow_changes_a_discount_finds_it_sooner(memory: ProceduralMemory) -> None:
    async def best_afterwards(seed: int, discount: float) -> int:
        before, after = rewards((0.8, 0.2), CHANGE, seed), rewards((0.2, 0.8), AFTER, seed + 100)
        task = f"d{discount}-{seed}"
        chosen = await played(memory, task, np.concatenate([before, after]), seed, discount)
        return sum(chosen[CHANGE:])

    seeds = range(3 if LONG else 1)
    fading = await asyncio.gather(*(best_afterwards(seed, 0.95) for seed in seeds))
    lasting = await asyncio.gather(*(best_afterwards(seed, 1.0) for seed in seeds))
    assert all(sooner > 1.5 * later for sooner, later in zip(fading, lasting, strict=True))


def as_the_textbook(rounds: int, directory: Path) -> None:
    """Play fewer rounds, where each takes long."""

    async def play() -> None:
        async with bench_on(directory, **UNLIMITED) as made:
            await begin_runs(made, range(rounds))
            table = rewards(RATES, rounds, 0)
            chosen = await played(ProceduralMemory(made.backends.of_tenant("acme", ADMINISTRATOR)), "t", table, 0)
            assert chosen == textbook(table, np.random.default_rng)

    asyncio.run(play())


POSTED = st.lists(
    st.tuples(st.integers(0, 9), st.floats(0, 1) | st.sampled_from([0.1, 0.2, 0.3, 0.7])), min_size=1, max_size=20
)


def counted_alike(posted: list[tuple[int, float]], chance: random.Random, directory: Path, on: BackendName) -> None:
    scores = dict(posted)  # a run has one score
    again = [*scores.items(), *scores.items()]
    chance.shuffle(again)

    async def ends() -> None:
        with running_on(on) as backend:
            async with bench_on(directory, backend, **UNLIMITED) as made:
                await begin_runs(made, range(10))
                memory = ProceduralMemory(made.backends.of_tenant("acme", ADMINISTRATOR))
                for name in ("in-order", "shuffled"):
                    await memory.put(workflow(name))
                for run, score in scores.items():
                    await memory.outcome("in-order", run_id(run), score)
                counted = [(await memory.outcome("shuffled", run_id(run), score)).counted for run, score in again]
                assert sum(counted) == len(scores)
                in_order, shuffled = await memory.get("in-order"), await memory.get("shuffled")
                assert (in_order.alpha, in_order.beta) == (shuffled.alpha, shuffled.beta)
                assert in_order.alpha == pytest.approx(1 + sum(scores.values()), abs=1e-5)

    asyncio.run(ends())


@settings(max_examples=examples(40))
@given(posted=POSTED, chance=st.randoms(use_true_random=False))
def test_outcomes_in_any_order_and_however_often_end_with_the_same_counts(
    tmp_path_factory: pytest.TempPathFactory, posted: list[tuple[int, float]], chance: random.Random
) -> None:
    counted_alike(posted, chance, tmp_path_factory.mktemp("data"), "embedded")


@pytest.mark.cloudflare
@settings(deadline=None, max_examples=ON_THE_DOUBLE)
@given(posted=POSTED, chance=st.randoms(use_true_random=False))
def test_outcomes_in_any_order_end_with_the_same_counts_on_the_double(
    tmp_path_factory: pytest.TempPathFactory, posted: list[tuple[int, float]], chance: random.Random
) -> None:
    counted_alike(posted, chance, tmp_path_factory.mktemp("data"), "cloudflare")
