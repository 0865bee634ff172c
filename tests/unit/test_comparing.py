"""Faster, slower, same or cannot tell: and when an oddity of the trials takes the verdict away."""

import random
import statistics

import pytest
from trial_factory import noisy, timed

from mysqlprof.comparing import compare
from mysqlprof.statistics import THRESHOLDS, smallest_visible_ratio

QUIET = [100.0, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.1, 100.3]


def scaled(factor, times=QUIET):
    return [factor * time for time in times]


def against(after, before=QUIET, status=None):
    return compare(timed(before), timed(after, status=status), "cell")


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (0.5, "faster"),
        (0.88, "faster"),
        (0.93, "same"),
        (1.0, "same"),
        (1.07, "same"),
        (1.13, "slower"),
        (3.0, "slower"),
    ],
)
def test_above_one_is_slower_and_within_the_bound_is_the_same(factor, verdict):
    found = against(scaled(factor))
    assert found.verdict == verdict
    assert found.interval.value == pytest.approx(factor, rel=0.01)
    assert found.reason == ""


def test_an_interval_over_a_bound_cannot_be_told_and_says_what_is_open():
    wide = [95.0, 96, 97, 100, 103, 104, 105, 106, 94]
    slower = against(scaled(1.1), wide)
    assert slower.verdict is None
    assert slower.interval.low < THRESHOLDS["same_within"] < slower.interval.high
    assert slower.reason == "slower, but whether by more than 10 % cannot be told"
    faster = against(wide, scaled(1.1))
    assert faster.reason == "faster, but whether by more than 10 % cannot be told"


def test_same_needs_the_whole_interval_within_the_bound_and_not_just_no_difference():
    wide = [80.0, 120, 90, 110, 100, 85, 115, 95, 105]
    found = against(wide, list(reversed(wide)))
    assert found.interval.low < 1 < found.interval.high
    assert found.interval.value == 1.0
    assert found.verdict is None
    assert found.reason == "the interval holds both no change and one of 10 %"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_trials_have_no_ratio(count):
    found = against(scaled(9.0)[:count])
    assert (found.interval, found.verdict) == (None, None)
    assert found.reason == "too few timed trials"


def test_three_trials_a_side_are_enough():
    assert compare(timed(QUIET[:3]), timed(scaled(9.0)[:3]), "cell").verdict == "slower"


def test_steal_in_all_but_a_few_trials_leaves_too_few_to_decide():
    hit = [130.0, 130, 130, 131, 132, 133, 134, 130, 131]
    assert against(hit).verdict == "slower"
    found = against(hit, status={place: {"steal_ms": 30} for place in range(2, 9)})
    assert found.verdict is None
    assert found.reason == (
        "after: the hypervisor took CPU time away in 7 of 9 trials;"
        " without that too few trials are left"
    )


def test_throttling_that_makes_the_difference_takes_the_verdict_away():
    after = [100.0, 100.5, 99.5, *[140.0 + place for place in range(30)]]
    lost = {place: {"throttled_ms": 40} for place in range(3, 33)}
    assert against(after).verdict == "slower"
    found = against(after, status=lost)
    assert found.verdict is None
    assert found.interval.low > THRESHOLDS["same_within"]
    assert found.reason == (
        "after: the CPU limit stopped the server in 30 of 33 trials;"
        " without that the verdict would be another"
    )


def test_an_oddity_that_the_verdict_does_not_rest_on_leaves_it():
    lost = {4: {"steal_ms": 500, "throttled_ms": 500}}
    odd = [900.0, *scaled(3.0)[1:5], 800.0, *scaled(3.0)[6:]]
    found = against(odd, status=lost)
    assert (found.verdict, found.reason) == ("slower", "")


def test_a_drift_that_makes_the_difference_takes_the_verdict_away():
    """`after` was slow for most of the run, and is not at its end: which one is the truth?"""
    after = [160 - 1.5 * place for place in range(21)] + [100 - 0.1 * place for place in range(9)]
    before = [100 + 0.1 * (place % 5) for place in range(30)]
    found = compare(timed(before), timed(after), "cell")
    assert found.interval.low > THRESHOLDS["same_within"]
    assert found.verdict is None
    assert found.reason == (
        "after: times fell by 31 % over the run; without that the verdict would be another"
    )


def test_a_drift_on_both_sides_leaves_a_difference_that_is_there_all_the_time():
    """Interleaved: the machine slowed down for both."""
    before = [100.0 + 2 * place for place in range(12)]
    assert against(scaled(2, before), before).verdict == "slower"


def test_outliers_that_make_the_difference_take_the_verdict_away():
    after = [100.0, 111.5, 112, 112.2, 112.1, 111.8, 170, 175]
    found = against(after, [100.0] * 9)
    assert found.interval.low > THRESHOLDS["same_within"]
    assert found.verdict is None
    assert found.reason == (
        "after: 2 of 8 trials stand far out, the worst at 1.56x the median;"
        " without that the verdict would be another"
    )


def test_a_cold_first_trial_that_makes_the_difference_takes_the_verdict_away():
    after = [140.0, 113, 113, 111, 113, 112, 109]
    found = against(after, [100.0] * 5)
    assert found.interval.low > THRESHOLDS["same_within"]
    assert found.verdict is None
    assert found.reason == (
        "after: the first trial took 1.24x the median of the others;"
        " without that the verdict would be another"
    )


def test_the_seed_is_the_cells_own_so_that_results_repeat():
    assert against(scaled(1.05)).interval == against(scaled(1.05)).interval


@pytest.mark.parametrize(("trials", "spread"), [(5, 0.1), (9, 0.05)])
def test_a_ratio_of_the_smallest_visible_size_is_seen_in_four_of_five_runs(trials, spread):
    chance = random.Random(17)

    def verdict(ratio, number):
        before = noisy(chance, 10, trials, spread)
        return compare(before, noisy(chance, 10 * ratio, trials, spread), f"run {number}")

    visible = statistics.median(
        smallest_visible_ratio(verdict(1.0, number).interval) for number in range(20)
    )
    runs = 50
    found = [verdict(visible, number).verdict for number in range(runs)]
    assert 0.62 * runs <= found.count("slower") <= 0.95 * runs
    none = [verdict(1.0, number).verdict for number in range(runs)]
    assert none.count("slower") + none.count("faster") <= 0.05 * runs
    less = [verdict(1 + (visible - 1) / 3, number).verdict for number in range(20)]
    assert less.count("slower") <= 4, "far below it, little is seen"
