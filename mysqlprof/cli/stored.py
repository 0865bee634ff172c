"""Verbs about what is stored: report, scenarios."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mysqlprof import scenario
from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.store import RunDirectory
from mysqlprof.terminal import OUT


def report_verb(
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


def scenarios_verb(as_json: JsonFlag = False) -> None:
    """The built-in scenarios."""
    found = [scenario.load(name) for name in scenario.names()]
    if as_json:
        print_json([{"name": s.name, "title": s.title, "summary": s.summary} for s in found])
        return
    for item in found:
        OUT.print(Text(item.name, style="bold"))
        OUT.print(Text(f"  {item.title}"), soft_wrap=True)
