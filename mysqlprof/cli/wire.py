"""The verb about captures made elsewhere: wire."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.errors import PartialData, UsageError
from mysqlprof.terminal import OUT, plain, plain_table

if TYPE_CHECKING:
    from mysqlprof.wire.model import Wire, WireCommand

_SLOWEST = 10


def wire_verb(
    capture: Annotated[Path, typer.Argument(metavar="FILE", help="pcap or pcapng, also gzipped.")],
    port: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=65535,
            help="The server's; repeat it. Default: 3306, and where a server's greeting is seen.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="So many of the slowest commands.")] = _SLOWEST,
    csv: Annotated[
        str, typer.Option(metavar="FILE", help="Write a row a command; - is stdout.")
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Read a capture: one row a protocol command, and which phase takes the time."""
    from mysqlprof.wire.decode import read_capture

    wire = read_capture(capture, frozenset(port or ()))
    if csv:
        _write_csv(csv, wire)
    if as_json:
        print_json(_as_data(wire))
    elif csv != "-":
        _print(wire, top)
    _complain_of_gaps(capture, wire)


def _write_csv(target: str, wire: "Wire") -> None:
    from mysqlprof import csvfile
    from mysqlprof.wire.model import WireCommand

    table = csvfile.table_of(WireCommand, wire.commands)
    if target == "-":
        csvfile.dump(sys.stdout, table)
        return
    try:
        csvfile.write(Path(target), table)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}", "choose another file for --csv"
        ) from error


def _as_data(wire: "Wire") -> dict[str, Any]:
    from mysqlprof.report.wire_words import slowest_phase
    from mysqlprof.wire.summary import by_command, phases

    sessions = []
    for session in wire.sessions:
        known = {f.name: getattr(session, f.name) for f in dataclasses.fields(session)}
        sessions.append(known | {"commands": len(session.commands)})
    commands = wire.commands
    return {
        "packets": wire.packets,
        "seconds": wire.seconds,
        "problems": wire.problems,
        "answer": slowest_phase(commands),
        "sessions": sessions,
        "summary": [dataclasses.asdict(row) for row in by_command(commands)],
        "phases": [dataclasses.asdict(phase) for phase in phases(commands)],
        "commands": [command.model_dump(mode="json") for command in commands],
    }


def _print(wire: "Wire", top: int) -> None:
    from mysqlprof.report.wire_words import slowest_phase
    from mysqlprof.wire.summary import slowest

    commands = wire.commands
    OUT.print(
        f"{wire.packets:,} packets in {wire.seconds:.3f} s,"
        f" {_count(len(wire.sessions), 'connection')}, {_count(len(commands), 'command')}",
        highlight=False,
    )
    if commands:
        OUT.print(Text(plain(slowest_phase(commands)), style="bold"), soft_wrap=True)
        OUT.print()
        _print_summary(commands)
        if top:
            OUT.print()
            _print_slowest(slowest(commands, top))
    for session in wire.sessions:
        name = f"{session.connection} > {session.server}"
        if session.unreadable:
            OUT.print(
                Text.assemble(("not readable  ", "yellow"), f"{name}: {plain(session.unreadable)}"),
                soft_wrap=True,
            )
        for note in session.notes:
            OUT.print(
                Text.assemble(("note          ", "yellow"), f"{name}: {plain(note)}"),
                soft_wrap=True,
            )


def _print_summary(commands: "list[WireCommand]") -> None:
    from mysqlprof.wire.summary import by_command

    table = plain_table("command")
    for header in ("count", "errors", "median ms", "p95", "max", "total", "sent B", "recv B"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in by_command(commands):
        table.add_row(
            row.command,
            f"{row.count:,}",
            f"{row.errors:,}",
            *map(_ms, (row.median_ms, row.p95_ms, row.max_ms, row.total_ms)),
            f"{row.request_bytes:,}",
            f"{row.response_bytes:,}",
        )
    OUT.print(table)


def _print_slowest(commands: "list[WireCommand]") -> None:
    table = plain_table()
    table.show_header = True
    for header in ("at s", "connection", "slowest commands"):
        table.add_column(header, no_wrap=True)
    for header in ("sending ms", "waiting", "fetching", "sent B", "recv B"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("statement", no_wrap=True, max_width=32)
    for command in commands:
        number = "" if command.statement is None else f"#{command.statement} "
        table.add_row(
            f"{command.started_s:.3f}",
            command.connection,
            command.command,
            *map(_ms, (command.sent_ms, command.wait_ms, command.fetch_ms)),
            f"{command.request_bytes:,}",
            f"{command.response_bytes:,}",
            command.status,
            Text(plain(number + (command.note or command.sql)), no_wrap=True, overflow="ellipsis"),
        )
    OUT.print(table)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def _complain_of_gaps(capture: Path, wire: "Wire") -> None:
    """What could be read was shown; what could not ends with 4."""
    if wire.problems:
        raise PartialData(
            f"{capture} was not read completely: {'; '.join(wire.problems)}",
            "what was readable is shown; record again where that is too little",
        )
    if all(session.unreadable for session in wire.sessions):
        reasons = dict.fromkeys(session.unreadable for session in wire.sessions)
        raise PartialData(
            f"no connection in {capture} can be read: {'; '.join(reasons)}",
            "record whole packets (-s 0) from before the client connects, with TLS off"
            " (sslMode=DISABLED, --ssl-mode=DISABLED)",
        )
