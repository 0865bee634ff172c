"""The verb that lets profiles in which were recorded elsewhere."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from mysqlprof.cli.options import ForceOption, JsonFlag, OutOption
from mysqlprof.cli.output import print_json
from mysqlprof.errors import UsageError
from mysqlprof.formats.perf_frame import FrameOptions
from mysqlprof.formats.perf_script import FoldOptions
from mysqlprof.terminal import ERR, OUT, plain

if TYPE_CHECKING:
    from mysqlprof.importing.read import Imported, ReadOptions
    from mysqlprof.model import Run


def import_verb(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Profiles; - is standard input.")
    ],
    out: OutOption = None,
    force: ForceOption = False,
    folded: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write folded text there (- is stdout) and no run."),
    ] = None,
    event: Annotated[
        str, typer.Option("--event", "--event-filter", help="Event, or bpftrace map, to keep.")
    ] = "",
    weigh: Annotated[
        Literal["period", "samples"],
        typer.Option(help="What a sample of perf script text counts: its period, or 1."),
    ] = "period",
    pid: Annotated[bool, typer.Option("--pid", help="Process ids in the root frames.")] = False,
    tid: Annotated[
        bool, typer.Option("--tid", help="Process and thread ids in the root frames.")
    ] = False,
    kernel: Annotated[bool, typer.Option("--kernel", help="Mark kernel frames: _[k].")] = False,
    jit: Annotated[bool, typer.Option("--jit", help="Mark JIT-compiled frames: _[j].")] = False,
    all_marks: Annotated[bool, typer.Option("--all", help="Both marks.")] = False,
    addrs: Annotated[
        bool, typer.Option("--addrs", help="Addresses in the names of unknown frames.")
    ] = False,
    symfs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="perf.data: binaries are below this.")
    ] = None,
    symbols: Annotated[
        Path | None,
        typer.Option(metavar="ARCHIVE", help="perf.data: what `perf archive` wrote."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file with a line that cannot be read.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a run, or folded text, of profiles recorded elsewhere.

    perf.data, perf script text, folded text, bpftrace maps, and gzip of these; a file's content
    tells which. A run marks kernel and JIT frames always; --kernel, --jit, --all are for --folded.
    """
    from mysqlprof.importing.read import ReadOptions
    from mysqlprof.importing.symbols import symbols_at

    marked = all_marks or folded is None
    frames = FrameOptions(kernel=kernel or marked, jit=jit or marked, addrs=addrs)
    fold = FoldOptions(pid=pid, tid=tid, event=event, by_period=weigh == "period", frames=frames)
    if folded is not None and out is not None:
        raise UsageError("--folded writes no run", "leave out --folded or --out")
    with symbols_at(symfs, symbols) as found:
        options = ReadOptions(fold, found, as_text=folded is not None or pid or tid or addrs)
        profiles = _read(files, options, strict=strict, as_one=folded is not None)
    if folded is not None:
        _write_folded(profiles, folded)
    else:
        _write_run(profiles, out, force=force, as_json=as_json)


def _read(
    files: list[Path], options: "ReadOptions", *, strict: bool, as_one: bool
) -> list["Imported"]:
    """All profiles of all files. `as_one`: the first file's event is kept in the others, too."""
    from dataclasses import replace

    from mysqlprof.importing.read import read_profiles

    profiles: list[Imported] = []
    for path in files:
        found = read_profiles(path, options)
        profiles += found
        for profile in found:
            _tell(profile, strict=strict)
        if as_one and found[0].kind.startswith("perf"):
            options = replace(options, fold=replace(options.fold, event=found[0].event))
    return profiles


def _tell(profile: "Imported", *, strict: bool) -> None:
    """On stderr: lines that could not be read, events that were not kept."""
    problems = profile.problems
    if problems.count and strict:
        raise UsageError(
            f"{profile.file}: {problems.count:,} lines or samples cannot be read:"
            f" {'; '.join(problems.summary())}",
            "correct the file, or leave out --strict to read the rest",
        )
    if problems.count:
        ERR.print(
            Text(plain(f"{profile.file}: {problems.count:,} lines or samples were left out:")),
            soft_wrap=True,
        )
        for line in problems.summary():
            ERR.print(Text(f"  {plain(line)}"), soft_wrap=True)
    if profile.others:
        others = ", ".join(f"{name} ({count:,})" for name, count in profile.others.items())
        kept = f"{profile.file}: kept {profile.event}; --event chooses another: {others}"
        ERR.print(Text(plain(kept)), soft_wrap=True)


def _write_folded(profiles: list["Imported"], target: Path) -> None:
    """One text of all profiles. A terminal gets no byte that commands it; a file gets all."""
    from mysqlprof.importing.text import folded_lines

    if str(target) != "-":
        try:
            with target.open("wb") as file:
                file.writelines(folded_lines(profiles))
        except OSError as error:
            raise UsageError(f"cannot write {target}: {error.strerror}", "check it") from error
    elif sys.stdout.isatty():
        for line in folded_lines(profiles):
            sys.stdout.write(plain(line.decode("utf-8", "replace").rstrip("\n")) + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(folded_lines(profiles))
        sys.stdout.buffer.flush()


def _write_run(profiles: list["Imported"], out: Path | None, *, force: bool, as_json: bool) -> None:
    from mysqlprof.importing.run import default_out, write_run
    from mysqlprof.reproduce import write_reports

    command = ["mysqlprof", *sys.argv[1:]]
    target = out or default_out(profiles)
    run, run_dir = write_run(profiles, target, force=force, command=command)
    write_reports(run_dir)
    if as_json:
        imported = [record.model_dump() for record in run.imported]
        print_json({"run": str(run_dir.path), "imported": imported})
    else:
        _print_imported(run)
        OUT.print(Text(f"report  {run_dir.path / 'report.html'}"), soft_wrap=True)


def _print_imported(run: "Run") -> None:
    """What was read, and whether a known path is in it."""
    for profile in run.imported:
        event = f", {profile.event}" if profile.event else ""
        what = f"  {profile.format}{event}: {profile.weight:,} {profile.unit}"
        OUT.print(Text.assemble((plain(profile.file), "bold"), plain(what)), soft_wrap=True)
        for known in profile.known:
            OUT.print(Text(f"  {plain(known.sentence)}"), soft_wrap=True)
