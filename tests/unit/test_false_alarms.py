"""Real published runs, split at random into halves: what differs then is a false alarm."""

import random
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mysqlprof.comparing import compare
from mysqlprof.differential import functions, side
from mysqlprof.model import TrialResult
from mysqlprof.stacks import FoldedStacks, is_kernel, short_name
from mysqlprof.store import RunDirectory

REPORTS = Path(__file__).parents[2] / "reports"
RUNS = sorted(path.parent for path in REPORTS.glob("*/trials.csv"))
PROFILES = sorted((REPORTS / "bug-73056" / "profiles").glob("*.folded"))
MOST = 0.05


def recorded() -> dict[str, list[TrialResult]]:
    cells: dict[str, list[TrialResult]] = {}
    for run in RUNS:
        for trial in RunDirectory.open(run).read_trials():
            if trial.kind == "timed":
                cells.setdefault(f"{run.name} {trial.cell}", []).append(trial)
    return cells


def test_recorded_trials_are_not_called_different_from_themselves() -> None:
    found: Counter[str | None] = Counter()
    for cell, trials in recorded().items():
        for number in range(5):
            chance = random.Random(f"{cell} {number}")
            chosen = set(chance.sample(range(len(trials)), len(trials) // 2))
            halves: tuple[list[TrialResult], list[TrialResult]] = ([], [])
            for place, trial in enumerate(trials):
                halves[place in chosen].append(trial)
            found[compare(*halves, f"{cell} {number}").verdict] += 1
    assert found.total() >= 250
    assert found["faster"] + found["slower"] <= MOST * found.total()
    assert found["same"] > 0.1 * found.total(), "quiet cells are found to be the same"


def test_recorded_trials_that_take_half_as_long_again_are_found() -> None:
    found: Counter[str | None] = Counter()
    for cell, trials in recorded().items():
        slower = [t.model_copy(update={"elapsed_ms": 1.5 * t.elapsed_ms}) for t in trials]
        found[compare(trials, slower, cell).verdict] += 1
    assert found["slower"] >= 0.8 * found.total()
    assert found["faster"] == found["same"] == 0


def halves(path: Path, number: int) -> tuple[FoldedStacks, FoldedStacks]:
    whole = FoldedStacks.parse(path.read_text().splitlines())
    chance = np.random.default_rng(zlib.crc32(f"{path.parts[-3:]} {number}".encode()))
    half = {stack: int(chance.binomial(count, 0.5)) for stack, count in whole.items()}
    rest = {stack: count - half[stack] for stack, count in whole.items()}
    return FoldedStacks(half), FoldedStacks(rest)


def test_recorded_profiles_are_not_called_changed_from_themselves() -> None:
    alarms, comparisons = 0, 0
    for path in PROFILES:
        for number in range(18):
            first, second = (side(stacks, 999, 3) for stacks in halves(path, number))
            rows = functions(first, second, "cell")
            assert len(rows) > 50
            alarms += any(row.verdict != "noise" for row in rows)
            comparisons += 1
    assert comparisons >= 100
    assert alarms <= MOST * comparisons


@pytest.mark.parametrize("path", PROFILES[::4], ids=lambda path: path.stem)
def test_a_recorded_function_that_costs_half_as_much_again_is_found(path: Path) -> None:
    """The same profile with half of one function's samples added on one side."""
    stacks = FoldedStacks.parse(path.read_text().splitlines())
    whole = stacks.merge(stacks)  # even counts, so that there is a half
    name, count = max(whole.self_counts().items(), key=lambda item: (item[1], item[0]))
    assert count > 300
    more = {s: n + (n // 2 if s[-1] == name else 0) for s, n in whole.items()}
    rows = functions(side(whole, 999, 3), side(FoldedStacks(more), 999, 3), "cell")
    changed = {row.function: row for row in rows if row.verdict != "noise"}
    found = changed[short_name(name) + ("_[k]" if is_kernel(name) else "")]
    assert found.after_self_ms == pytest.approx(1.5 * found.before_self_ms)
    assert {row.verdict for row in changed.values()} == {"grew"}
