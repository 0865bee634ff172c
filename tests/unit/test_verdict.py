"""Trials and profiles -> cells, contrasts, claims, verdict."""

import pytest

from mysqlprof import scenario
from mysqlprof.model import CellSpec, ProfileInfo, TrialResult
from mysqlprof.rules import load_rules
from mysqlprof.stacks import FoldedStacks
from mysqlprof.verdict import Judged, Measured, judge_run

BUG = scenario.load("bug-73056")
CELLS = scenario.cells(BUG)
SLOW_PATH = (
    "dispatch_command(THD*)",
    "mysqld_stmt_execute(THD*)",
    "Prepared_statement::set_parameters(String*)",
    "String::replace(unsigned long)",
)


def is_slow(cell: CellSpec) -> bool:
    return cell.role == "before" and {"slow_query_log": "on", "server_prepare": "on"}.items() <= (
        cell.levels.items()
    )


def trials(slow_ms: float = 500.0, count: int = 7, only: str = "") -> list[TrialResult]:
    """Every cell around 20 ms, the slow ones around `slow_ms`, with a spread of 3 %."""
    return [
        TrialResult(
            cell=cell.id,
            trial=number,
            round=number,
            kind="timed",
            profiled=False,
            elapsed_ms=(slow_ms if is_slow(cell) else 20.0) * (1 + 0.01 * (number - count // 2)),
            prepare_ms=5.0,
            rows_written=500,
        )
        for cell in CELLS
        if only in cell.id
        for number in range(count)
    ]


def profile(cell: str, share: float = 0.9, samples: int = 1000, **changes: object):
    """A profile in which `share` of the samples lie on the slow path."""
    hot = round(samples * share)
    counts = {
        SLOW_PATH: hot,
        ("dispatch_command(THD*)", "mysqld_stmt_execute(THD*)"): samples - hot,
    }
    info = ProfileInfo(
        cell=cell,
        event="cpu-clock",
        unit="samples",
        frequency_hz=999,
        call_graph="fp",
        samples=samples,
        lost=0,
        unresolved=0.0,
        unresolved_leaf=0.0,
        window_s=1.0,
        executes=2,
        perf_version="6.1",
        profiled_ms=[600.0, 660.0],
    )
    return info.model_copy(update=changes), FoldedStacks({k: v for k, v in counts.items() if v})


def judged(found=None, **changes: object) -> Judged:
    profiles = {cell.id: profile(cell.id, **changes) for cell in CELLS if is_slow(cell)}
    measured = Measured(BUG, CELLS, trials() if found is None else found, {}, profiles)
    return judge_run(measured, load_rules())


def claim(result: Judged, name: str):
    return next(c for c in result.claims if c.id == name)


def test_slow_cells_and_the_known_path_are_reproduced():
    result = judged()
    assert result.verdict == "reproduced"
    assert {c.verdict for c in result.claims} == {"holds"}
    assert claim(result, "path").measured.startswith("90.0 %")


def test_equal_cells_are_not_reproduced():
    result = judged(trials(slow_ms=20.0), share=0.0)
    assert result.verdict == "not_reproduced"
    assert claim(result, "slow_with_log_and_server_prepare").verdict == "does_not_hold"
    assert claim(result, "control_is_normal").verdict == "holds"


def test_a_slow_cell_whose_cpu_goes_elsewhere_is_not_reproduced():
    assert judged(share=0.1).verdict == "not_reproduced"


def test_too_few_trials_tell_nothing():
    result = judged(trials(count=2))
    assert result.verdict == "inconclusive"
    assert claim(result, "normal_with_client_prepare").reason == "too few timed trials"


def test_no_trials_at_all_are_judged_too():
    result = judged([])
    assert result.verdict == "inconclusive"
    assert all(cell.median_ms is None and cell.trials == 0 for cell in result.cells)


def test_without_profiles_the_profile_s_claims_cannot_be_told():
    measured = Measured(BUG, CELLS, trials())
    result = judge_run(measured, load_rules())
    assert result.verdict == "inconclusive"
    assert claim(result, "path").reason == "the cell was not profiled"


def test_an_interval_across_the_bound_cannot_be_told():
    noisy = [
        t.model_copy(update={"elapsed_ms": 20.0 + 15.0 * t.trial}) if "log-on" in t.cell else t
        for t in trials(slow_ms=20.0)
    ]
    assert claim(judged(noisy), "slow_with_log_and_server_prepare").verdict == "cannot_tell"


@pytest.mark.parametrize(
    ("changes", "kind", "partial"),
    [
        ({"samples": 150}, "few_samples", True),
        ({"lost": 100}, "lost_samples", True),
        ({"unresolved_leaf": 0.5}, "unresolved", False),
    ],
)
def test_a_doubtful_profile_is_a_caveat(changes, kind, partial):
    found = {(c.kind, c.partial) for c in judged(**changes).caveats}
    assert (kind, partial) in found


def test_few_samples_carry_no_claim():
    assert claim(judged(samples=150), "string_replace_takes_the_cpu").verdict == "cannot_tell"


def test_a_noisy_cell_is_named():
    noisy = [
        t.model_copy(update={"elapsed_ms": 20.0 if t.trial % 2 else 60.0})
        if t.cell.startswith("after")
        else t
        for t in trials()
    ]
    noise = [c.text for c in judged(noisy).caveats if c.kind == "noise"]
    assert len(noise) == 1
    assert noise[0].startswith("4 of 12 cells")
    assert noise[0].count("after_default") == 4


def test_the_cost_of_recording_is_profiled_over_unprofiled():
    slow = next(cell for cell in judged().cells if cell.recording_cost is not None)
    assert slow.recording_cost == pytest.approx(630.0 / 500.0)
