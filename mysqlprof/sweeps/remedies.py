"""`remedies`: what helps, ranked by the time that the same rows then take."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from mysqlprof import scenario
from mysqlprof.errors import UsageError
from mysqlprof.interrupts import Interrupts
from mysqlprof.level import Level, merged
from mysqlprof.model import CellResult, Contrast, Factor, Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.request import Request
from mysqlprof.statistics import THRESHOLDS, Interval, ratio_interval
from mysqlprof.sweep_types import RemedyArm, RemedyPlan, RemedyRow, RemedyVerdict
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
from mysqlprof.workload_spec import PreparedInsertSpec

FACTOR = "remedy"
UNTREATED = "untreated"


def remedies(request: Request, progress: Progress, interrupts: Interrupts) -> tuple[Run, Path]:
    """Measure every remedy that the scenario's [remedy_trials] names."""
    analysis = analysis_of(scenario.load(request.scenario), request)
    return run_alone(analysis, request, progress, interrupts)


def analysis_of(definition: Scenario, request: Request) -> Analysis:
    """Raises UsageError where the scenario has no [remedy_trials], or rows do not divide."""
    plan = definition.remedy_trials
    if plan is None:
        raise no_section(definition, "remedy_trials")
    gaps = {arm.name: gap for arm in plan.arms if (gap := gap_of(arm, request.backend))}
    base = sized(definition, plan, request)
    derived = _derived(base, plan, request, gaps)

    def judged(run: Run, measured: Measured) -> Run:
        times = {cell.id: measured.timed_ms(cell.id) for cell in run.cells}
        return run.model_copy(update={"remedies": rows(run, plan, times, gaps)})

    return Analysis(derived, judged)


def _derived(
    definition: Scenario, plan: RemedyPlan, request: Request, gaps: dict[str, str]
) -> Scenario:
    check_names([UNTREATED, *(arm.name for arm in plan.arms)], "remedy_trials")
    total = _rows_of(definition)
    levels = {UNTREATED: merged([held(definition, plan.fix), plan.untreated])}
    for arm in plan.arms:
        level = merged([held(definition, plan.fix | arm.fix), plan.untreated, arm])
        levels[arm.name] = _divided(level, arm, total)
    servers = {UNTREATED: plan.server} | {arm.name: arm.server or plan.server for arm in plan.arms}
    roles = dict.fromkeys(servers.values())
    return derive(
        definition,
        plan,
        request,
        title=f"What helps? {definition.title}",
        roles=roles,
        factors=[Factor(name=FACTOR, levels=levels)],
        contrasts=[
            Contrast(
                name=name,
                text=f"{UNTREATED} : {name}",
                numerator={FACTOR: UNTREATED},
                denominator={FACTOR: name},
            )
            for name in levels
            if name != UNTREATED and name not in gaps
        ],
        exclude=[
            *({FACTOR: name} for name in gaps),
            *(
                {FACTOR: name, "server": role}
                for name, wanted in servers.items()
                for role in roles
                if role != wanted
            ),
        ],
    )


def _rows_of(definition: Scenario) -> int:
    work = definition.workload
    if isinstance(work, PreparedInsertSpec):
        return work.rows
    raise UsageError(
        f"remedies are measured on rows, and the workload of {definition.name} is {work.kind}",
        "give the scenario a workload of the kind prepared-insert",
    )


def _divided(level: Level, arm: RemedyArm, total: int) -> Level:
    """An arm of several executes sends the same number of rows in all."""
    executes = arm.workload.get("executes", 1)
    if total % executes:
        raise UsageError(
            f"{total} rows cannot be sent in {executes} equal statements ({arm.name})",
            "choose --rows that all of the scenario's batches divide",
        )
    return level.model_copy(update={"workload": level.workload | {"rows": total // executes}})


# --- from the run to the rows ---


def rows(
    run: Run,
    plan: RemedyPlan,
    times: Mapping[str, Sequence[float]],
    gaps: Mapping[str, str],
) -> list[RemedyRow]:
    """The fastest first, those that were not measured last."""
    cells = {cell.levels.get(FACTOR, ""): cell for cell in run.cells}
    total = _rows_of(run.plan.definition)
    untreated = RemedyRow(
        rank=None,
        name=UNTREATED,
        verdict="untreated",
        rows=total,
        **medians(cells.get(UNTREATED)),
    )
    gains = {contrast.name: interval_of(contrast) for contrast in run.contrasts}
    found = [
        _row(plan, arm, cells.get(arm.name), gains.get(arm.name), total, gaps.get(arm.name, ""))
        for arm in plan.arms
    ]
    by_time = sorted(
        [untreated, *found], key=lambda r: float("inf") if r.median_ms is None else r.median_ms
    )
    ids = {name: cell.id for name, cell in cells.items()}
    return ranked(by_time, {name: times.get(cell, ()) for name, cell in ids.items()})


def _row(
    plan: RemedyPlan,
    arm: RemedyArm,
    cell: CellResult | None,
    gain: Interval | None,
    total: int,
    gap: str,
) -> RemedyRow:
    measured = cell is not None and cell.median_ms is not None
    return RemedyRow(
        rank=None,
        name=arm.name,
        verdict=verdict(gain, plan.helps_above) if measured else "not_measured",
        statements=arm.workload.get("executes", 1),
        rows=total,
        gain=gain.value if gain else None,
        gain_low=gain.low if gain else None,
        gain_high=gain.high if gain else None,
        cost=arm.cost,
        stars=arm.stars,
        gap="" if measured else gap or "the run ended before it",
        **medians(cell),
    )


def verdict(gain: Interval | None, helps_above: float) -> RemedyVerdict:
    """`gain` is untreated : treated."""
    if gain is None:
        return "cannot_tell"
    if gain.low > helps_above:
        return "helps"
    if gain.high < 1 / helps_above:
        return "makes_it_worse"
    if gain.low > 1 / helps_above and gain.high < helps_above:
        return "does_nothing"
    return "cannot_tell"


def ranked(by_time: Sequence[RemedyRow], times: Mapping[str, Sequence[float]]) -> list[RemedyRow]:
    """Ranks for those that help. Who cannot be told from the first of a rank shares it."""
    result: list[RemedyRow] = []
    rank, place, leader = 0, 0, ""
    for row in by_time:
        if row.verdict == "helps":
            place += 1
            if not leader or _slower(row.name, leader, times):
                rank, leader = place, row.name
            row = row.model_copy(update={"rank": rank})
        result.append(row)
    return result


def _slower(name: str, leader: str, times: Mapping[str, Sequence[float]]) -> bool:
    mine, best = times[name], times[leader]
    if min(len(mine), len(best)) < THRESHOLDS["min_trials_for_a_verdict"]:
        return False
    return ratio_interval(mine, best, zlib.crc32(name.encode())).low > 1
