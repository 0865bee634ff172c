"""The text of `perf report -g folded`, in which perf has already added up equal stacks.

What is read is what these options print (`probes/fold.py` runs them; SEP is the character 0x1f,
which makes columns exact and keeps a ";" in a name from splitting it):

    perf report -v --stdio --no-inline --no-children -n -t SEP --percent-limit 0
        -g folded,0,caller,function,count -s comm,dso

    # Total Lost Samples: 0
    #
    # Samples: 3K of event 'cpu-clock'
    # Event count (approx.): 3280280277
    #
    # Overhead^ Samples^Command^Shared Object
     79.77% ^ 2614 ^mysqld ^[kernel.kallsyms]
    1545 start_thread^do_command(THD*)^...^asm_exc_page_fault^exc_page_fault
    11 sysmalloc_mmap.constprop.0^asm_exc_page_fault^exc_page_fault
      3.17% ^ 104 ^mysqld ^/usr/sbin/mysqld
    4 start_thread^0x5556a8c5ca11^0x5556a8be8cc0

(^ stands for SEP.) An entry counts the samples that were taken in one binary; the lines below it
are their stacks, root first. Each event has a section of its own. Entries by `sym`, too, would tell
nothing more, and cost perf twice the memory.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mysqlprof.formats.kernel import KernelMarker, is_kernel_module
from mysqlprof.stacks import KERNEL_SUFFIX, UNKNOWN, FoldedStacks, Stack, plain_name

SEPARATOR = "\x1f"

_SECTION = re.compile(r"# Samples: (\d+)([ KMG]?) of events? '(.*)'")
_LOST = re.compile(r"# Total Lost Samples: (\d+)")
_THREAD = re.compile(r"^\d+:")
"""Sorted by `pid` instead of `comm`, an entry is of one thread: "2745:mysqld"."""

_UNKNOWN_KERNEL = UNKNOWN + KERNEL_SUFFIX


@dataclass(frozen=True)
class PerfReport:
    """One event's samples, folded."""

    event: str
    stacks: FoldedStacks
    samples: int
    """Samples as counted by the report's entries, apart from their stacks."""
    announced: str
    """The same in the section's header, as perf rounds it: "273", "3K". Counts all processes."""
    lost: int
    """Samples of all events that perf could not keep."""
    modules: Mapping[str, str] = field(repr=False)
    """Leaf frame, as in `stacks` -> the binary that holds it."""
    unresolved: int
    """Samples with at least one frame that has no symbol."""
    unresolved_leaf: int
    """Samples whose leaf has no symbol."""

    def discrepancy(self, *, filtered: bool = False) -> str:
        """How the report contradicts itself; empty when its counts agree.

        A report that was `filtered` by process announces more than it holds.
        """
        if self.stacks.total != self.samples:
            return f"stacks hold {self.stacks.total} samples, entries {self.samples}"
        if not filtered and _rounded(self.samples) != self.announced:
            return f"entries hold {self.samples} samples, the header says {self.announced}"
        return ""


@dataclass
class _Section:
    """What is gathered while one event's lines pass."""

    event: str
    announced: str
    marker: KernelMarker
    commands: bool
    samples: int = 0
    stacks: Counter[Stack] = field(default_factory=Counter)
    modules: dict[str, str] = field(default_factory=dict)
    unresolved: int = 0
    unresolved_leaf: int = 0
    # Of the entry whose stacks are being read: its thread and binary, and its samples for as long
    # as no stack of theirs was seen.
    command: str = ""
    module: str = ""
    without_stack: int = 0

    def add_entry(self, line: str) -> None:
        self.close_entry()
        fields = [text.strip() for text in line.split(SEPARATOR)]
        if len(fields) != 4 or not fields[1].isdigit():
            raise ValueError(f"not an entry of perf report: {line[:120]!a}")
        self.without_stack = int(fields[1])
        self.samples += self.without_stack
        self.command, self.module = _THREAD.sub("", fields[2]), fields[3]

    def add_stack(self, count: int, frames: Stack) -> None:
        self.without_stack = 0
        stack = self.marker.mark(frames, kernel_leaf=is_kernel_module(self.module))
        self.stacks[(self.command, *stack) if self.commands else stack] += count
        self.modules.setdefault(stack[-1], self.module)
        if UNKNOWN in stack or _UNKNOWN_KERNEL in stack:
            self.unresolved += count
            self.unresolved_leaf += count if plain_name(stack[-1]) == UNKNOWN else 0

    def close_entry(self) -> None:
        """Samples that were recorded without a stack have a frame of unknown name."""
        if self.without_stack:
            self.add_stack(self.without_stack, ("0x0",))

    def report(self, lost: int) -> PerfReport:
        self.close_entry()
        return PerfReport(
            event=self.event,
            stacks=FoldedStacks(self.stacks),
            samples=self.samples,
            announced=self.announced,
            lost=lost,
            modules=self.modules,
            unresolved=self.unresolved,
            unresolved_leaf=self.unresolved_leaf,
        )


def parse_perf_report(
    lines: Iterable[str], *, kernel_names: Iterable[str] = (), commands: bool = False
) -> tuple[PerfReport, ...]:
    """One PerfReport an event, in the order of the text.

    `kernel_names` (from /proc/kallsyms, say) help with kernel stacks that were cut off. With
    `commands`, each stack begins with its thread's name. Raises ValueError, naming the line, at
    anything that perf report does not print.
    """
    lost = 0
    marker = KernelMarker(kernel_names)
    sections: list[_Section] = []
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\n")
        if text.startswith("#"):
            if found := _SECTION.match(text):
                announced = (found[1] + found[2]).strip()
                sections.append(_Section(found[3], announced, marker, commands))
            elif found := _LOST.match(text):
                lost = int(found[1])
        elif text.strip():
            try:
                _add(sections, text)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return tuple(section.report(lost) for section in sections)


def merge_reports(
    parts: Sequence[tuple[PerfReport, ...]], *, filtered: bool = False
) -> tuple[PerfReport, ...]:
    """The reports of parts of one recording (`perf report --time`) as those of the whole.

    Raises ValueError where a part contradicts itself. perf counts lost samples over the whole
    recording in each part.
    """
    by_event: dict[str, list[PerfReport]] = {}
    for report in (report for part in parts for report in part):
        if wrong := report.discrepancy(filtered=filtered):
            raise ValueError(wrong)
        by_event.setdefault(report.event, []).append(report)
    return tuple(_merged(reports) for reports in by_event.values())


def _merged(reports: list[PerfReport]) -> PerfReport:
    stacks: Counter[Stack] = Counter()
    for report in reports:
        for stack, count in report.stacks.items():
            stacks[stack] += count
    samples = sum(report.samples for report in reports)
    return PerfReport(
        event=reports[0].event,
        stacks=FoldedStacks(stacks),
        samples=samples,
        announced=_rounded(samples),
        lost=max(report.lost for report in reports),
        modules={frame: dso for report in reports for frame, dso in report.modules.items()},
        unresolved=sum(report.unresolved for report in reports),
        unresolved_leaf=sum(report.unresolved_leaf for report in reports),
    )


def choose_event(reports: Iterable[PerfReport], event: str | None = None) -> PerfReport:
    """The report of `event` ("cycles" also finds "cycles:u"); by default the one with most samples.

    Raises LookupError listing what there is.
    """
    found = list(reports)
    wanted = [r for r in found if event in (None, r.event, r.event.partition(":")[0])]
    if not wanted:
        have = ", ".join(r.event for r in found) or "none"
        raise LookupError(f"no event {event!r}; there are: {have}" if event else "no events")
    return max(wanted, key=lambda report: report.samples)


def _add(sections: list[_Section], text: str) -> None:
    if not sections:
        raise ValueError(f"samples before any event: {text[:120]!a}")
    count, space, stack = text.partition(" ")
    if space and count.isdecimal():
        sections[-1].add_stack(int(count), tuple(stack.split(SEPARATOR)))
    else:
        sections[-1].add_entry(text)


def _rounded(samples: int) -> str:
    """As perf's convert_unit() writes a count: thousands cut off, not rounded."""
    for unit in ("", "K", "M"):
        if samples <= 1000:
            return f"{samples}{unit}"
        samples //= 1000
    return f"{samples}G"
