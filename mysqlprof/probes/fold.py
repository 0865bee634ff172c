"""perf.data -> folded stacks. perf adds equal stacks up in C; its sums are checked here."""

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO

from mysqlprof.errors import EnvironmentLacks, PartialData, UsageError
from mysqlprof.formats.perf_report import (
    SEPARATOR,
    PerfReport,
    choose_event,
    merge_reports,
    parse_perf_report,
)

TIMEOUT_S = 600.0

_WORTH_PARTING = 16 * 2**20
_MAX_PARTS = 4
_FIRST_SAMPLE = re.compile(r"time of first sample : (\d+\.\d+)")
_LAST_SAMPLE = re.compile(r"time of last sample : (\d+\.\d+)")
_NO_STACKS = "Selected -g"
_NO_SUCH_OPTION = re.compile(r"unknown (?:option|switch)|Usage: perf", re.IGNORECASE)


class NoStacks(PartialData):
    """The recording was made without -g."""


def fold(
    perf_data: Path,
    perf: str,
    *,
    pid: int | None = None,
    event: str | None = None,
    commands: bool = False,
) -> PerfReport:
    """The folded samples of one event of `perf_data`: by default the event with most samples.

    `perf` is the program's path. With `pid`, only that process. With `commands`, each stack
    begins with its thread's name.

    Raises UsageError for a file or event that is not there, EnvironmentLacks where perf is
    missing or too old, PartialData where there are no samples, no stacks, or sums that differ.
    """
    reports = _events(perf_data, perf, pid, Symbols(), commands)
    try:
        report = choose_event(reports, event)
    except LookupError as error:
        raise UsageError(f"{perf_data} has {error}", "choose one of them, or none") from None
    _check(report, perf_data, perf, pid)
    return report


def fold_events(perf_data: Path, perf: str, symbols: "Symbols") -> tuple[PerfReport, ...]:
    """All events that have samples, each stack with its thread's name first. Raises as `fold`."""
    reports = _events(perf_data, perf, None, symbols, commands=True)
    for report in reports:
        _check(report, perf_data, perf, None)
    return reports


@dataclass(frozen=True)
class Symbols:
    """Where a recording of another machine finds its binaries."""

    symfs: Path | None = None
    """A directory under which they lie as they did there."""
    buildid_dir: Path | None = None
    """A build-id cache, as `perf archive` packs it."""

    def perf(self, perf: str, *command: str) -> list[str]:
        cache = [] if self.buildid_dir is None else ["--buildid-dir", str(self.buildid_dir)]
        below = [] if self.symfs is None else [f"--symfs={self.symfs}"]
        return [perf, *cache, *command, *below]


def _events(
    perf_data: Path, perf: str, pid: int | None, symbols: Symbols, commands: bool
) -> tuple[PerfReport, ...]:
    if not perf_data.is_file():
        raise UsageError(f"{perf_data} is not a file", "give the perf.data that perf record wrote")
    reports = _folded(perf_data, perf, _command(perf_data, perf, pid, symbols), pid, commands)
    if not any(report.samples for report in reports):
        of_process = "" if pid is None else f" of process {pid}"
        raise PartialData(
            f"{perf_data} has no samples{of_process}",
            "record for longer, and see that the server is busy meanwhile and perf loses none",
        )
    return tuple(report for report in reports if report.samples)


def _folded(
    perf_data: Path, perf: str, command: list[str], pid: int | None, commands: bool
) -> tuple[PerfReport, ...]:
    """All events' reports. A large recording is read in parts, by as many processes as CPUs."""

    def part(period: list[str]) -> tuple[PerfReport, ...]:
        with tempfile.TemporaryFile() as words:
            return _reports([*command, *period], words, commands)

    periods = _periods(perf_data, perf)
    if len(periods) == 1:
        return part([])
    with ThreadPoolExecutor(len(periods)) as pool:
        parts = list(pool.map(part, periods))
    try:
        return merge_reports(parts, filtered=pid is not None)
    except ValueError as error:
        raise PartialData(f"{perf_data} was not folded completely: {error}", "try again") from error


def _periods(perf_data: Path, perf: str) -> list[list[str]]:
    """perf's --time options that part a large recording; [[]] for one that is not worth it.

    Periods include both their ends and times have nanoseconds: one begins a nanosecond after the
    one before it ends, the first and the last are open, so no sample is missed or counted twice.
    """
    parts = min(len(os.sched_getaffinity(0)), _MAX_PARTS)
    if parts < 2 or perf_data.stat().st_size < _WORTH_PARTING:
        return [[]]
    try:
        header = subprocess.run(
            [perf, "report", "-f", "--header-only", "-i", str(perf_data)],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(),
            timeout=TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return [[]]
    first, last = _FIRST_SAMPLE.search(header), _LAST_SAMPLE.search(header)
    if first is None or last is None:  # a recording that was cut short, or came through a pipe
        return [[]]
    begin, end = (_nanoseconds(found[1]) for found in (first, last))
    ends = [begin + (end - begin) * part // parts for part in range(1, parts)]
    starts = ["", *(_seconds(end + 1) for end in ends)]
    stops = [*(_seconds(end) for end in ends), ""]
    return [[f"--time={start},{stop}"] for start, stop in zip(starts, stops, strict=True)]


def _nanoseconds(seconds: str) -> int:
    return int(Decimal(seconds).scaleb(9))


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}"


def _command(perf_data: Path, perf: str, pid: int | None, symbols: Symbols) -> list[str]:
    """-v keeps the arguments of C++ functions; a limit of 0 keeps perf from dropping stacks.

    perf filters whole entries: by process only what is an entry of one thread's ("pid").
    """
    entries = "comm,dso" if pid is None else "pid,dso"
    return symbols.perf(
        perf,
        *("report", "-v", "-f", "-i", str(perf_data), "--stdio", "-t", SEPARATOR),
        *("--no-inline", "--no-children", "--no-group", "-n", "-s", entries),
        *("-g", "folded,0,caller,function,count", "--percent-limit", "0"),
        *([] if pid is None else [f"--pid={pid}"]),
    )


def _reports(command: list[str], words: IO[bytes], commands: bool) -> tuple[PerfReport, ...]:
    """Run perf and read what it prints as it comes; `words` takes its stderr, which can be long.

    None where perf finds no samples, which it does not call an error.
    """
    with _started(command, words) as process:
        assert process.stdout is not None
        limit = threading.Timer(TIMEOUT_S, process.kill)
        limit.start()
        try:
            reports = parse_perf_report(_decoded(process.stdout), commands=commands)
            status = process.wait()
        except ValueError as error:
            process.kill()
            raise PartialData(
                f"cannot read what {command[0]} report printed: {error}",
                "perf 5.4 or newer is needed; report this with `perf --version`",
            ) from error
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
    if not reports and _NO_STACKS in _said(words):
        raise NoStacks("the recording holds no stacks", "record with `perf record -g`")
    if status != 0:
        raise _failure(command[0], words, status)
    return reports


def _started(command: list[str], words: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=words,
            env=environment(),
        )
    except OSError as error:
        raise EnvironmentLacks(
            f"cannot run {command[0]}: {error.strerror}", "sudo apt-get install linux-perf"
        ) from error


def environment() -> dict[str, str]:
    """A user's perf settings would change the text, and a debuginfod server make it wait."""
    kept = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
    return kept | {"PERF_CONFIG": os.devnull, "LC_ALL": "C", "PAGER": "cat"}


def _decoded(stream: IO[bytes]) -> Iterator[str]:
    """Lines as perf ends them: a name may hold bytes that are no UTF-8, or other line ends."""
    for line in stream:
        yield line.decode("utf-8", "replace")


def last_words(words: IO[bytes]) -> str:
    """The last line that perf wrote to its stderr."""
    return _last(_said(words)) or "it said nothing"


def _failure(perf: str, words: IO[bytes], status: int) -> Exception:
    text = _said(words)
    if _NO_SUCH_OPTION.search(text):
        return EnvironmentLacks(f"{perf} is too old: {_last(text)}", "install perf 5.4 or newer")
    if status == -signal.SIGKILL:
        return PartialData(
            f"{perf} report was killed: out of memory, or not done after {TIMEOUT_S:.0f} s",
            "record for a shorter time or at a lower frequency",
        )
    return PartialData(
        f"{perf} report failed with status {status}: {last_words(words)}",
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


def _check(report: PerfReport, perf_data: Path, perf: str, pid: int | None) -> None:
    wrong = report.discrepancy(filtered=pid is not None)
    if not wrong and pid is not None:
        recorded = _samples_of(perf_data, perf, pid)[report.event]
        if recorded != report.samples:
            wrong = f"{report.samples} samples folded of {recorded} that process {pid} has"
    if wrong:
        raise PartialData(
            f"{perf_data} was not folded completely: {wrong}",
            "record again; where it says the same, fold it without a process",
        )


def _samples_of(perf_data: Path, perf: str, pid: int) -> Counter[str]:
    """Event -> samples of the process, counted one by one: the header counts all processes."""
    command = [perf, "script", "-f", "-i", str(perf_data), "-G", "-F", "pid,event"]
    counts: Counter[str] = Counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        for line in _decoded(process.stdout):
            number, _, event = line.strip().partition(" ")
            if number == str(pid):
                counts[event.strip().removesuffix(":")] += 1
    return counts
