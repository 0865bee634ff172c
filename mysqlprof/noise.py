"""One cell against itself, before anything is timed: what this machine can tell apart now. Pure."""

from collections.abc import Sequence

from mysqlprof.model import Caveat, NoiseCheck, Plan, TrialResult, TrialSpec
from mysqlprof.scenario import select_one
from mysqlprof.statistics import THRESHOLDS, ratio_interval, smallest_visible_ratio


def noise_plan(wanted: NoiseCheck, plan: Plan) -> tuple[TrialSpec, ...]:
    """Trials of one cell, to be taken for two by turns."""
    cell = select_one(plan.cells, wanted.cell)
    if cell is None:
        return ()
    return tuple(TrialSpec(cell.id, "noise", number) for number in range(2 * wanted.trials))


def noise_caveat(wanted: NoiseCheck, trials: Sequence[TrialResult]) -> Caveat:
    """What the two halves of these trials say of the machine, in one sentence."""
    odd, even = ([t.elapsed_ms for t in trials[first::2]] for first in (0, 1))
    if min(len(odd), len(even)) < THRESHOLDS["min_trials_for_a_verdict"]:
        return Caveat(kind="noise_check", text="the cell for it could not be run often enough")
    interval = ratio_interval(odd, even, seed=0)
    visible = smallest_visible_ratio(interval)
    text = (
        f"before anything was timed, one cell was run {len(trials)} times and its trials set"
        f" against each other: {interval.value:.2f}x [{interval.low:.2f}, {interval.high:.2f}];"
        f" with as many trials, ratios from {visible:.2f}x on are visible"
    )
    if visible > wanted.visible:
        text += (
            f", and the scenario wants {wanted.visible:g}x: this machine is too noisy now to tell"
            " smaller ones; quiet it, or ask for more --trials"
        )
    return Caveat(kind="noise_check", text=text)
