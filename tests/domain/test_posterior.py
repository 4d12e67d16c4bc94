"""The quantiles of a Beta posterior against closed forms and against draws, and what draws give."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import posterior

pytestmark = pytest.mark.thorough

SHARES = [0.001, 0.025, 0.25, 0.5, 0.75, 0.975, 0.999]
counts = st.floats(1, 1e6)


@pytest.mark.parametrize("n", [1, 1.0001, 1.5, 2, 17, 1e3, 1e6])
def test_quantiles_are_those_of_the_closed_forms(n: float) -> None:
    rising = [share ** (1 / n) for share in SHARES]
    assert posterior.quantiles(n, 1, SHARES) == pytest.approx(rising, abs=1e-4)
    falling = [1 - (1 - share) ** (1 / n) for share in SHARES]
    assert posterior.quantiles(1, n, SHARES) == pytest.approx(falling, abs=1e-4)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.5, 3), (2, 2), (8.5, 2.5), (40, 60), (3, 9e5), (3e5, 7e5), (1e6, 1e6), (1e6, 2)]
)
def test_quantiles_are_those_of_draws(alpha: float, beta: float) -> None:
    drawn = np.random.default_rng(7).beta(alpha, beta, 4_000_000)
    deviation = float(drawn.std())
    told = posterior.quantiles(alpha, beta, SHARES[1:-1])
    assert told == pytest.approx(np.quantile(drawn, SHARES[1:-1]), abs=min(1e-3, 0.03 * deviation))


@given(alpha=counts, beta=counts)
def test_an_interval_holds_the_median_lies_within_0_and_1_and_turns_round_with_its_counts(
    alpha: float, beta: float
) -> None:
    low, high = posterior.interval(alpha, beta)
    (median,) = posterior.quantiles(alpha, beta, [0.5])
    assert 0 <= low < median < high <= 1
    assert posterior.interval(beta, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-6)


@given(alpha=st.floats(1, 1e5), beta=st.floats(1, 1e5))
def test_more_of_the_same_narrows_the_interval(alpha: float, beta: float) -> None:
    low, high = posterior.interval(alpha, beta)
    lower, higher = posterior.interval(alpha * 4, beta * 4)
    assert higher - lower < high - low


@given(seed=st.integers(0, 2**53 - 1), posteriors=st.lists(st.tuples(counts, counts), min_size=1, max_size=5))
def test_draws_are_those_of_numpy_s_generator_one_after_the_other(
    seed: int, posteriors: Sequence[tuple[float, float]]
) -> None:
    generator = np.random.default_rng(seed)
    assert posterior.draw(posteriors, seed) == [generator.beta(*each) for each in posteriors]


def test_draws_without_a_seed_differ() -> None:
    assert posterior.draw([(2, 3)], None) != posterior.draw([(2, 3)], None)


def test_each_arm_is_drawn_highest_in_proportion_as_the_posteriors_say() -> None:
    posteriors = [(5, 3), (4, 4), (3, 5), (7, 5), (1, 1)]
    rounds = 20_000
    highest = [int(np.argmax(posterior.draw(posteriors, seed))) for seed in range(rounds)]
    seen = np.bincount(highest, minlength=len(posteriors))
    expected = chances(posteriors) * rounds
    assert float(np.sum((seen - expected) ** 2 / expected)) < 18.47  # chi-square with 4 degrees of freedom: 99.9 %


def chances(posteriors: Sequence[tuple[float, float]]) -> np.ndarray:
    """Return how likely each is the highest, by integrals: of its density, times how likely the others are lower."""
    cells = (np.arange(20_000) + 0.5) / 20_000
    densities = np.array([posterior.density(alpha, beta, cells) for alpha, beta in posteriors])
    densities /= densities.sum(axis=1, keepdims=True)
    below = np.cumsum(densities, axis=1) - densities / 2
    return np.array(
        [np.sum(densities[arm] * np.prod(np.delete(below, arm, axis=0), axis=0)) for arm in range(len(posteriors))]
    )
