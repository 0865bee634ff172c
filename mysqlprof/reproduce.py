"""`reproduce`: options -> scenario -> preflight -> run -> report. Knows nothing of the terminal."""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mysqlprof import doctor, host, scenario
from mysqlprof.drivers.registry import open_driver
from mysqlprof.experiment import Bench, RunOptions, run_plan
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import BackendChoice, DriverName, Limits, Run, Scenario
from mysqlprof.probes.perf import PerfOptions
from mysqlprof.progress import Progress
from mysqlprof.report import render_html, render_markdown
from mysqlprof.servers import catalog
from mysqlprof.servers.backends import engine_answers, open_backend
from mysqlprof.servers.container_files import cnf_settings
from mysqlprof.store import RunDirectory
from mysqlprof.workload import Workload, make, parse_size

_QUICK_TRIALS = 5
_QUICK_WARMUPS = 2
_QUICK_SAMPLES = 400
_QUICK_VALUE_BYTES = 64


@dataclass(frozen=True)
class Request:
    """What the user asked for; None and empty mean the scenario's own."""

    scenario: str
    backend: BackendChoice = "auto"
    before: str = ""
    after: str = ""
    images: dict[str, str] = field(default_factory=dict)
    driver: DriverName = "connector-j"
    driver_version: str = ""
    rows: int | None = None
    columns: int | None = None
    value_bytes: int | None = None
    trials: int | None = None
    seed: int | None = None
    out: Path | None = None
    force: bool = False
    quick: bool = False
    toggle: str = "runtime"
    profile: bool = True
    call_graph: str = "dwarf,16384"
    frequency_hz: int = 999
    cpus: float | None = None
    memory: str = ""
    command: tuple[str, ...] = ()


def reproduce(request: Request, progress: Progress, interrupts: Interrupts) -> tuple[Run, Path]:
    """Measure and report; the judged run and its directory.

    Everything that can be refused is refused before anything is started or written.
    """
    definition = customised(scenario.load(request.scenario), request)
    seed = request.seed if request.seed is not None else secrets.randbelow(2**31)
    plan = scenario.plan(definition, seed=seed, toggle=request.toggle, profile=request.profile)
    workload = workload_of(definition, seed)
    for role in definition.servers.values():
        if role.version:
            catalog.find(role.version)
    out = request.out or default_directory(definition)
    RunDirectory.check_free(out, force=request.force)
    options = _run_options(request, progress)
    with (
        open_driver(request.driver, request.driver_version) as driver,
        open_backend(request.backend, options.run_id, progress.step) as backend,
    ):
        run_dir = RunDirectory.create(out, force=request.force)
        run = run_plan(
            Bench(plan, workload, backend, driver, run_dir, options, progress, interrupts)
        )
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def customised(definition: Scenario, request: Request) -> Scenario:
    """The scenario with the user's sizes and versions."""
    sizes = {
        "rows": request.rows,
        "columns": request.columns,
        "value_bytes": request.value_bytes or (_QUICK_VALUE_BYTES if request.quick else None),
    }
    workload = definition.workload.model_copy(
        update={key: value for key, value in sizes.items() if value is not None}
    )
    versions = {"before": request.before, "after": request.after}
    servers = {
        role: server.model_copy(
            update={"version": versions.get(role) or server.version}
            if role not in request.images
            else {"version": versions.get(role, "")}
        )
        for role, server in definition.servers.items()
    }
    changes: dict[str, object] = {"workload": workload, "servers": servers}
    if request.quick:
        changes["warmups"] = min(_QUICK_WARMUPS, definition.warmups)
        changes["profile"] = definition.profile.model_copy(
            update={"cells": _named_cells(definition), "min_samples": _QUICK_SAMPLES}
        )
        changes |= {"trials": _QUICK_TRIALS, "max_trials": 3 * _QUICK_TRIALS}
    if request.trials:
        changes |= {"trials": request.trials, "max_trials": request.trials}
    return definition.model_copy(update=changes)


def _named_cells(definition: Scenario) -> list[dict[str, str]]:
    """The cells that a claim or the picture needs a profile of."""
    named = [selector for claim in definition.claims for selector in claim.cells]
    if definition.picture:
        named += [definition.picture.slow, definition.picture.normal]
    return named


def workload_of(definition: Scenario, seed: int) -> Workload:
    """The workload, checked against the packet size that the servers will be given."""
    given = {**cnf_settings("base"), **definition.settings}
    return make(definition.workload, seed, parse_size(given["max_allowed_packet"]))


def default_directory(definition: Scenario) -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{definition.name}-{stamp}"


def write_reports(run_dir: RunDirectory) -> None:
    """(Re)draw report.html and report.md from what is on disk."""
    run_dir.write_report("report.html", render_html(run_dir))
    run_dir.write_report("report.md", render_markdown(run_dir))
    run_dir.write_sums()


def _run_options(request: Request, progress: Progress) -> RunOptions:
    """Preflight: what the host lacks is said now, not after minutes of work."""
    progress.step("looking at this host")
    facts = host.facts()
    perf = None
    if request.profile:
        found = doctor.require_perf(facts)
        doctor.require_flamegraph(facts)
        perf = PerfOptions(
            found.path,
            found.version,
            found.event,
            frequency_hz=request.frequency_hz,
            call_graph=request.call_graph,
        )
    if request.driver == "connector-j":
        doctor.require_java(facts)
    doctor.require_space(facts)
    if request.backend == "docker":
        doctor.require_docker(facts)
    uses_docker = request.backend == "docker" or (request.backend == "auto" and engine_answers())
    if uses_docker and request.profile:
        doctor.require_perf_of_containers(facts)
    if not uses_docker:
        doctor.require_libraries(facts)
    return RunOptions(
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        command=list(request.command),
        environment=host.to_environment(facts),
        limits=Limits(request.cpus, parse_size(request.memory) if request.memory else None),
        images=request.images,
        perf=perf,
    )
