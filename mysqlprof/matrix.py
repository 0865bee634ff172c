"""`matrix`: drivers x servers, from a scenario's [matrix]."""

import dataclasses
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from mysqlprof import scenario
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import check_driver, full_name, open_driver
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import (
    Contrast,
    ContrastResult,
    Factor,
    Level,
    MatrixPlan,
    MatrixRow,
    MatrixVerdict,
    ProfilePlan,
    Run,
    Scenario,
    ServerRole,
)
from mysqlprof.progress import Progress
from mysqlprof.reproduce import measure, write_reports
from mysqlprof.request import Request, customised, prepare, workload_of
from mysqlprof.servers.backends import open_backend
from mysqlprof.statistics import Interval, judge

_TRIALS = 7


def matrix(
    request: Request,
    servers: list[str],
    drivers: list[str],
    progress: Progress,
    interrupts: Interrupts,
) -> tuple[Run, Path]:
    """Measure every driver on every server, with server-side prepare and without.

    A driver that cannot be had here is a named gap, and so is one that a server refuses; the others
    are measured.
    """
    definition = customised(scenario.load(request.scenario), request)
    wanted = plan_of(definition, servers, drivers)
    task = workload_of(definition, seed=0).task(0)
    for name in wanted.drivers:
        check_driver(name, task)
    trials = request.trials or (definition.trials if request.quick else _TRIALS)
    derived = derive(definition.model_copy(update={"matrix": wanted}), trials)
    with ExitStack() as stack:
        opened, gaps = _open(wanted.drivers, stack, progress)
        if not opened:
            raise EnvironmentLacks(
                f"none of the drivers can run here: {'; '.join(gaps.values())}",
                "install one of them; `mysqlprof doctor` says how",
            )
        measured = derived.model_copy(
            update={"exclude": [*derived.exclude, *({"driver": name} for name in gaps)]}
        )
        prepared = prepare(measured, request, progress)
        refusals: dict[str, str] = {}
        options = dataclasses.replace(
            prepared.options,
            refusals=refusals,
            complete=lambda run, _: run.model_copy(update={"matrix": rows(run, gaps, refusals)}),
        )
        prepared = dataclasses.replace(prepared, options=options)
        backend = stack.enter_context(
            open_backend(request.backend, prepared.options.run_id, progress.step)
        )
        run, run_dir = measure(prepared, opened, backend, request, progress, interrupts)
    run_dir.write_matrix(run.matrix)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def plan_of(definition: Scenario, servers: list[str], drivers: list[str]) -> MatrixPlan:
    """The scenario's [matrix] with the user's lists in place of its own."""
    if definition.matrix is None:
        raise UsageError(
            f"scenario {definition.name!r} has no [matrix]",
            "add one to its TOML file, as bug-73056 has it",
        )
    plan = definition.matrix
    return plan.model_copy(
        update={
            "servers": list(dict.fromkeys(servers)) or plan.servers,
            "drivers": list(dict.fromkeys(map(full_name, drivers))) or plan.drivers,
        }
    )


def derive(definition: Scenario, trials: int) -> Scenario:
    """A scenario whose factors are server, driver and the compared one; the rest is held still."""
    plan = definition.matrix
    assert plan is not None  # plan_of() has seen to it
    factors = [
        Factor(name="server", levels={version: Level() for version in plan.servers}),
        Factor(name="driver", levels={name: Level(driver_name=name) for name in plan.drivers}),
    ]
    for factor in definition.factors:
        if factor.name == plan.compare:
            factors.append(factor)
        elif factor.name != "server":
            level = plan.fix[factor.name]
            factors.append(factor.model_copy(update={"levels": {level: factor.levels[level]}}))
    contrasts = [
        Contrast(
            name=f"{driver} on {server}",
            text=f"{plan.compare} {plan.slow} : {plan.normal}, {driver} on {server}",
            numerator={"server": server, "driver": driver, plan.compare: plan.slow},
            denominator={"server": server, "driver": driver, plan.compare: plan.normal},
        )
        for server in plan.servers
        for driver in plan.drivers
    ]
    return definition.model_copy(
        update={
            "title": f"Drivers and servers: {definition.title}",
            "trials": trials,
            "max_trials": trials,
            # Each driver warms up by itself: a JVM compiles what it has seen often.
            "warmups": definition.warmups + 2,
            "servers": {version: ServerRole(version=version) for version in plan.servers},
            "factors": factors,
            "exclude": [],
            "contrasts": contrasts,
            "claims": [],
            "profile": ProfilePlan(),
            "picture": None,
            "article": [],
        }
    )


def rows(
    run: Run, gaps: dict[str, str], refusals: Mapping[str, str] | None = None
) -> list[MatrixRow]:
    """The matrix, server by server, driver by driver, the compared factor's slow level first.

    `gaps` says of drivers, `refusals` of cells why they were not measured.
    """
    plan = run.plan.definition.matrix
    assert plan is not None  # it is a matrix run
    refusals = refusals or {}
    return [
        _row(run, plan, {"server": server, "driver": driver, plan.compare: level}, gaps, refusals)
        for server in plan.servers
        for driver in plan.drivers
        for level in (plan.slow, plan.normal)
    ]


def _row(
    run: Run,
    plan: MatrixPlan,
    levels: dict[str, str],
    gaps: dict[str, str],
    refusals: Mapping[str, str],
) -> MatrixRow:
    server, driver = levels["server"], levels["driver"]
    cell = next((c for c in run.cells if scenario.matches(c.levels, levels)), None)
    info = next((s for s in run.servers if cell and s.name == cell.server), None)
    contrast = next((c for c in run.contrasts if c.name == f"{driver} on {server}"), None)
    slow = levels[plan.compare] == plan.slow
    gap = gaps.get(driver, "") or (refusals.get(cell.id, "") if cell else "")
    compared = contrast if slow else None
    article = next(
        (
            a.elapsed_ms
            for a in plan.article
            if (a.driver, a.server, a.server_prepare) == (driver, server, slow)
        ),
        None,
    )
    measured = cell is not None and cell.median_ms is not None
    verdict: MatrixVerdict = "normal"
    if not measured:
        verdict = "not_measured"
    elif compared:
        verdict = _verdict(plan, compared)
    return MatrixRow(
        server=server,
        version=info.version if info else "",
        driver=driver,
        server_prepare=slow,
        trials=cell.trials if cell else 0,
        median_ms=cell.median_ms if cell else None,
        ci_low_ms=cell.ci_low_ms if cell else None,
        ci_high_ms=cell.ci_high_ms if cell else None,
        ratio=compared.ratio if compared else None,
        ratio_low=compared.ci_low if compared else None,
        ratio_high=compared.ci_high if compared else None,
        verdict=verdict,
        article_ms=article,
        gap="" if measured else gap or "the run ended before it",
    )


def _verdict(plan: MatrixPlan, contrast: ContrastResult) -> MatrixVerdict:
    if contrast.ratio is None or contrast.ci_low is None or contrast.ci_high is None:
        return "cannot_tell"
    interval = Interval(contrast.ratio, contrast.ci_low, contrast.ci_high)
    if judge(interval, above=plan.slow_above, below=None) == "holds":
        return "slow"
    if judge(interval, above=None, below=plan.normal_below) == "holds":
        return "normal"
    return "cannot_tell"


def _open(
    names: list[str], stack: ExitStack, progress: Progress
) -> tuple[dict[str, Driver], dict[str, str]]:
    """The drivers that can run here, and for the others why they cannot."""
    opened: dict[str, Driver] = {}
    gaps: dict[str, str] = {}
    for name in names:
        progress.step(f"preparing the driver {name}")
        try:
            opened[name] = stack.enter_context(open_driver(name))
        except EnvironmentLacks as error:
            gaps[name] = f"{error.message} ({error.hint})" if error.hint else error.message
            progress.note(f"{name} is left out: {gaps[name]}")
    return opened, gaps
