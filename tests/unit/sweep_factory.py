"""Synthetic runs of triggers, scaling and remedies: invented times. Nothing here was measured."""

import random
from collections.abc import Callable
from pathlib import Path

from report_factory import server

from mysqlprof import scenario
from mysqlprof.attribution import load_rules
from mysqlprof.launches import launches
from mysqlprof.model import CellSpec, Limits, PlanRecord, Run, TrialResult
from mysqlprof.request import workload_of
from mysqlprof.statistics import THRESHOLDS
from mysqlprof.store import RunDirectory
from mysqlprof.sweeps.analysis import Analysis, write_rows
from mysqlprof.verdict import Measured, judge_run

_TRIALS = 5


def cells_ms(middle: float, count: int, seed: int, noise: float = 0.04) -> list[float]:
    chance = random.Random(seed)
    return [round(middle * chance.lognormvariate(0, noise), 4) for _ in range(count)]


def make_sweep_run(
    path: Path, analysis: Analysis, law: Callable[[CellSpec], float]
) -> RunDirectory:
    """A run on disk in which a cell takes about what `law` says, in ms."""
    definition = analysis.definition
    plan = scenario.plan(definition, seed=1)
    trials = [
        TrialResult(
            cell=cell.id,
            trial=number,
            round=number,
            kind="timed",
            profiled=False,
            elapsed_ms=ms,
            prepare_ms=1.0,
            rows_written=500,
            status={"minor_faults": 480},
        )
        for index, cell in enumerate(plan.cells)
        for number, ms in enumerate(cells_ms(law(cell), _TRIALS, index))
    ]
    names = launches(plan, Limits(), {}).of_cell
    measured = Measured(definition, plan.cells, trials, names, {})
    judged = judge_run(measured, load_rules())
    facts: dict[str, dict[str, object]] = {}
    known: dict[str, dict[str, object]] = {}
    for cell in plan.cells:
        if cell.workload:
            spec = definition.workload.model_copy(update=cell.workload)
            key = repr(spec)
            if key not in known:
                sized = definition.model_copy(update={"workload": spec})
                known[key] = workload_of(sized, 1).facts()
            facts[cell.id] = known[key]
    run = Run(
        id="sweep-synthetic",
        tool_version="0.1.0",
        created="2025-11-20T15:40:05+00:00",
        status="complete",
        command=["mysqlprof", "a sweep"],
        scenario=definition.name,
        plan=PlanRecord(
            definition=definition, seed=1, trials=_TRIALS, warmups=1, cells=list(plan.cells)
        ),
        driver={"name": "connector-j", "version": "8.0.33"},
        workload=workload_of(definition, 1).facts(),
        workloads=facts,
        servers=[server(name, name.split("_")[0]) for name in dict.fromkeys(names.values())],
        cells=judged.cells,
        contrasts=judged.contrasts,
        caveats=judged.caveats,
        thresholds=THRESHOLDS,
    )
    run_dir = RunDirectory.create(path, force=False)
    run_dir.write_trials(trials, {cell.id: cell.levels for cell in plan.cells})
    run = analysis.judge(run, measured)
    run_dir.write_run(run)
    write_rows(run, run_dir)
    return run_dir
