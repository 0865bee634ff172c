"""perf.data -> folded stacks. perf adds equal stacks up in C; its sums are checked here."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mysqlprof.errors import EnvironmentLacks, PartialData, UsageError
from mysqlprof.formats.perf_report import (
    SEPARATOR,
    PerfReport,
    choose_event,
    parse_perf_report,
)

TIMEOUT_S = 600.0

_NO_SUCH_OPTION = re.compile(r"unknown (?:option|switch)|Usage: perf", re.IGNORECASE)


def fold(
    perf_data: Path,
    perf: str,
    *,
    pid: int | None = None,
    event: str | None = None,
    symfs: Path | None = None,
    commands: bool = False,
) -> PerfReport:
    """The folded samples of one event of `perf_data`: by default the event with most samples.

    `perf` is the program's path. With `pid`, only that process, which must have been running
    when the recording began. `symfs` is a directory under which the binaries are looked up.
    With `commands`, each stack begins with its thread's name.

    Raises UsageError for a file or event that is not there, EnvironmentLacks where perf is
    missing or too old, PartialData where there are no samples, no stacks, or sums that differ.
    """
    if not perf_data.is_file():
        raise UsageError(f"{perf_data} is not a file", "give the perf.data that perf record wrote")
    with tempfile.TemporaryFile() as words:
        reports = tuple(_reports(_command(perf_data, perf, pid, symfs), words, commands))
    try:
        report = choose_event(reports, event)
    except LookupError as error:
        raise UsageError(f"{perf_data} has {error}", "choose one of them, or none") from None
    if not report.samples:
        of_pid = "" if pid is None else f" of process {pid}"
        raise PartialData(
            f"{perf_data} has no samples{of_pid}",
            "record for longer, or check that the server was busy meanwhile",
        )
    _check(report, perf_data, perf, pid, several=len(reports) > 1)
    return report


def _command(perf_data: Path, perf: str, pid: int | None, symfs: Path | None) -> list[str]:
    """-v keeps the arguments of C++ functions; a limit of 0 keeps perf from dropping stacks."""
    return [
        *(perf, "report", "-v", "-f", "-i", str(perf_data), "--stdio", "-t", SEPARATOR),
        *("--no-inline", "--no-children", "--no-group", "-n", "-s", "comm,dso,sym"),
        *("-g", "folded,0,caller,function,count", "--percent-limit", "0"),
        *([] if pid is None else [f"--pid={pid}"]),
        *([] if symfs is None else [f"--symfs={symfs}"]),
    ]


def _reports(command: list[str], words: IO[bytes], commands: bool) -> tuple[PerfReport, ...]:
    """Run perf and read what it prints as it comes; `words` takes its stderr, which can be long."""
    with _started(command, words) as process:
        assert process.stdout is not None
        try:
            reports = parse_perf_report(_decoded(process.stdout), commands=commands)
            status = process.wait(TIMEOUT_S)
        except ValueError as error:
            process.kill()
            raise PartialData(
                f"cannot read what {command[0]} report printed: {error}",
                "perf 5.4 or newer is needed; report this with `perf --version`",
            ) from error
        except BaseException:
            process.kill()
            raise
    if status != 0 or not reports:
        raise _failure(command[0], words, status)
    return reports


def _started(command: list[str], words: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=words,
            env=_environment(),
        )
    except OSError as error:
        raise EnvironmentLacks(
            f"cannot run {command[0]}: {error.strerror}", "sudo apt-get install linux-perf"
        ) from error


def _environment() -> dict[str, str]:
    """A user's perf settings would change the text, and a debuginfod server make it wait."""
    kept = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
    return kept | {"PERF_CONFIG": os.devnull, "LC_ALL": "C", "PAGER": "cat"}


def _decoded(stream: IO[bytes]) -> Iterator[str]:
    """Lines as perf ends them: a name may hold bytes that are no UTF-8, or other line ends."""
    for line in stream:
        yield line.decode("utf-8", "replace")


def _failure(perf: str, words: IO[bytes], status: int) -> Exception:
    text = _said(words)
    if "Selected -g" in text:
        return PartialData("the recording holds no stacks", "record with `perf record -g`")
    if _NO_SUCH_OPTION.search(text):
        return EnvironmentLacks(f"{perf} is too old: {_last(text)}", "install perf 5.4 or newer")
    return PartialData(
        f"{perf} report failed with status {status}: {_last(text) or 'it said nothing'}",
        "check the file with `perf report --stats -i FILE`; record again where it is cut short",
    )


def _said(words: IO[bytes], tail: int = 8192) -> str:
    """The end of perf's stderr: errors come last, after the notes of -v."""
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - tail))
    return words.read().decode("utf-8", "replace")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _check(
    report: PerfReport, perf_data: Path, perf: str, pid: int | None, *, several: bool
) -> None:
    wrong = report.discrepancy(filtered=pid is not None)
    if not wrong and pid is not None and not several:
        recorded = _samples_of(perf_data, perf, pid)
        if recorded != report.samples:
            wrong = f"{report.samples} samples folded of {recorded} that process {pid} has"
    if wrong:
        raise PartialData(
            f"{perf_data} was not folded completely: {wrong}",
            "fold it without --pid, or record again once the server runs",
        )


def _samples_of(perf_data: Path, perf: str, pid: int) -> int:
    """Counted one by one: perf report's own filter misses processes begun while recording."""
    command = [perf, "script", "-f", "-i", str(perf_data), "-G", "-F", "pid"]
    wanted = str(pid).encode()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        return sum(line.strip() == wanted for line in process.stdout)
