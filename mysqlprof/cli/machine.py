"""Verbs about this machine: doctor, clean."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from mysqlprof import doctor, host
from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.terminal import ERR, OUT, plain, plain_table


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


def doctor_verb(
    mend: Annotated[
        str, typer.Option(metavar="ROW", help="Run the commands shown for this row first: bcc.")
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """What this host can do; for each "no", the exact command that mends it."""
    if mend:
        _mend(mend)
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


def _mend(name: str) -> None:
    row = doctor.mend(name, lambda command: ERR.print(Text(f"+ {plain(command)}"), soft_wrap=True))
    host.facts.cache_clear()
    word = "mended" if row.ok else "not mended"
    ERR.print(Text(f"{name}: {word}: {plain(row.found)}"), soft_wrap=True)
