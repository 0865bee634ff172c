"""The verbs that measure: reproduce, matrix, bisect."""

from typing import Annotated

import typer

from mysqlprof.cli.exit_codes import bisect_exit_code, exit_code, matrix_exit_code
from mysqlprof.cli.options import (
    BackendOption,
    CallGraphOption,
    ColumnsOption,
    ConnectionsOption,
    CpusOption,
    DriverOption,
    EventsOption,
    EvidenceOption,
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
    ThreadsOption,
    ToggleOption,
    TrialsOption,
    ValueBytesOption,
    parse_images,
    request_of,
)
from mysqlprof.cli.output import print_json
from mysqlprof.interrupts import Interrupts
from mysqlprof.terminal import TerminalProgress, print_bisect, print_matrix, print_summary


def reproduce_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    backend: BackendOption = "auto",
    before: Annotated[str, typer.Option(metavar="V", help="Version said to be slow.")] = "",
    after: Annotated[str, typer.Option(metavar="V", help="Control version.")] = "",
    image: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]REF",
            help="Your own image (official contract) for a role; plain REF is for `before`.",
        ),
    ] = None,
    driver: DriverOption = None,
    driver_version: Annotated[str, typer.Option(metavar="V", help="Connector/J's version.")] = "",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    threads: ThreadsOption = None,
    events: EventsOption = None,
    connections: ConnectionsOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    toggle: ToggleOption = "runtime",
    profile: ProfileOption = True,
    call_graph: CallGraphOption = "dwarf,16384",
    frequency_hz: FrequencyOption = 999,
    evidence: EvidenceOption = "none",
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Launch servers, drive the workload, profile, and hand back a verdict with its evidence."""
    from mysqlprof.reproduce import reproduce
    from mysqlprof.sweeps.evidence import reproduce_with_evidence

    request = request_of(context, images=parse_images(image or []))
    measured = reproduce_with_evidence if evidence == "full" else reproduce
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = measured(request, progress, interrupts)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_summary(run, path)
    raise typer.Exit(exit_code(run))


def matrix_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    server: Annotated[
        list[str] | None, typer.Option(metavar="V", help="A server's version; repeat it.")
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(metavar="D", help="connector-j:8.0.33, python, go, node...; repeat it."),
    ] = None,
    backend: BackendOption = "auto",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    toggle: ToggleOption = "runtime",
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Every driver on every server, with server-side prepare and without: which one is hit?"""
    from mysqlprof.matrix import matrix

    request = request_of(context, profile=False, driver=None)
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = matrix(request, server or [], driver or [], progress, interrupts)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_matrix(run, path)
    raise typer.Exit(matrix_exit_code(run))


def bisect_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    bad: Annotated[str, typer.Option(metavar="V", help="An older version that shows it.")],
    good: Annotated[str, typer.Option(metavar="V", help="A newer version that does not.")],
    every: Annotated[
        bool, typer.Option("--every", help="Measure all versions between, not only a path.")
    ] = False,
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
    toggle: ToggleOption = "runtime",
    profile: ProfileOption = True,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """The first version in the catalog that no longer shows the scenario's symptom."""
    from mysqlprof.bisect import bisect

    request = request_of(context)
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = bisect(request, bad, good, progress, interrupts, every=every)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_bisect(run, path)
    raise typer.Exit(bisect_exit_code(run))
