"""`reproduce`: a scenario as it is written. Knows nothing of the terminal."""

from collections.abc import Mapping
from pathlib import Path

from mysqlprof import doctor, scenario
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import open_driver
from mysqlprof.experiment import Bench, run_plan
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Run
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
    if prepared.driver.startswith("connector-j"):
        doctor.require_java()
    with (
        open_driver(prepared.driver) as driver,
        open_backend(request.backend, prepared.options.run_id, progress.step) as backend,
    ):
        run, run_dir = measure(prepared, {"": driver}, backend, request, progress, interrupts)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


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
    )
    return run_plan(bench), run_dir


def write_reports(run_dir: RunDirectory) -> None:
    """(Re)draw report.html and report.md from what is on disk."""
    run_dir.write_report("report.html", render_html(run_dir))
    run_dir.write_report("report.md", render_markdown(run_dir))
    run_dir.write_sums()
