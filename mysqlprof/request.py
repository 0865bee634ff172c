"""What a user asked to be measured, and everything about it that can be refused beforehand."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mysqlprof import doctor, host, scenario
from mysqlprof.drivers.registry import check_driver
from mysqlprof.errors import UsageError
from mysqlprof.experiment import RunOptions
from mysqlprof.model import BackendChoice, DriverName, Gap, Limits, Plan, Scenario
from mysqlprof.probes.perf import PerfOptions
from mysqlprof.progress import Progress
from mysqlprof.servers import catalog
from mysqlprof.servers.backends import engine_answers
from mysqlprof.servers.container_files import cnf_settings
from mysqlprof.sizes import parse_size
from mysqlprof.store import RunDirectory
from mysqlprof.workload_spec import WorkloadSpec
from mysqlprof.workloads import make
from mysqlprof.workloads.base import Workload

EVIDENCE = frozenset({"wire", "counters"})
"""What --evidence full gathers."""

_QUICK_TRIALS = 5
_QUICK_WARMUPS = 2
_QUICK_SAMPLES = 400
_SIZES = ("rows", "columns", "value_bytes", "threads", "events", "connections")
"""Of workloads, as options: each kind has some of them."""


@dataclass(frozen=True)
class Request:
    """What the user asked for; None and empty mean the scenario's own."""

    scenario: str
    backend: BackendChoice = "auto"
    before: str = ""
    after: str = ""
    images: dict[str, str] = field(default_factory=dict)
    driver: DriverName | None = None
    driver_version: str = ""
    rows: int | None = None
    columns: int | None = None
    value_bytes: int | None = None
    threads: int | None = None
    events: int | None = None
    connections: int | None = None
    trials: int | None = None
    seed: int | None = None
    out: Path | None = None
    force: bool = False
    quick: bool = False
    toggle: str = "runtime"
    profile: bool = True
    call_graph: str = "dwarf,16384"
    frequency_hz: int = 999
    evidence: Literal["none", "full"] = "none"
    cpus: float | None = None
    memory: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A request that nothing speaks against; nothing was started or written for it yet."""

    plan: Plan
    workload: Workload
    driver: str
    """Of the cells that name none, as `open_driver` takes it."""
    out: Path
    options: RunOptions
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """Of cells that have a size of their own."""
    backend: BackendChoice = "auto"
    """As the scenario lets the user choose it."""
    gaps: tuple[Gap, ...] = ()
    """What was found, when drivers were opened, not to be had."""


def prepare(definition: Scenario, request: Request, progress: Progress) -> Prepared:
    """Plan, limits, versions, output directory, then what the host must have.

    Raises UsageError and EnvironmentLacks: what is wrong is said now, not after minutes of work.
    """
    seed = request.seed if request.seed is not None else secrets.randbelow(2**31)
    plan = scenario.plan(definition, seed=seed, toggle=request.toggle, profile=request.profile)
    workload = workload_of(definition, seed)
    driver = driver_of(definition, request)
    for name in {cell.driver_name or driver for cell in plan.cells}:
        check_driver(name, workload.task(0))
    for role in definition.servers.values():
        if role.version:
            catalog.find(role.version)
    out = request.out or default_directory(definition)
    RunDirectory.check_free(out, force=request.force)
    sizes = _workloads_of(plan, workload)
    versions = [role.version for role in definition.servers.values() if role.version]
    request = replace(request, backend=backend_of(definition, request.backend))
    options = _run_options(request, versions, progress)
    return Prepared(plan, workload, driver, out, options, sizes, request.backend)


def customised(definition: Scenario, request: Request) -> Scenario:
    """The scenario with the user's sizes and versions."""
    workload = definition.workload.quick() if request.quick else definition.workload
    workload = _resized(workload, definition.name, request)
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


def _resized(workload: WorkloadSpec, scenario_name: str, request: Request) -> WorkloadSpec:
    """With the sizes that the user gave; UsageError for those that this kind does not have."""
    given = {name: getattr(request, name) for name in _SIZES}
    wanted = {name: value for name, value in given.items() if value is not None}
    foreign = [_option(name) for name in wanted if name not in type(workload).model_fields]
    if foreign:
        own = [_option(name) for name in _SIZES if name in type(workload).model_fields]
        raise UsageError(
            f"{', '.join(foreign)}: not for scenario {scenario_name}, whose workload is"
            f" {workload.kind}",
            f"it takes {', '.join(own)}",
        )
    return workload.model_copy(update=wanted)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def driver_of(definition: Scenario, request: Request) -> str:
    """The driver as `open_driver` takes it: the user's, or else the scenario's."""
    text = request.driver or definition.driver
    if not request.driver_version:
        return text
    return f"{text.partition(':')[0]}:{request.driver_version}"


def _named_cells(definition: Scenario) -> list[dict[str, str]]:
    """The cells that a claim or the picture needs a profile of; all where there is neither."""
    by_profile = [c for c in definition.claims if c.category or c.path]
    named = [selector for claim in by_profile for selector in claim.cells]
    if definition.picture:
        named += [definition.picture.slow, definition.picture.normal]
    return named or definition.profile.cells


def workload_of(definition: Scenario, seed: int) -> Workload:
    """The workload, checked against the packet size that the servers will be given."""
    given = {**cnf_settings("base"), **definition.settings}
    return make(definition.workload, seed, parse_size(given["max_allowed_packet"]))


def _workloads_of(plan: Plan, default: Workload) -> dict[str, Workload]:
    """One workload a size, for the cells that are not of the default's."""
    made = {plan.scenario.workload: default}
    found = {}
    for cell in plan.cells:
        spec = _with_sizes(plan.scenario.workload, cell.workload)
        if spec not in made:
            sized = plan.scenario.model_copy(update={"workload": spec})
            made[spec] = workload_of(sized, plan.seed)
        if made[spec] is not default:
            found[cell.id] = made[spec]
    return found


def _with_sizes(spec: WorkloadSpec, sizes: dict[str, int]) -> WorkloadSpec:
    try:
        return type(spec).model_validate(spec.model_dump() | sizes)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"a workload of {sizes} cannot be: {first['loc'][0]}: {first['msg']}",
            "correct the scenario's file",
        ) from error


def backend_of(definition: Scenario, choice: BackendChoice) -> BackendChoice:
    """`auto` is the local one for scenarios that only it can place and equip.

    Raises UsageError where another was chosen for those.
    """
    levels = [level for factor in definition.factors for level in factor.levels.values()]
    if definition.hosts == 1 and not any(level.certificate or level.route for level in levels):
        return choice
    if choice == "docker":
        raise UsageError(
            f"scenario {definition.name} has a network and certificates of its own,"
            " which only the local backend can give a server",
            "leave --backend out",
        )
    return "local"


def default_directory(definition: Scenario) -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{definition.name}-{stamp}"


def _run_options(request: Request, versions: list[str], progress: Progress) -> RunOptions:
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
    doctor.require_space(facts)
    if request.backend == "docker":
        doctor.require_docker(facts)
    uses_docker = request.backend == "docker" or (request.backend == "auto" and engine_answers())
    if uses_docker and request.profile:
        doctor.require_perf_of_containers(facts)
    if not uses_docker:
        doctor.require_libraries(facts)
        for version in versions:
            catalog.nearest_with_archive(version)
    return RunOptions(
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        command=list(request.command),
        environment=host.to_environment(facts),
        limits=Limits(request.cpus, parse_size(request.memory) if request.memory else None),
        images=request.images,
        perf=perf,
        evidence=EVIDENCE if request.evidence == "full" else frozenset(),
    )
