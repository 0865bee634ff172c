"""`upgrade`: a scenario's cells on two versions. What gets faster, what slower, and why."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mysqlprof import scenario
from mysqlprof.changes import CellComparison
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.reproduce import measure, open_drivers, write_reports
from mysqlprof.request import Request, customised, prepare
from mysqlprof.servers.backends import open_backend
from mysqlprof.upgrade.differences import with_differences
from mysqlprof.upgrade.gates import Gate, evaluate
from mysqlprof.upgrade.planning import derive, refuse_accidents
from mysqlprof.upgrade.results import comparison_rows, completed
from mysqlprof.verdict import Measured


def upgrade(
    request: Request, gates: Sequence[Gate], progress: Progress, interrupts: Interrupts
) -> tuple[Run, Path]:
    """Measure every cell before and after, compare, and hold the result against the gates."""
    definition = derive(customised(scenario.load(request.scenario), request), request)
    evaluate(gates, _planned_rows(definition, request))  # one that names no cell is said now
    prepared = prepare(definition, request, progress)
    options = dataclasses.replace(
        prepared.options,
        complete=lambda run, measured: completed(run, measured, gates),
        check_servers=lambda servers: refuse_accidents(definition, servers),
        undecided=lambda measured: any(
            row.verdict == "cannot_tell" for row in comparison_rows(measured)
        ),
    )
    prepared = dataclasses.replace(prepared, options=options)
    with ExitStack() as stack:
        drivers, gaps = open_drivers(prepared, stack)
        prepared = dataclasses.replace(prepared, gaps=gaps)
        backend = stack.enter_context(open_backend(prepared.backend, options.run_id, progress.step))
        run, run_dir = measure(prepared, drivers, backend, request, progress, interrupts)
    progress.step("comparing the profiles")
    run = with_differences(run, run_dir)
    progress.step("writing the report")
    write_reports(run_dir)
    return run, run_dir.path


def _planned_rows(definition: Scenario, request: Request) -> list[CellComparison]:
    """The comparisons to come, without figures."""
    return comparison_rows(
        Measured(definition, scenario.cells(definition, toggle=request.toggle), [])
    )
