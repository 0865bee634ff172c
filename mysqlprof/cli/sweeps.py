"""The verbs that vary one thing at a time: triggers, scale, remedies."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mysqlprof.cli.exit_codes import sweep_exit_code
from mysqlprof.cli.options import (
    BackendOption,
    CallGraphOption,
    ColumnsOption,
    CpusOption,
    DriverOption,
    ForceOption,
    FrequencyOption,
    JsonFlag,
    MemoryOption,
    OutOption,
    ProfileOption,
    QuickOption,
    RowsOption,
    ScenarioArgument,
    SeedOption,
    TrialsOption,
    ValueBytesOption,
    request_of,
)
from mysqlprof.cli.output import print_json
from mysqlprof.cli.sweep_tables import print_remedies, print_scaling, print_triggers
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Run
from mysqlprof.terminal import TerminalProgress

BeforeOption = Annotated[str, typer.Option(metavar="V", help="Version said to be slow.")]
AfterOption = Annotated[str, typer.Option(metavar="V", help="Version to upgrade to.")]


def triggers_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    before: BeforeOption = "",
    driver: DriverOption = None,
    backend: BackendOption = "auto",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Each switch of the server alone against all off: which one brings the symptom out?"""
    from mysqlprof.sweeps.triggers import triggers

    request = request_of(context, profile=False)
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = triggers(request, progress, interrupts)
    told = any(row.verdict in ("fires", "no_effect") for row in run.triggers)
    _answer(run, path, print_triggers, told, as_json)


def scale_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    before: BeforeOption = "",
    driver: DriverOption = None,
    backend: BackendOption = "auto",
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    profile: ProfileOption = True,
    call_graph: CallGraphOption = "dwarf,16384",
    frequency_hz: FrequencyOption = 999,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Rows, columns and bytes, one varied at a time: from what size on does it hurt?"""
    from mysqlprof.sweeps.scaling import scale

    request = request_of(context)
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = scale(request, progress, interrupts)
    series = run.scaling.series if run.scaling else []
    told = any(point.exponent is not None for each in series for point in each.points)
    _answer(run, path, print_scaling, told, as_json)


def remedies_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    before: BeforeOption = "",
    after: AfterOption = "",
    driver: DriverOption = None,
    backend: BackendOption = "auto",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """The same rows with one remedy after the other, ranked by the time they then take."""
    from mysqlprof.sweeps.remedies import remedies

    request = request_of(context, profile=False)
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = remedies(request, progress, interrupts)
    told = any(row.gain is not None and row.verdict != "cannot_tell" for row in run.remedies)
    _answer(run, path, print_remedies, told, as_json)


def _answer(
    run: Run, path: Path, show: Callable[[Run, Path], None], told: bool, as_json: bool
) -> None:
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        show(run, path)
    raise typer.Exit(sweep_exit_code(run, told))
