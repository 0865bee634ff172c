"""The verb `publish`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.terminal import OUT, plain


def publish_verb(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[[NAME=]RUN...]", help="Run directories to add or replace."),
    ] = None,
    into: Annotated[Path, typer.Option(metavar="DIR", help="The published reports.")] = Path(
        "reports"
    ),
    as_json: JsonFlag = False,
) -> None:
    """Add runs to a directory of reports, and make its index, pictures and reports anew."""
    from mysqlprof.publish import Addition, publish

    written = [str(path) for path in publish([Addition.parse(run) for run in runs or []], into)]
    if as_json:
        print_json(written)
        return
    for path in written:
        OUT.print(Text(plain(path)), soft_wrap=True)
