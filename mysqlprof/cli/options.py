"""Options that several verbs share, and the request that they make up."""

import dataclasses
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mysqlprof.errors import UsageError
from mysqlprof.model import BackendChoice, DriverName

if TYPE_CHECKING:
    from mysqlprof.request import Request


def checked_call_graph(text: str) -> str:
    if re.fullmatch(r"fp|dwarf(,[0-9]+)?", text):
        return text
    raise UsageError(f"--call-graph {text} is unknown", "choose fp, dwarf, or dwarf,BYTES")


def checked_size(text: str) -> str:
    if not text or re.fullmatch(r"[0-9]+[KMGkmg]?", text):
        return text
    raise UsageError(f"--memory {text} is not a size", "write a number with K, M or G: --memory 2G")


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
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
    str,
    typer.Option(
        metavar="SIZE", callback=checked_size, help="Memory limit of each server (Docker): 2G."
    ),
]
ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Built-in name, or a scenario's .toml file.")
]

DriverOption = Annotated[
    DriverName | None, typer.Option(help="Client driver; the scenario names one.")
]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="Connections of sysbench that work at the same time.")
]
EventsOption = Annotated[int | None, typer.Option(min=1, help="Transactions of a sysbench trial.")]
ConnectionsOption = Annotated[int | None, typer.Option(min=2, help="Connections of a trial.")]
QuickOption = Annotated[bool, typer.Option(help="Fewer trials, smaller values: a first look.")]
ProfileOption = Annotated[bool, typer.Option(help="Record perf profiles.")]
CallGraphOption = Annotated[
    str,
    typer.Option(
        metavar="fp|dwarf[,BYTES]", callback=checked_call_graph, help="How perf walks stacks."
    ),
]
EvidenceOption = Annotated[
    Literal["none", "full"],
    typer.Option(help="After the profiles: the wire of single executes, and exact counts in them."),
]
FrequencyOption = Annotated[int, typer.Option("--frequency", "-F", min=1, help="Samples a second.")]


def request_of(context: typer.Context, **changes: Any) -> "Request":
    """The request that a verb's options make up: those that are named like its fields.

    `changes` are what the verb decides itself. Raises UsageError where a text cannot be read.
    """
    from mysqlprof.request import Request

    given = context.params | changes
    if given["out"] is not None:
        given["out"] = Path(given["out"])
    fields = {field.name for field in dataclasses.fields(Request)}
    return Request(
        **{name: value for name, value in given.items() if name in fields},
        command=("mysqlprof", *sys.argv[1:]),
    )


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
