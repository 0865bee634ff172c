"""Synthetic runs of `upgrade`: invented numbers in the shape of real ones, as in report_factory."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from report_factory import flame_svg, folded, profile_info, server

from mysqlprof.attribution import load_rules
from mysqlprof.changes import CellComparison, FunctionChange
from mysqlprof.differential import functions, side
from mysqlprof.model import CellSpec, PlanRecord, Run, TrialResult
from mysqlprof.request import Request, customised
from mysqlprof.scenario import cells as cells_of
from mysqlprof.scenario import load
from mysqlprof.statistics import THRESHOLDS
from mysqlprof.store import RunDirectory
from mysqlprof.upgrade.gates import parse
from mysqlprof.upgrade.planning import derive
from mysqlprof.upgrade.results import completed
from mysqlprof.verdict import Measured, judge_run

CELL = "fixed_log-on_prepare-on"
_PATH = "do_command(THD*);dispatch_command(THD*);Prepared_statement::set_parameters(String*)"
BEFORE_STACKS = {
    f"{_PATH};String::replace(unsigned int);String::mem_realloc(unsigned long);memmove": 900,
    "do_command(THD*);dispatch_command(THD*);write_row(unsigned char*)": 80,
}
AFTER_STACKS = {
    f"{_PATH};append_query_string(THD*)": 60,
    "do_command(THD*);dispatch_command(THD*);write_row(unsigned char*)": 80,
}
SETTINGS = {
    "before": {"log_bin": "OFF", "innodb_flush_method": "", "query_cache_size": "1", "port": "1"},
    "after": {"log_bin": "ON", "innodb_flush_method": "fsync", "zz_new": "1", "port": "2"},
}


def make_upgrade_run(
    path: Path,
    *,
    ratios: Mapping[str, float] | float = 1.0,
    versions: tuple[str, str] = ("5.7.22", "8.0.31"),
    gates: Sequence[str] = (),
    trial_count: int = 7,
    spread: float = 0.01,
    stacks: tuple[Mapping[str, int], Mapping[str, int]] = (BEFORE_STACKS, AFTER_STACKS),
    profiled: str = CELL,
    settings: Mapping[str, Mapping[str, str]] = SETTINGS,
    **changes: object,
) -> RunDirectory:
    """A run directory on disk. `ratios` of after : before, by cell or for all; those left out
    are 1. `changes` replace fields of its run.json."""
    request = Request(scenario="bug-73056", before=versions[0], after=versions[1])
    definition = derive(customised(load("bug-73056"), request), request)
    cells = cells_of(definition)
    trials = _trials(cells, ratios, trial_count, spread)
    names = {cell.id: cell.role for cell in cells}
    sides = dict(zip(("before", "after"), map(folded, stacks), strict=True))
    profiles = {
        f"{role}_{profiled}": (profile_info(f"{role}_{profiled}", found), found)
        for role, found in sides.items()
        if found.total
    }
    measured = Measured(definition, cells, trials, names, profiles)
    judged = judge_run(measured, load_rules())
    run = Run(
        id="upgrade-synthetic",
        tool_version="0.1.0",
        created="2025-11-20T15:40:05+00:00",
        status="complete",
        command=["mysqlprof", "upgrade", "bug-73056"],
        scenario=definition.name,
        plan=PlanRecord(
            definition=definition, seed=42, trials=trial_count, warmups=1, cells=list(cells)
        ),
        workload={"parameters": 12000, "unit": "execute"},
        environment={"cpu_model": "Synthetic CPU", "cpus": 2},
        servers=[
            server(
                role, role, requested=version, version=version, substitution="",
                settings=dict(settings[role]),
            )
            for role, version in zip(("before", "after"), versions, strict=True)
        ],
        cells=judged.cells,
        contrasts=judged.contrasts,
        caveats=judged.caveats,
        thresholds=THRESHOLDS,
        elapsed_s={"setup": 11.2, "timed": 71.0},
    )  # fmt: skip
    run = completed(run, measured, [parse(gate) for gate in gates])
    run_dir = RunDirectory.create(path, force=False)
    run_dir.write_trials(trials, {cell.id: cell.levels for cell in cells})
    for info, found in profiles.values():
        run_dir.write_profile(info, found, flame_svg(found))
    if len(profiles) == 2:
        run = _with_functions(run, run_dir, {r: side(s, 999, 3) for r, s in sides.items()})
        for role, found in sides.items():
            run_dir.write_difference(profiled, role, flame_svg(found))
    run_dir.write_run(run.model_copy(update=changes))
    return run_dir


def _with_functions(run: Run, run_dir: RunDirectory, sides: Mapping[str, object]) -> Run:
    rows: list[FunctionChange] = functions(sides["before"], sides["after"], CELL)  # type: ignore[arg-type]
    run_dir.write_functions(rows)
    assert run.upgrade is not None
    upgrade = run.upgrade.model_copy(update={"functions": rows})
    return run.model_copy(update={"upgrade": upgrade})


def _trials(
    cells: Sequence[CellSpec], ratios: Mapping[str, float] | float, count: int, spread: float
) -> list[TrialResult]:
    chance = random.Random(7)
    found: list[TrialResult] = []
    for round_ in range(count):
        for cell in cells:
            name = cell.id.removeprefix(f"{cell.role}_")
            ratio = ratios if isinstance(ratios, float) else ratios.get(name, 1.0)
            middle = 50.0 * (ratio if cell.role == "after" else 1.0)
            found.append(
                TrialResult(
                    cell=cell.id,
                    trial=len(found),
                    round=round_,
                    kind="timed",
                    profiled=False,
                    elapsed_ms=round(middle * chance.lognormvariate(0, spread), 4),
                    prepare_ms=11.0,
                    rows_written=500,
                )
            )
    return found


def rows_of(run_dir: RunDirectory) -> dict[str, CellComparison]:
    return {row.cell: row for row in run_dir.read_run().comparison}
