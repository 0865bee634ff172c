"""`reproduce --evidence full`: the scenario's run, and beside it what triggers, scales and helps.

Each sweep is a run of its own under evidence/ in the run directory; its rows are in the main run.
"""

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from mysqlprof import scenario
from mysqlprof.drivers.base import Driver
from mysqlprof.errors import MysqlprofError
from mysqlprof.interrupts import Interrupted, Interrupts
from mysqlprof.model import Caveat, Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.reproduce import measure, open_drivers, write_reports
from mysqlprof.request import Request, customised, prepare
from mysqlprof.servers.backends import open_backend
from mysqlprof.servers.base import Backend
from mysqlprof.store import RunDirectory
from mysqlprof.sweeps import remedies, scaling, triggers
from mysqlprof.sweeps.analysis import Analysis, run_within, write_rows

# In the order of a reader's questions; a scenario lacks those that its file has no section for.
_SWEEPS: dict[str, Callable[[Scenario, Request], Analysis]] = {
    "triggers": triggers.analysis_of,
    "scaling": scaling.analysis_of,
    "remedies": remedies.analysis_of,
}


_OF_THE_PART = frozenset(
    {"noise", "first_trial", "outliers", "drift", "unresolved", "substitution", "more_rounds"}
)
"""Caveats about a part's own cells, or that the main run has, too: the part's report has them."""


def reproduce_with_evidence(
    request: Request, progress: Progress, interrupts: Interrupts
) -> tuple[Run, Path]:
    """Measure, gather all evidence, report. What one sweep lacks does not cost the others."""
    definition = scenario.load(request.scenario)
    prepared = prepare(customised(definition, request), request, progress)
    sweeps = _sweeps(definition, request)
    with ExitStack() as stack:
        drivers, gaps = open_drivers(prepared, stack)
        prepared = dataclasses.replace(prepared, gaps=gaps)
        backend = stack.enter_context(
            open_backend(prepared.backend, prepared.options.run_id, progress.step)
        )
        run, run_dir = measure(prepared, drivers, backend, request, progress, interrupts)
        for name, analysis in sweeps.items():
            if run.status != "complete" or interrupts.requested:
                missing = [*run.missing, f"{name}: the run ended before it"]
                run = run.model_copy(update={"missing": missing})
                continue
            progress.note(f"evidence: {name}")
            run = _with_sweep(
                run, run_dir, name, analysis, request, drivers[""], backend, progress, interrupts
            )
            run_dir.write_run(run)
    write_rows(run, run_dir)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def _sweeps(definition: Scenario, request: Request) -> dict[str, Analysis]:
    """Those that the scenario has; what is wrong with one is said before anything starts."""
    sections = {
        "triggers": definition.triggers,
        "scaling": definition.scaling,
        "remedies": definition.remedy_trials,
    }
    # A sweep has its own sizes and numbers of trials: it is small, and there are three.
    own = dataclasses.replace(
        request, rows=None, columns=None, value_bytes=None, trials=None, images={}
    )
    return {
        name: _SWEEPS[name](definition, own)
        for name, section in sections.items()
        if section is not None
    }


def _with_sweep(
    run: Run,
    run_dir: RunDirectory,
    name: str,
    analysis: Analysis,
    request: Request,
    driver: Driver,
    backend: Backend,
    progress: Progress,
    interrupts: Interrupts,
) -> Run:
    """The run with the sweep's rows and what must be known about them."""
    own = dataclasses.replace(request, out=run_dir.part(name), force=False)
    try:
        part, part_dir = run_within(analysis, own, driver, backend, progress, interrupts)
    except Interrupted:
        return run.model_copy(update={"status": "interrupted"})
    except MysqlprofError as error:
        return _lacking(run, name, error)
    write_reports(part_dir)
    caveats = [
        c.model_copy(update={"text": f"{name}: {c.text}"})
        for c in part.caveats
        if c.partial or c.kind not in _OF_THE_PART
    ]
    return run.model_copy(
        update={
            name: getattr(part, name),
            "status": part.status,
            "caveats": [*run.caveats, *caveats],
            "missing": [*run.missing, *(f"{name}: {text}" for text in part.missing)],
            "elapsed_s": run.elapsed_s | {name: round(sum(part.elapsed_s.values()), 2)},
        }
    )


def _lacking(run: Run, name: str, error: MysqlprofError) -> Run:
    caveat = Caveat(kind="evidence", text=f"no {name}: {error.message}", partial=True)
    return run.model_copy(update={"caveats": [*run.caveats, caveat]})
