"""What is odd about a cell's trials is found, named with its size, and nothing else is."""

import random

import pytest
from trial_factory import noisy, timed

from mysqlprof.validity import examine

QUIET = [100.0, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.1, 100.3]


def kinds(times, status=None):
    return [finding.kind for finding in examine(timed(times, status=status))]


def test_even_trials_have_no_findings():
    assert kinds(QUIET) == []


def test_noise_alone_is_rarely_called_odd():
    chance = random.Random(5)
    found = [bool(examine(noisy(chance, 50, 9, 0.1))) for _ in range(300)]
    assert sum(found) <= 30


def test_a_cold_first_trial_is_named_with_its_size_and_left_out():
    (finding,) = examine(timed([250.0, *QUIET[1:]]))
    assert finding.kind == "first_trial"
    assert finding.text == "the first trial took 2.50x the median of the others"
    assert [trial.elapsed_ms for trial in finding.without] == QUIET[1:]


def test_a_fast_first_trial_is_not_cold():
    assert kinds([50.0, *QUIET[1:]]) == []


def test_within_a_tenth_of_very_quiet_trials_nothing_stands_out():
    assert kinds([109.0, 100, 100, 100, 100, 100]) == []
    assert kinds([100.0, 100, 100, 109, 100, 100]) == []


def test_outliers_are_counted_and_the_worst_of_them_is_told_apart_from_the_first_trial():
    times = [500.0, 100, 101, 99, 200, 100, 150, 100, 99]
    findings = {finding.kind: finding for finding in examine(timed(times))}
    assert findings.keys() == {"first_trial", "outliers"}
    assert findings["outliers"].text == "2 of 9 trials stand far out, the worst at 2.00x the median"
    kept = [trial.elapsed_ms for trial in findings["outliers"].without]
    assert kept == [500, 100, 101, 99, 100, 100, 99]


@pytest.mark.parametrize(("step", "word"), [(3.0, "rose by 27 %"), (-3.0, "fell by 21 %")])
def test_drift_is_named_with_direction_and_size(step, word):
    start = 100.0 if step > 0 else 127.0
    jitter = [0.2, -0.1, 0.0, 0.3, -0.2, 0.1, 0.0, -0.3, 0.2, 0.1]
    times = [start + step * place + jitter[place] for place in range(10)]
    (finding,) = examine(timed(times))
    assert finding.kind == "drift"
    assert finding.text.startswith(f"times {word.split()[0]} by 2")
    assert len(finding.without) == 5


def test_a_trend_too_small_to_matter_is_no_drift():
    assert kinds([100 + 0.1 * place for place in range(10)]) == []


@pytest.mark.parametrize(
    ("counter", "kind", "words"),
    [
        ("steal_ms", "steal", "the hypervisor took CPU time away in 2 of 9 trials"),
        ("throttled_ms", "throttling", "the CPU limit stopped the server in 2 of 9 trials"),
    ],
)
def test_time_lost_to_others_is_named_with_the_number_of_trials(counter, kind, words):
    lost = {2: {counter: 30}, 5: {counter: 6}, 7: {counter: 4}}
    (finding,) = examine(timed(QUIET, status=lost))
    assert (finding.kind, finding.text) == (kind, words)
    assert [trial.trial for trial in finding.without] == [0, 1, 3, 4, 6, 7, 8]


def test_too_few_trials_to_compare_are_too_few_to_examine():
    assert kinds([900.0, 100]) == []
