"""What the sweeps have in common: deriving a plan of arms, measuring it, keeping its rows."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from mysqlprof import scenario
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import open_driver
from mysqlprof.errors import UsageError
from mysqlprof.interrupts import Interrupts
from mysqlprof.level import Level, merged
from mysqlprof.model import CellResult, Contrast, ContrastResult, Factor, ProfilePlan, Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.reproduce import measure, write_reports
from mysqlprof.request import Prepared, Request, customised, prepare
from mysqlprof.servers.backends import open_backend
from mysqlprof.servers.base import Backend
from mysqlprof.statistics import Interval
from mysqlprof.store import RunDirectory
from mysqlprof.sweep_types import SweepPlan
from mysqlprof.verdict import Measured

_QUICK_TRIALS = 3


@dataclass(frozen=True)
class Analysis:
    """A plan, and how the rows come of what was measured by it."""

    definition: Scenario
    judge: Callable[[Run, Measured], Run]
    """The run with its rows; trials may still be lacking."""


def run_alone(
    analysis: Analysis, request: Request, progress: Progress, interrupts: Interrupts
) -> tuple[Run, Path]:
    """Measure in a run directory of its own, and report."""
    prepared = _prepared(analysis, request, progress)
    with (
        open_driver(prepared.driver) as driver,
        open_backend(request.backend, prepared.options.run_id, progress.step) as backend,
    ):
        run, run_dir = _measured(prepared, request, driver, backend, progress, interrupts)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def run_within(
    analysis: Analysis,
    request: Request,
    driver: Driver,
    backend: Backend,
    progress: Progress,
    interrupts: Interrupts,
) -> tuple[Run, RunDirectory]:
    """Measure into the directory that `request.out` names, with what is open already."""
    prepared = _prepared(analysis, request, progress)
    return _measured(prepared, request, driver, backend, progress, interrupts)


def _prepared(analysis: Analysis, request: Request, progress: Progress) -> Prepared:
    # Its own evidence is the times: a run that gathers more has this measured beside it.
    wanted = dataclasses.replace(request, evidence="none")
    prepared = prepare(analysis.definition, wanted, progress)
    options = dataclasses.replace(prepared.options, complete=analysis.judge)
    return dataclasses.replace(prepared, options=options)


def _measured(
    prepared: Prepared,
    request: Request,
    driver: Driver,
    backend: Backend,
    progress: Progress,
    interrupts: Interrupts,
) -> tuple[Run, RunDirectory]:
    run, run_dir = measure(prepared, {"": driver}, backend, request, progress, interrupts)
    write_rows(run, run_dir)
    return run, run_dir


def write_rows(run: Run, run_dir: RunDirectory) -> None:
    """The CSV files of whatever the run has."""
    if run.triggers:
        run_dir.write_triggers(run.triggers)
    if run.scaling:
        run_dir.write_scaling(run.scaling)
    if run.remedies:
        run_dir.write_remedies(run.remedies)
    run_dir.write_sums()


# --- deriving a plan ---


def sized(definition: Scenario, plan: SweepPlan, request: Request) -> Scenario:
    """The scenario with the plan's sizes, the user's in their place, and the user's versions."""
    workload = definition.workload.model_copy(update=plan.workload)
    # What --quick makes of other verbs' sizes would be larger than the plan's.
    wanted = dataclasses.replace(request, quick=False)
    return customised(definition.model_copy(update={"workload": workload}), wanted)


def trials_of(plan: SweepPlan, request: Request) -> int:
    return request.trials or (_QUICK_TRIALS if request.quick else plan.trials)


def held(definition: Scenario, fix: Mapping[str, str]) -> Level:
    """What the levels that are held still come to."""
    return merged(
        factor.levels[fix[factor.name]] for factor in definition.factors if factor.name in fix
    )


def derive(
    definition: Scenario,
    plan: SweepPlan,
    request: Request,
    *,
    title: str,
    roles: Iterable[str],
    factors: list[Factor],
    contrasts: list[Contrast],
    exclude: list[dict[str, str]],
    profile: ProfilePlan | None = None,
) -> Scenario:
    """A scenario of these factors besides the server, with no claims."""
    wanted = set(roles)
    servers = {role: known for role, known in definition.servers.items() if role in wanted}
    server = Factor(name="server", levels={role: Level() for role in servers})
    trials = trials_of(plan, request)
    return definition.model_copy(
        update={
            "title": title,
            "trials": trials,
            "max_trials": trials,
            "warmups": 1 if request.quick else plan.warmups,
            "servers": servers,
            "factors": [server, *factors],
            "exclude": exclude,
            "contrasts": contrasts,
            "claims": [],
            "profile": profile or ProfilePlan(),
            "picture": None,
            "article": [],
            "matrix": None,
            "bisect": None,
            "counters": None,
        }
    )


class Medians(TypedDict, total=False):
    trials: int
    median_ms: float | None
    ci_low_ms: float | None
    ci_high_ms: float | None


def medians(cell: CellResult | None) -> Medians:
    """A cell's time as rows have it; nothing where it was not measured."""
    if cell is None:
        return {}
    return {
        "trials": cell.trials,
        "median_ms": cell.median_ms,
        "ci_low_ms": cell.ci_low_ms,
        "ci_high_ms": cell.ci_high_ms,
    }


def interval_of(contrast: ContrastResult | None) -> Interval | None:
    """A ratio; None where it was not measured, or by too few trials."""
    if contrast is None or contrast.ratio is None:
        return None
    if contrast.ci_low is None or contrast.ci_high is None:
        return None
    return Interval(contrast.ratio, contrast.ci_low, contrast.ci_high)


def check_names(names: Iterable[str], section: str) -> None:
    """Arms become cells, whose names are files' names: they must stay apart."""
    seen: dict[str, str] = {}
    for name in names:
        file = scenario.file_name(name)
        if file in seen:
            raise UsageError(
                f"[{section}] has two arms of one name: {seen[file]!r} and {name!r}",
                "correct the scenario's file",
            )
        seen[file] = name


def no_section(definition: Scenario, section: str) -> UsageError:
    return UsageError(
        f"scenario {definition.name!r} has no [{section}]",
        "add one to its TOML file, as bug-73056 has it",
    )
