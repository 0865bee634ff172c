"""The verb `upgrade`."""

from pathlib import Path
from typing import Annotated

import typer

from mysqlprof.cli.exit_codes import upgrade_exit_code
from mysqlprof.cli.options import (
    BackendOption,
    CallGraphOption,
    ColumnsOption,
    CpusOption,
    DriverOption,
    EventsOption,
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
from mysqlprof.terminal import TerminalProgress
from mysqlprof.terminal_upgrade import print_upgrade


def upgrade_verb(
    context: typer.Context,
    scenario: ScenarioArgument,
    before: Annotated[str, typer.Option(metavar="V", help="Version that you have.")] = "",
    after: Annotated[str, typer.Option(metavar="V", help="Version that you would go to.")] = "",
    image: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=REF", help="Your own image (official contract) for before or after."
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GATE",
            help="Exit with 1 where it is met: 'ratio > 1.10', 'CELL: after_ms > 250',"
            " 'verdict == slower'; repeat it.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the gates' outcomes as JUnit XML.")
    ] = None,
    driver: DriverOption = None,
    backend: BackendOption = "auto",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    threads: ThreadsOption = None,
    events: EventsOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: QuickOption = False,
    toggle: ToggleOption = "runtime",
    profile: ProfileOption = True,
    call_graph: CallGraphOption = "dwarf,16384",
    frequency_hz: FrequencyOption = 999,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """What gets faster, what slower, and why: every cell of a scenario on two versions.

    The same version twice is an A/A run: it shows what this host can tell apart.
    """
    from mysqlprof.junit import check_junit, write_junit
    from mysqlprof.upgrade import upgrade
    from mysqlprof.upgrade.gates import parse

    gates = [parse(text) for text in fail_if or []]
    if junit:
        check_junit(junit, len(gates))
    request = request_of(context, images=parse_images(image or []))
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = upgrade(request, gates, progress, interrupts)
    if junit:
        write_junit(junit, run)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_upgrade(run, path)
    raise typer.Exit(upgrade_exit_code(run))
