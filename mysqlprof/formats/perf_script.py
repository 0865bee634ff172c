"""`perf script` text -> folded stacks, equal to FlameGraph's stackcollapse-perf.pl.

    mysqld 12688 [002] 6544038.708352:     235 cpu-clock:
            ffffffff8103ce3b native_safe_halt ([kernel.kallsyms])
                      ce5fbd handle_connection+0x1d (/opt/bin/mysqld)
                                                      <- an empty line ends the sample

becomes `mysqld;handle_connection;native_safe_halt 235`. As in that program: samples weigh their
period; only the first event is kept (or the one asked for); a sample that no empty line ends
does not count. What it drops silently is reported here.

Samples are cut out of large chunks of bytes. Nearly all lines of a recording repeat, so a line is
parsed once, and so is a stack; both caches are bounded, and only distinct stacks are kept.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from mysqlprof.formats.lines import LineReader
from mysqlprof.formats.perf_frame import FrameOptions, names_of, parts_of, sparse_parts_of
from mysqlprof.formats.perf_header import Header, parse_header, parse_sparse_header
from mysqlprof.formats.problems import Problems

# The usual first line of a sample. Whatever it does not fit is parsed by parse_header(), to the
# same effect: no word of the comm but the first may begin with a digit, the first has two letters.
_USUAL = re.compile(
    rb"(\S\S+(?: [^\s\d]\S*)*) +(\d+)(?:/([1-9]\d*))? +(?:\[\d+\] +)?\d+\.\d+: +"
    rb"(?:([1-9]\d{0,17}) +)?(\S+): *"
)

_ONE_LINE = re.compile(rb"(.*\S:)\s+([0-9a-f]+ .+)")

_CACHED_BYTES = 20 * 2**20
_ENTRY_BYTES = 300
_LONGEST_CACHED = 16_384
_RECORD = b": PERF_RECORD_"
_UNFINISHED = 8 * 2**20
"""A sample larger than this is read line by line; a line may not be."""

Dialect = Literal["full", "sparse"]
"""full: what stackcollapse-perf.pl accepts. sparse: also samples without thread ids and frames
without binaries (`perf script -F comm,event,ip,sym`), of which that program makes nothing."""

_Parts = tuple[bytes, bytes, bytes]


@dataclass(frozen=True)
class FoldOptions:
    """What stackcollapse-perf.pl offers under the same names, and `by_period`."""

    pid: bool = False
    """Put the process's id behind its name."""
    tid: bool = False
    """Put the process's and the thread's id behind its name."""
    event: str = ""
    """Keep this event; empty: the first that is met."""
    by_period: bool = True
    """Samples weigh their period, where there is one; otherwise each weighs 1."""
    frames: FrameOptions = field(default_factory=FrameOptions)


class PerfScriptFolder:
    """Fed with chunks of the text; the folded stacks are in `counts` after `finish`."""

    def __init__(self, options: FoldOptions, problems: Problems, dialect: Dialect = "full") -> None:
        self.counts: dict[bytes, int] = {}
        """`comm;outer;inner` -> weight."""
        self.samples = 0
        self.weighed = False
        """True once a period other than 1 was met."""
        self.event = options.event.encode()
        self.other_events: Counter[str] = Counter()
        """Samples of events that were not kept."""
        self._options = options
        self._problems = problems
        self._header = parse_header if dialect == "full" else parse_sparse_header
        parts = parts_of if dialect == "full" else sparse_parts_of
        self._lines = [
            _Lines(options.frames, self._header, parts, java=java) for java in (False, True)
        ]
        self._stacks = [_Stacks(lines) for lines in self._lines]
        self._sample = _Sample()
        self._inside = False
        """The next block goes on with a sample that is too large to be read at once."""
        self._rest = b""
        self._skipping = False
        self._number = 0
        """Lines before the block that is being read."""

    def feed(self, chunk: bytes) -> None:
        if self._skipping:
            chunk = self._after_long_line(chunk)
        data = self._rest + chunk if self._rest else chunk
        end = data.rfind(b"\n\n")
        if end < 0:
            self._rest = data
            if len(data) > _UNFINISHED:
                self._read_unfinished()
            return
        self._rest = data[end + 2 :]
        blocks = data[:end].split(b"\n\n")
        first = self._number
        for index, block in enumerate(blocks):
            if self._inside or not self._read_usual(block):
                if self._problems.wants_words:
                    self._number = first + sum(b.count(b"\n") + 2 for b in blocks[:index])
                self._read_lines(block.split(b"\n"))
                self._end_sample()
                self._inside = False
        self._number = first + data.count(b"\n", 0, end + 2)

    def finish(self) -> None:
        """The end of the text: a sample that no empty line ended is left out, and reported."""
        if self._rest:
            self._read_lines(self._rest.removesuffix(b"\n").split(b"\n"))
            self._number += self._rest.count(b"\n")
            self._rest = b""
        if self._sample.comm is not None:
            self._problems.add(self._number, "the text ends inside a sample, which is left out")
        self._sample = _Sample()
        self._inside = False

    # --- the usual sample: one first line that fits, then frames --------------------------------

    def _read_usual(self, block: bytes) -> bool:
        """False, and nothing done, where the block has to be read line by line."""
        first, _, frames = block.partition(b"\n")
        found = _USUAL.fullmatch(first)
        if found is None:
            return False
        comm, pid, tid, period, event = found.groups()
        java = comm.startswith(b"java")
        stack = self._stack(frames, java=java)
        if stack is None or not self._keeps(event):
            return stack is not None
        if self._options.tid or self._options.pid:
            comm = self._named(comm, pid if tid else b"?", tid or pid)
        weight = 1
        if period is not None and self._options.by_period:
            weight = int(period)
            self.weighed = self.weighed or weight != 1
        key = comm.replace(b" ", b"_") + stack
        self.counts[key] = self.counts.get(key, 0) + weight
        self.samples += 1
        return True

    def _stack(self, frames: bytes, *, java: bool) -> bytes | None:
        """`;outer;inner`. The innermost line has many addresses, those above it have few."""
        leaf, _, callers = frames.partition(b"\n")
        inner = self._lines[java][leaf] if leaf else b""
        outer = self._stacks[java][callers] if callers else b""
        return None if inner is None or outer is None else outer + inner

    # --- everything else, line by line ----------------------------------------------------------

    def _read_lines(self, lines: list[bytes]) -> None:
        for offset, line in enumerate(lines, start=1):
            self._read_line(line, self._number + offset)

    def _read_line(self, line: bytes, number: int) -> None:
        if not line:
            self._end_sample()
        elif line.startswith(b"#"):
            return
        elif header := self._header(line):
            self._begin_sample(header, line, number)
        else:
            self._add_frame(line, number)

    def _begin_sample(self, header: Header, line: bytes, number: int) -> None:
        sample = self._sample
        if sample.comm is not None and not sample.is_record:
            what = "no empty line before this sample: it and the one above it are taken for one"
            self._problems.add(number, what)
        if header.event and not self._keeps(header.event):
            return
        sample.is_record = _RECORD in line
        sample.comm = self._named(header.comm, header.pid, header.tid).replace(b" ", b"_")
        sample.weight = header.period if self._options.by_period else 1
        self.weighed = self.weighed or sample.weight != 1

    def _add_frame(self, line: bytes, number: int) -> None:
        sample = self._sample
        java = sample.comm is not None and sample.comm.startswith(b"java")
        text = self._lines[java][line]
        if text is None:
            self._problems.add(number, "neither a sample's first line nor a frame", line)
        elif sample.comm is not None:
            sample.frames.append(text)

    def _end_sample(self) -> None:
        sample = self._sample
        if sample.comm is None:
            return
        key = sample.comm + b"".join(reversed(sample.frames))
        self.counts[key] = self.counts.get(key, 0) + sample.weight
        self.samples += 1
        self._sample = _Sample()

    def _keeps(self, event: bytes) -> bool:
        if event == self.event:
            return True
        if not self.event:
            self.event = event
            return True
        self.other_events[event.decode("utf-8", "replace")] += 1
        return False

    def _named(self, comm: bytes, pid: bytes, tid: bytes) -> bytes:
        if self._options.tid:
            return b"%s-%s/%s" % (comm, pid, tid)
        return b"%s-%s" % (comm, pid) if self._options.pid else comm

    # --- samples and lines that are too long ----------------------------------------------------

    def _read_unfinished(self) -> None:
        """No empty line for megabytes: read the whole lines that are there."""
        lines, newline, self._rest = self._rest.rpartition(b"\n")
        if not newline:
            self._problems.add(self._number + 1, "the line is too long", self._rest[:200])
            self._rest, self._skipping = b"", True
            return
        self._read_lines(lines.split(b"\n"))
        self._number += lines.count(b"\n") + 1
        self._inside = True

    def _after_long_line(self, chunk: bytes) -> bytes:
        _, newline, after = chunk.partition(b"\n")
        if newline:
            self._skipping, self._inside = False, True
            self._number += 1
        return after


@dataclass
class _Sample:
    """That is being read line by line."""

    comm: bytes | None = None
    """None until a first line was read that is kept."""
    weight: int = 1
    frames: list[bytes] = field(default_factory=list)
    """Innermost first, each with its ";"."""
    is_record: bool = False
    """Not a sample, in truth: `perf script --show-mmap-events` prints such lines between them."""


class _Cache(dict[bytes, bytes | None]):
    """Text of the input -> what it says; forgets everything once it holds too many bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __missing__(self, text: bytes) -> bytes | None:
        said = self.read(text)
        if len(text) <= _LONGEST_CACHED:
            self._bytes += len(text) + _ENTRY_BYTES
            if self._bytes > _CACHED_BYTES:
                self.clear()
                self._bytes = 0
            self[text] = said
        return said

    def read(self, text: bytes) -> bytes | None:
        raise NotImplementedError


class _Lines(_Cache):
    """A frame's line -> `;outer;inner`, "" for a frame that is skipped, None for other lines."""

    def __init__(
        self,
        options: FrameOptions,
        header: Callable[[bytes], Header | None],
        parts: Callable[[bytes], _Parts | None],
        *,
        java: bool,
    ) -> None:
        super().__init__()
        self._options = options
        self._header = header
        self._parts = parts
        self._java = java

    def read(self, text: bytes) -> bytes | None:
        if not text or text.startswith(b"#") or self._header(text):
            return None
        parts = self._parts(text)
        if parts is None:
            return None
        return b"".join(b";" + name for name in names_of(parts, self._options, java=self._java))


class _Stacks(_Cache):
    """Lines of several frames, innermost first -> `;outer;inner`; None if one is no frame."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__()
        self._lines = lines

    def read(self, text: bytes) -> bytes | None:
        frames = [self._lines[line] for line in text.split(b"\n")]
        frames.reverse()
        return None if None in frames else b"".join(frames)  # type: ignore[arg-type]


class OneLineSamples(LineReader):
    """`perf script` text of a recording without stacks, made into that of one with stacks.

        mysqld 29866  2403.420859:    5025125 cpu-clock:ppp:  ffffffff81407bc6 f+0x16 (/bin/x)

    stackcollapse-perf.pl makes nothing of it.
    """

    def __init__(self, folder: PerfScriptFolder, problems: Problems) -> None:
        super().__init__(problems)
        self._folder = folder
        self._samples: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        super().feed(chunk)
        self._folder.feed(b"".join(self._samples))
        self._samples.clear()

    def finish(self) -> None:
        super().finish()
        self._folder.feed(b"".join(self._samples))
        self._folder.finish()

    def read(self, line: bytes) -> None:
        text = line.strip()
        if not text or text.startswith(b"#"):
            return
        found = _ONE_LINE.fullmatch(text)
        if found is None:
            self.problems.add(self.number, "not a sample with its function", line)
            return
        self._samples.append(b"%s\n\t%s\n\n" % found.groups())
