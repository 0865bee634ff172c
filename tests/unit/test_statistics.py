"""Intervals and verdicts, on data whose answer is known."""

import numpy as np
import pytest

from mysqlprof.statistics import (
    THRESHOLDS,
    Interval,
    difference,
    judge,
    median_interval,
    ratio_interval,
    share_interval,
)


def test_the_median_of_few_values_spans_their_range():
    interval = median_interval([5.0, 1.0, 3.0])
    assert (interval.low, interval.value, interval.high) == (1.0, 3.0, 5.0)


@pytest.mark.parametrize("n", [6, 9, 15, 40])
def test_the_median_s_interval_covers_the_truth_as_often_as_it_says(n):
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        interval = median_interval(generator.lognormal(0.0, 0.5, n).tolist())
        covered += interval.low <= 1.0 <= interval.high
    assert covered / 2000 >= THRESHOLDS["confidence"] - 0.02


def test_nothing_has_no_median():
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


def test_a_ratio_of_clearly_different_cells_is_found_with_its_interval():
    generator = np.random.default_rng(2)
    slow = generator.normal(100, 3, 9).tolist()
    fast = generator.normal(10, 0.3, 9).tolist()
    interval = ratio_interval(slow, fast, seed=1)
    assert 9 < interval.low < interval.value < interval.high < 11


def test_a_ratio_s_interval_is_reproducible_by_its_seed():
    a, b = [1.0, 2.0, 3.0, 4.0], [1.0, 1.5, 2.0, 2.5]
    assert ratio_interval(a, b, seed=3) == ratio_interval(a, b, seed=3)


def test_an_outlier_does_not_move_the_ratio():
    calm = [10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1, 9.9, 10.0]
    assert ratio_interval([*calm[:-1], 500.0], calm, seed=1).value == pytest.approx(1.0, abs=0.02)


def test_equal_cells_are_rarely_called_different():
    """False alarms on recorded noise: cells of nine trials from one distribution."""
    generator = np.random.default_rng(4)
    alarms = 0
    for seed in range(200):
        a = (20 * generator.lognormal(0, 0.08, 9)).tolist()
        b = (20 * generator.lognormal(0, 0.08, 9)).tolist()
        alarms += difference(ratio_interval(a, b, seed)) in ("slower", "faster")
    assert alarms / 200 <= 0.05


def test_a_share_has_its_wilson_interval():
    interval = share_interval(50, 100)
    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.4038, abs=1e-3)
    assert interval.high == pytest.approx(0.5962, abs=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(3.1, 9.0, "holds"), (1.0, 2.9, "does_not_hold"), (2.0, 4.0, "cannot_tell")],
)
def test_a_claim_above_a_bound_needs_the_whole_interval(low, high, verdict):
    assert judge(Interval(3.0, low, high), above=3.0, below=None) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.9, 1.2, "holds"), (1.6, 2.0, "does_not_hold"), (1.2, 1.8, "cannot_tell")],
)
def test_a_claim_below_a_bound_needs_the_whole_interval(low, high, verdict):
    assert judge(Interval(1.0, low, high), above=None, below=1.5) == verdict


def test_same_is_an_equivalence_and_not_a_failed_test():
    assert difference(Interval(1.0, 0.97, 1.04)) == "same"
    assert difference(Interval(1.0, 0.5, 2.0)) == "cannot_tell"
    assert difference(Interval(2.0, 1.5, 2.5)) == "slower"
    assert difference(Interval(0.5, 0.4, 0.6)) == "faster"
