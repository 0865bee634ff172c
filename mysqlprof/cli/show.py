"""Verbs that show what is stored in other forms: gallery, diff, export."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.errors import PartialData, UsageError
from mysqlprof.formats import ExportFormat
from mysqlprof.interrupts import Interrupts
from mysqlprof.terminal import ERR, OUT, plain


def gallery_verb(
    context: typer.Context,
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR...]", help="Run directories, or directories that hold some."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="SITE", help="Directory to make.")] = Path("gallery"),
    serve: Annotated[bool, typer.Option("--serve", help="Show it on 127.0.0.1.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Build the flame-graph gallery: a static site over stored runs."""
    from mysqlprof.gallery.find import find_runs
    from mysqlprof.gallery.site import build_site, check_free
    from mysqlprof.web_assets import libraries

    check_free(out)
    found, unread = find_runs(places or _usual_places())
    if not found and not unread:
        raise UsageError("no run was found", "name a directory that holds run directories")
    built = build_site(found, libraries(), out)
    problems = [*unread, *built.unread]
    answer = {
        "site": str(built.path),
        "index": str(built.path / "index.html"),
        "runs": built.runs,
        "profiles": built.profiles,
        "unread": problems,
    }
    if as_json:
        print_json(answer)
    else:
        words = f"{built.profiles} profiles of {built.runs} runs: {built.path / 'index.html'}"
        OUT.print(Text(plain(words)), soft_wrap=True)
    for text in problems:
        ERR.print(Text(f"left out: {plain(text)}"), soft_wrap=True)
    if serve:
        _serve(built.path, port, context.obj)
    if problems:
        raise PartialData(f"{len(problems)} stored files could not be read, and were left out")


def _usual_places() -> list[Path]:
    places = [path for path in (Path("runs"), Path("reports")) if path.is_dir()]
    if not places:
        raise UsageError(
            "there is neither a runs nor a reports directory here",
            "name the directories: mysqlprof gallery DIR",
        )
    return places


def _serve(site: Path, port: int, interrupts: Interrupts) -> None:
    """Until a signal, which is how it is meant to end."""
    from mysqlprof.gallery.pages import POLICY
    from mysqlprof.serve import Server

    with Server(site, port, POLICY) as server:
        ERR.print(Text(f"serving {server.url} (Ctrl-C stops)"), soft_wrap=True)
        server.serve_forever()


def diff_verb(
    a: Annotated[Path, typer.Argument(metavar="A", help="Run directory, or a folded file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="What A is set against.")],
    cell_a: Annotated[str, typer.Option(metavar="C", help="Cell of A.")] = "",
    cell_b: Annotated[str, typer.Option(metavar="C", help="Cell of B.")] = "",
    shares: Annotated[
        bool, typer.Option("--shares", help="Shares of samples instead of CPU per unit of work.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Functions to print.")] = 30,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write functions.csv and flame graphs there."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Two profiles function by function: what grew, shrank, appeared, vanished."""
    from mysqlprof.diff import difference, write
    from mysqlprof.stored_profile import open_profile
    from mysqlprof.terminal_diff import as_data, print_difference

    before, after = open_profile(a, cell_a, "--cell-a"), open_profile(b, cell_b, "--cell-b")
    found = difference(before, after, shares=shares)
    written = write(found, out) if out else []
    if as_json:
        print_json(as_data(found))
        return
    print_difference(found, limit)
    for path in written:
        OUT.print(Text(plain(str(path))), soft_wrap=True)


def export_verb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")],
    format_: Annotated[ExportFormat, typer.Option("--format", help="Of the file.")],
    cell: Annotated[
        str, typer.Option(metavar="C", help="Cell whose profile it is; can be left out for one.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write instead of stdout.")
    ] = None,
) -> None:
    """Write a stored profile for another tool: speedscope, pprof, folded stacks, SVG."""
    import sys

    from mysqlprof.export import export

    content = export(run, cell, format_)
    if out is None:
        if format_ == "pprof" and sys.stdout.isatty():
            raise UsageError("pprof's format is no text for a terminal", "add --out FILE")
        sys.stdout.buffer.write(content)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}", "choose another --out") from error
    OUT.print(Text(plain(str(out))), soft_wrap=True)
