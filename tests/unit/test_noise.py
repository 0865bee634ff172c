"""One cell against itself, before anything is compared. All figures are invented."""

import pytest

from mysqlprof import scenario
from mysqlprof.model import NoiseCheck, TrialResult
from mysqlprof.noise import noise_caveat, noise_plan

WANTED = NoiseCheck(cell={"tls": "off"}, trials=5, visible=1.25)


def trials(times: list[float]) -> list[TrialResult]:
    return [
        TrialResult(
            cell="one",
            trial=number,
            round=number,
            kind="noise",
            profiled=False,
            elapsed_ms=elapsed,
            prepare_ms=0.0,
            rows_written=None,
        )
        for number, elapsed in enumerate(times)
    ]


def test_one_cell_is_run_twice_as_often_as_a_side_has_trials():
    plan = scenario.plan(scenario.load("tls-inserts"), seed=1)
    assert plan.scenario.noise is not None
    specs = noise_plan(plan.scenario.noise, plan)
    assert {spec.cell for spec in specs} == {"before_j8.0.16_tls-off_each_local"}
    assert [spec.kind for spec in specs] == ["noise"] * 10


def test_a_quiet_machine_is_said_to_be_one():
    caveat = noise_caveat(WANTED, trials([100, 101, 100, 102, 101, 100, 101, 101, 100, 100]))
    assert "1.0" in caveat.text
    assert "too noisy" not in caveat.text
    assert not caveat.partial


@pytest.mark.parametrize("times", [[100, 180, 90, 240, 130, 110, 260, 100, 95, 170]])
def test_a_noisy_one_cannot_tell_what_the_scenario_asks(times):
    text = noise_caveat(WANTED, trials(times)).text
    assert "the scenario wants 1.25x" in text
    assert "too noisy" in text


def test_a_cell_that_did_not_run_says_so():
    assert "could not be run" in noise_caveat(WANTED, trials([1.0, 1.0])).text
