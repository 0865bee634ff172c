"""What kind of profile a file holds, told by its content."""

from typing import Literal

from mysqlprof.formats.bpftrace import BpftraceReader
from mysqlprof.formats.folded import has_two_counts, parse_line
from mysqlprof.formats.perf_script import (
    Dialect,
    FoldOptions,
    OneLineSamples,
    PerfScriptFolder,
)
from mysqlprof.formats.problems import Problems

Kind = Literal[
    "perf.data",
    "perf script",
    "perf script, sparse",
    "perf script, no stacks",
    "bpftrace",
    "folded",
]

HEAD_BYTES = 256 * 1024
"""So much of the file's beginning is looked at."""

_PERF_DATA = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
_OTHERS = {
    b"\x7fELF": "a program (ELF)",
    b"\x1f\x8b": "gzip inside gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"BZh": "compressed with bzip2 (a symbols archive goes to --symbols)",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
    b"<": "HTML, XML or SVG: the text that it was drawn from is needed",
    b"{": "JSON",
}


def kind_of(head: bytes) -> Kind:
    """Raises ValueError saying what the file seems to be, where it is no profile known here."""
    if head.startswith(_PERF_DATA):
        return "perf.data"
    start = head.lstrip()[:16]
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise ValueError(f"it is {what}")
    if not start:
        raise ValueError("it is empty")
    if head.startswith(b"@[") or (b"\n@" in head and _finds_a_map(head)):
        return "bpftrace"
    lines = [line for line in _whole_lines(head) if line.strip()]
    if lines and all(has_two_counts(line) for line in lines):
        raise ValueError("it has two counts a line (difffolded.pl): import its two profiles")
    if kind := _perf_script(head):
        return kind
    if 2 * sum(parse_line(line) is not None for line in lines) >= max(len(lines), 1):
        return "folded"
    if b"\x00" in head:
        raise ValueError("it is binary, of no kind known here")
    raise ValueError(f"its first line is {start.decode('utf-8', 'replace') + '...'!a}")


def _perf_script(head: bytes) -> Kind | None:
    """Told by reading it: the first way that finds a sample with a frame."""
    # A head that was cut inside its first sample is one, too.
    text = b"\n".join(_whole_lines(head)) + b"\n\n"
    if _finds_a_frame(text, "full"):
        return "perf script"
    if _finds_a_frame(text, "sparse"):
        return "perf script, sparse"
    folder = PerfScriptFolder(FoldOptions(), Problems(), "sparse")
    OneLineSamples(folder, Problems()).feed(text)
    return "perf script, no stacks" if folder.counts else None


def _finds_a_frame(text: bytes, dialect: Dialect) -> bool:
    folder = PerfScriptFolder(FoldOptions(), Problems(), dialect)
    folder.feed(text)
    return any(b";" in stack for stack in folder.counts)


def _finds_a_map(head: bytes) -> bool:
    reader = BpftraceReader(Problems())
    reader.feed(head)
    return bool(reader.counts)


def _whole_lines(head: bytes) -> list[bytes]:
    lines = head.split(b"\n")
    return lines[:-1] if len(head) >= HEAD_BYTES and len(lines) > 1 else lines
