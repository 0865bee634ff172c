"""`reproduce`: a scenario as it is written. Knows nothing of the terminal."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mysqlprof import doctor, scenario
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import open_driver
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.experiment import Bench, run_plan
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Gap, Run
from mysqlprof.progress import Progress
from mysqlprof.report import render_html, render_markdown
from mysqlprof.request import Prepared, Request, customised, prepare
from mysqlprof.servers.backends import open_backend
from mysqlprof.servers.base import Backend
from mysqlprof.store import RunDirectory


def reproduce(request: Request, progress: Progress, interrupts: Interrupts) -> tuple[Run, Path]:
    """Measure and report; the judged run and its directory.

    Everything that can be refused is refused before anything is started or written.
    """
    prepared = prepare(customised(scenario.load(request.scenario), request), request, progress)
    with ExitStack() as stack:
        drivers, gaps = open_drivers(prepared, stack)
        prepared = replace(prepared, gaps=gaps)
        backend = stack.enter_context(
            open_backend(prepared.backend, prepared.options.run_id, progress.step)
        )
        run, run_dir = measure(prepared, drivers, backend, request, progress, interrupts)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def open_drivers(prepared: Prepared, stack: ExitStack) -> tuple[dict[str, Driver], tuple[Gap, ...]]:
    """Those that cells ask for, by the names they give; a named one that cannot be had is a gap."""
    drivers: dict[str, Driver] = {}
    gaps = []
    for name in dict.fromkeys(cell.driver_name for cell in prepared.plan.cells):
        text = name or prepared.driver
        try:
            if text.startswith("connector-j"):
                doctor.require_java()
            drivers[name] = stack.enter_context(open_driver(text))
        except EnvironmentLacks as error:
            if not name:
                raise
            cells = [cell.id for cell in prepared.plan.cells if cell.driver_name == name]
            gaps.append(Gap(cells=cells, why=error.message, remedy=error.hint))
    if not drivers:
        raise EnvironmentLacks(f"none of the drivers can run here: {gaps[0].why}", gaps[0].remedy)
    return drivers, tuple(gaps)


def measure(
    prepared: Prepared,
    drivers: Mapping[str, Driver],
    backend: Backend,
    request: Request,
    progress: Progress,
    interrupts: Interrupts,
) -> tuple[Run, RunDirectory]:
    """Execute what was prepared, into a new run directory."""
    run_dir = RunDirectory.create(prepared.out, force=request.force)
    bench = Bench(
        prepared.plan,
        prepared.workload,
        backend,
        drivers,
        run_dir,
        prepared.options,
        progress,
        interrupts,
        prepared.workloads,
        prepared.gaps,
    )
    return run_plan(bench), run_dir


def write_reports(run_dir: RunDirectory) -> None:
    """(Re)draw report.html and report.md from what is on disk."""
    run_dir.write_report("report.html", render_html(run_dir))
    run_dir.write_report("report.md", render_markdown(run_dir))
    run_dir.write_sums()
