"""Local exponents and kinks on curves whose answer is known."""

import random

import pytest

from mysqlprof.exponents import SizedTimes, kinks, local_exponents
from mysqlprof.statistics import THRESHOLDS

SIZES = [25, 50, 100, 200, 400, 800, 1600]


def curve(law, noise: float = 0.0, trials: int = 5, seed: int = 1) -> list[SizedTimes]:
    chance = random.Random(seed)
    return [
        SizedTimes(size, [law(size) * chance.lognormvariate(0, noise) for _ in range(trials)])
        for size in SIZES
    ]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.5])
def test_a_power_law_has_its_exponent_everywhere(power):
    found = local_exponents(curve(lambda n: 3 * n**power), seed=1)
    assert len(found) == len(SIZES) - 1
    assert [e.value for e in found] == pytest.approx([power] * len(found))
    assert all(e.low <= e.value <= e.high for e in found)


def test_noise_widens_the_interval_around_the_true_exponent():
    found = local_exponents(curve(lambda n: n**2, noise=0.1, trials=9), seed=1)
    assert sum(e.low <= 2 <= e.high for e in found) >= 5
    assert all(e.high - e.low > 0.05 for e in found)


def step_at_300(n: float) -> float:
    """Linear below, twenty times as much and quadratic above."""
    return 0.1 * n if n <= 300 else 0.01 * n * n * 5


def test_a_jump_has_a_kink_where_it_begins_and_one_where_it_ends():
    found = kinks(curve(step_at_300, noise=0.05), seed=1)
    assert [(SIZES[k.at], k.change.value > 0) for k in found] == [(200, True), (400, False)]
    up, down = found
    assert (SIZES[up.first], SIZES[up.last]) == (100, 400)
    assert up.before == pytest.approx(1.0, abs=0.2)
    assert down.after == pytest.approx(2.0, abs=0.2)
    assert up.change.low > THRESHOLDS["kink_change"]


def test_a_curve_that_only_turns_steeper_has_one_kink():
    law = lambda n: n if n <= 200 else n**3 / 40_000  # noqa: E731
    found = kinks(curve(law, noise=0.03), seed=1)
    assert [SIZES[k.at] for k in found] == [200]
    assert (found[0].before, found[0].after) == pytest.approx((1.0, 3.0), abs=0.2)


@pytest.mark.parametrize("seed", range(12))
def test_noise_alone_makes_no_kink(seed):
    assert kinks(curve(lambda n: n**1.5, noise=0.08, seed=seed), seed=seed) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_smooth_crossover_from_linear_to_quadratic_is_no_kink(seed):
    assert kinks(curve(lambda n: n + n * n / 200, noise=0.05, seed=seed), seed=seed) == []


def test_too_few_points_tell_nothing():
    assert local_exponents(curve(lambda n: n)[:1], seed=1) == []
    assert kinks(curve(step_at_300)[:2], seed=1) == []


def test_the_same_seed_gives_the_same_intervals():
    points = curve(lambda n: n**2, noise=0.1)
    assert local_exponents(points, seed=4) == local_exponents(points, seed=4)
