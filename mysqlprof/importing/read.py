"""A file -> its profiles. What kind of file it is, its content tells."""

import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Protocol

from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.formats.bpftrace import BpftraceReader
from mysqlprof.formats.folded import FoldedReader
from mysqlprof.formats.perf_report import PerfReport
from mysqlprof.formats.perf_script import FoldOptions, OneLineSamples, PerfScriptFolder
from mysqlprof.formats.problems import Problems
from mysqlprof.formats.sniff import Kind, kind_of
from mysqlprof.formats.stream import GZIP, chunks
from mysqlprof.host import find_perf
from mysqlprof.probes.fold import NoStacks, Symbols, fold_events
from mysqlprof.probes.script import script_text

STDIN = Path("-")
KINDS = "perf.data, perf script text, folded text, bpftrace maps, or gzip of one of them"
_CLOCKS = ("cpu-clock", "task-clock")
"""Events whose period is in nanoseconds."""


@dataclass(frozen=True)
class ReadOptions:
    fold: FoldOptions = field(default_factory=FoldOptions)
    symbols: Symbols = field(default_factory=Symbols)
    as_text: bool = False
    """Read perf.data as the text that `perf script` prints of it, which the fold's options need."""


@dataclass(frozen=True)
class Imported:
    """One profile."""

    file: str
    sha256: str
    kind: Kind
    event: str
    unit: str
    """See ImportedProfile.unit."""
    counts: Mapping[bytes, int]
    """`outer;inner` -> weight."""
    samples: int = 0
    lost: int = 0
    others: Mapping[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    @property
    def weight(self) -> int:
        return sum(self.counts.values())


class _Reader(Protocol):
    def feed(self, chunk: bytes) -> None: ...
    def finish(self) -> None: ...


def read_profiles(path: Path, options: ReadOptions) -> list[Imported]:
    """One profile a file; one an event for perf.data.

    Raises UsageError for what is no profile or holds no sample; perf's errors for perf.data.
    """
    with _opened(path) as file:
        digest = hashlib.sha256()
        source = chunks(_Hashing(file, digest.update))
        try:
            head = next(source)
            kind = kind_of(head)
            whole = _joined(head, source)
            if kind == "perf.data":
                found = _from_perf_data(path, whole, options)
            else:
                found = [_from_text(path.name, kind, whole, options.fold)]
        except ValueError as error:
            raise UsageError(f"{path} is no profile: {error}", f"give {KINDS}") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}", "check it") from error
    for profile in found:
        _check_any(path, profile, options.fold.event)
    return [_with_digest(profile, digest.hexdigest()) for profile in found]


def _check_any(path: Path, profile: Imported, event: str) -> None:
    if profile.counts:
        return
    if event and profile.others:
        have = ", ".join(profile.others)
        raise UsageError(f"{path} has no event {event!r}", f"it has: {have}")
    first = "".join(f" ({words})" for words in profile.problems.first[:1])
    raise UsageError(
        f"{path} looks like {profile.kind} but holds no complete sample{first}",
        "a sample ends with an empty line: add one where the text was cut off",
    )


def _with_digest(profile: Imported, digest: str) -> Imported:
    return replace(profile, sha256=digest)


# --- texts ---------------------------------------------------------------------------------------


def _from_text(name: str, kind: Kind, source: Iterable[bytes], fold: FoldOptions) -> Imported:
    problems = Problems()
    if kind == "folded":
        folded = FoldedReader(problems)
        _read(source, folded)
        return Imported(name, "", kind, "", "counts", folded.counts, problems=problems)
    if kind == "bpftrace":
        maps = BpftraceReader(problems, fold.event)
        _read(source, maps)
        event = maps.map.decode("utf-8", "replace")
        counts, others = maps.counts, maps.other_maps
        return Imported(name, "", kind, event, "counts", counts, others=others, problems=problems)
    return _from_script(name, kind, source, fold, problems)


def _from_script(
    name: str, kind: Kind, source: Iterable[bytes], fold: FoldOptions, problems: Problems
) -> Imported:
    folder = PerfScriptFolder(fold, problems, "full" if kind == "perf script" else "sparse")
    reader: _Reader = folder
    if kind == "perf script, no stacks":
        reader = OneLineSamples(folder, problems)
    _read(_without_carriage_returns(source), reader)
    event = folder.event.decode("utf-8", "replace")
    unit = "samples"
    if folder.weighed:
        unit = "ns" if event.partition(":")[0] in _CLOCKS else "periods"
    return Imported(
        name,
        "",
        kind,
        event,
        unit,
        folder.counts,
        samples=folder.samples,
        others=folder.other_events,
        problems=problems,
    )


def _read(source: Iterable[bytes], reader: _Reader) -> None:
    for chunk in source:
        reader.feed(chunk)
    reader.finish()


def _without_carriage_returns(source: Iterable[bytes]) -> Iterator[bytes]:
    """A text whose first line ends as Windows ends lines: all of its lines do."""
    chunks = iter(source)
    first = next(chunks, b"")
    if not first.partition(b"\n")[0].endswith(b"\r"):
        yield from _joined(first, chunks)
        return
    kept = b""
    for chunk in _joined(first, chunks):
        text = kept + chunk
        kept = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(b"\r").replace(b"\r\n", b"\n")
    yield kept


# --- perf.data -----------------------------------------------------------------------------------


def _from_perf_data(path: Path, source: Iterable[bytes], options: ReadOptions) -> list[Imported]:
    perf = find_perf()
    if perf is None:
        raise EnvironmentLacks(
            "perf is needed to read perf.data", "sudo apt-get install linux-perf"
        )
    with _as_file(path, source) as data:
        if options.as_text:
            return [_from_perf_text(path, data, perf, options)]
        try:
            reports = fold_events(data, perf, options.symbols)
        except NoStacks:
            return [_from_perf_text(path, data, perf, options)]
    wanted = options.fold.event
    chosen = [r for r in reports if wanted in ("", r.event, r.event.partition(":")[0])]
    if not chosen:
        have = ", ".join(report.event for report in reports)
        raise UsageError(f"{path} has no event {wanted!r}", f"it has: {have}")
    return [_of_report(path.name, report) for report in chosen]


def _from_perf_text(path: Path, data: Path, perf: str, options: ReadOptions) -> Imported:
    text = script_text(data, perf, options.symbols)
    head = next(text, b"")
    return _from_text(path.name, kind_of(head), _joined(head, text), options.fold)


@contextmanager
def _as_file(path: Path, source: Iterable[bytes]) -> Iterator[Path]:
    """perf reads files: the given one where it is perf.data itself, else a copy, unpacked."""
    if path != STDIN and _is_perf_data(path):
        for _ in source:  # it is hashed as it is read
            pass
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mysqlprof-import-") as directory:
        data = Path(directory, "perf.data")
        with data.open("wb") as copy:
            for chunk in source:
                copy.write(chunk)
        yield data


def _is_perf_data(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) != GZIP


def _of_report(name: str, report: PerfReport) -> Imported:
    counts: Counter[bytes] = Counter()
    for stack, count in report.stacks.items():
        counts[";".join(frame.replace(";", ":") for frame in stack).encode()] += count
    return Imported(
        name,
        "",
        "perf.data",
        report.event,
        "samples",
        counts,
        samples=report.samples,
        lost=report.lost,
    )


# --- bytes ---------------------------------------------------------------------------------------


class _Hashing:
    """A file whose bytes are also given to `update` as they are read."""

    def __init__(self, file: BinaryIO, update: Callable[[bytes], None]) -> None:
        self._file = file
        self._update = update

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._update(data)
        return data


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    if path.is_dir():
        hint = "`mysqlprof report` draws a run; import takes files"
        raise UsageError(f"{path} is a directory", hint)
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "check its name") from error
    with file:
        yield file


def _joined(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
