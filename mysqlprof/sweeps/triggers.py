"""`triggers`: which switch of the server brings the symptom out, each alone against all off."""

from pathlib import Path
from typing import TypedDict

from mysqlprof import scenario
from mysqlprof.interrupts import Interrupts
from mysqlprof.level import Level, merged
from mysqlprof.model import CellResult, Contrast, Factor, Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.request import Request
from mysqlprof.statistics import Interval, judge
from mysqlprof.sweep_types import BASELINE, TriggerArm, TriggerPlan, TriggerRow, TriggerVerdict
from mysqlprof.sweeps.analysis import (
    Analysis,
    check_names,
    derive,
    held,
    interval_of,
    medians,
    no_section,
    run_alone,
    sized,
)
from mysqlprof.sweeps.preload import gap_of
from mysqlprof.verdict import Measured

FACTOR = "trigger"

_VERDICTS: dict[str, TriggerVerdict] = {
    "holds": "fires",
    "does_not_hold": "no_effect",
    "cannot_tell": "cannot_tell",
}


def triggers(request: Request, progress: Progress, interrupts: Interrupts) -> tuple[Run, Path]:
    """Measure every switch that the scenario's [triggers] names."""
    return run_alone(
        analysis_of(scenario.load(request.scenario), request), request, progress, interrupts
    )


def analysis_of(definition: Scenario, request: Request) -> Analysis:
    """Raises UsageError where the scenario has no [triggers]."""
    plan = definition.triggers
    if plan is None:
        raise no_section(definition, "triggers")
    gaps = {arm.name: gap for arm in plan.arms if (gap := gap_of(arm, request.backend))}
    derived = _derived(sized(definition, plan, request), plan, request, gaps)

    def judged(run: Run, _: Measured) -> Run:
        return run.model_copy(update={"triggers": rows(run, plan, gaps)})

    return Analysis(derived, judged)


def _derived(
    definition: Scenario, plan: TriggerPlan, request: Request, gaps: dict[str, str]
) -> Scenario:
    others = [plan.control] if plan.control else []
    check_names([BASELINE, *(arm.name for arm in [*others, *plan.arms])], "triggers")
    held_still = [held(definition, plan.fix), plan.baseline]
    levels = {BASELINE: merged(held_still)}
    against = {}
    if plan.control:
        levels[plan.control.name] = merged([*held_still, plan.control])
        against[BASELINE] = plan.control.name
    for arm in plan.arms:
        levels[arm.name] = merged([held(definition, plan.fix | arm.fix), plan.baseline, arm])
        if arm.name not in gaps:
            against[arm.name] = BASELINE
    return derive(
        definition,
        plan,
        request,
        title=f"What triggers it? {definition.title}",
        roles=[plan.server],
        factors=[Factor(name=FACTOR, levels=levels)],
        contrasts=[
            Contrast(
                name=name,
                text=f"{name} : {other}",
                numerator={FACTOR: name},
                denominator={FACTOR: other},
            )
            for name, other in against.items()
        ],
        exclude=[{FACTOR: name} for name in gaps],
    )


# --- from the run to the rows ---


def rows(run: Run, plan: TriggerPlan, gaps: dict[str, str]) -> list[TriggerRow]:
    """The control, the baseline, then the arms in the scenario's order."""
    cells = {cell.levels.get(FACTOR, ""): cell for cell in run.cells}
    ratios = {contrast.name: interval_of(contrast) for contrast in run.contrasts}
    found = []
    if plan.control:
        name = plan.control.name
        row = TriggerRow(name=name, verdict="control", changes=_changes(plan.control))
        found.append(row.model_copy(update=dict(medians(cells.get(name)))))
    baseline = _baseline(plan, cells.get(BASELINE), ratios.get(BASELINE))
    found.append(baseline)
    for arm in plan.arms:
        row = _row(plan, arm, cells.get(arm.name), ratios.get(arm.name), gaps.get(arm.name, ""))
        if baseline.verdict == "fires" and row.verdict == "no_effect":
            row = row.model_copy(update={"verdict": "cannot_tell", "sentence": ""})
        found.append(row)
    return found


def _baseline(plan: TriggerPlan, cell: CellResult | None, ratio: Interval | None) -> TriggerRow:
    slow = ratio is not None and judge(ratio, above=plan.fires_above, below=None) == "holds"
    return TriggerRow(
        name=BASELINE,
        verdict="fires" if slow else "baseline",
        changes=_changes(plan.baseline),
        sentence="It is slow with every switch off: what a switch adds cannot be told."
        if slow
        else "",
        **_ratio(ratio),
        **medians(cell),
    )


def _row(
    plan: TriggerPlan, arm: TriggerArm, cell: CellResult | None, ratio: Interval | None, gap: str
) -> TriggerRow:
    measured = cell is not None and cell.median_ms is not None
    verdict: TriggerVerdict = "cannot_tell" if measured else "not_measured"
    if measured and ratio:
        verdict = _VERDICTS[judge(ratio, above=plan.fires_above, below=None)]
    return TriggerRow(
        name=arm.name,
        verdict=verdict,
        hope=arm.hope,
        changes=_changes(arm),
        sentence=sentence(arm, verdict, ratio),
        gap="" if measured else gap or "the run ended before it",
        **_ratio(ratio),
        **medians(cell),
    )


class _Ratio(TypedDict, total=False):
    ratio: float
    ratio_low: float
    ratio_high: float


def _ratio(ratio: Interval | None) -> _Ratio:
    if ratio is None:
        return {}
    return {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}


def sentence(arm: TriggerArm, verdict: TriggerVerdict, ratio: Interval | None) -> str:
    """What a DBA needs to know; empty where nothing was measured."""
    if ratio is None:
        return ""
    hope, name = _first_upper(arm.hope), _first_upper(arm.name)
    times = f"{ratio.value:.0f}" if ratio.value >= 10 else f"{ratio.value:.1f}"
    measured = f"{times} times the time of {BASELINE}"
    if verdict == "cannot_tell":
        return f"{hope or name}: it cannot be told ({measured})."
    if verdict == "fires":
        return (
            f"{hope} does not help: {measured} ({arm.name})."
            if hope
            else f"{name} brings it out: {measured}."
        )
    return f"{hope} helps: {measured}." if hope else f"{name} does not: {measured}."


def _first_upper(text: str) -> str:
    """As a sentence begins, unless it begins with a variable's name."""
    word = text.split(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() else text


def _changes(level: Level) -> str:
    """As one would write it; what is switched after prepare says so."""
    said = [f"{name}={value}" for name, value in (level.env | level.launch | level.set).items()]
    said += [f"{name}={value} after prepare" for name, value in level.set_after_prepare.items()]
    return ", ".join(said)
