"""The text of `perf report -g folded`, in which perf has already added up equal stacks.

What is read is what these options print (`probes/fold.py` runs them; SEP is the character 0x1f,
which makes columns exact and keeps a ";" in a name from splitting it):

    perf report -v --stdio --no-inline --no-children -n -t SEP --percent-limit 0
        -g folded,0,caller,function,count -s comm,dso,sym

    # Total Lost Samples: 0
    #
    # Samples: 3K of event 'cpu-clock'
    # Event count (approx.): 3280280277
    #
    # Overhead^ Samples^Command^Shared Object    ^Symbol
     47.48% ^ 1556 ^mysqld ^[kernel.kallsyms]^0xffffffff821f5127 k [k] exc_page_fault
    1545 start_thread^do_command(THD*)^...^asm_exc_page_fault^exc_page_fault
    11 sysmalloc_mmap.constprop.0^asm_exc_page_fault^exc_page_fault
      0.12% ^ 4 ^mysqld ^/usr/sbin/mysqld^0x1334cc0  B [.] 0x0000000001334cc0
    4 start_thread^0x5556a8c5ca11^0x5556a8be8cc0

(^ stands for SEP.) An entry counts the samples with one leaf; the lines below it are their
stacks, root first. Each event has a section of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mysqlprof.formats.kernel import KernelMarker, is_bare_address
from mysqlprof.stacks import FoldedStacks, Stack

SEPARATOR = "\x1f"

_SECTION = re.compile(r"# Samples: (\d+)([ KMG]?) of events? '(.*)'")
_LOST = re.compile(r"# Total Lost Samples: (\d+)")
_STACK = re.compile(r"(\d+) (.+)")
_SYMBOL = re.compile(r"(?:0x[0-9a-f]+\s+\S\s+)?\[(.)\] ?(.*)")


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
    commands: bool
    samples: int = 0
    stacks: Counter[tuple[bool, Stack]] = field(default_factory=Counter)
    """(leaf is the kernel's, frames as printed) -> samples."""
    leaves: dict[tuple[bool, str], str] = field(default_factory=dict)
    """(leaf is the kernel's, name) -> module."""
    entry: tuple[bool, str, str] = (False, "", "")
    """The entry whose stacks are being read: leaf is the kernel's, name, command."""
    alone: int = 0
    """Samples of the entry, until its first stack is seen."""

    def add_entry(self, line: str) -> None:
        self.close_entry()
        fields = [text.strip() for text in line.split(SEPARATOR)]
        symbol = _SYMBOL.fullmatch(fields[4]) if len(fields) == 5 else None
        if symbol is None or not fields[1].isdigit():
            raise ValueError(f"not an entry of perf report: {line[:120]!a}")
        is_kernel, name = symbol[1] == "k", symbol[2]
        self.entry = (is_kernel, name, fields[2])
        self.alone = int(fields[1])
        self.samples += self.alone
        self.leaves.setdefault((is_kernel, name), fields[3])

    def add_stack(self, count: int, frames: Stack) -> None:
        is_kernel, _, command = self.entry
        self.alone = 0
        root = (command,) if self.commands else ()
        self.stacks[is_kernel, root + frames] += count

    def close_entry(self) -> None:
        """Samples recorded without any stack consist of their leaf."""
        if self.alone:
            self.add_stack(self.alone, (self.entry[1],))


def parse_perf_report(
    lines: Iterable[str], *, kernel_names: Iterable[str] = (), commands: bool = False
) -> tuple[PerfReport, ...]:
    """One PerfReport an event, in the order of the text.

    `kernel_names` (from /proc/kallsyms, say) help with kernel stacks that were cut off; without
    them the names of kernel leaves serve. With `commands`, each stack begins with its thread's
    name. Raises ValueError, naming the line, at anything that perf report does not print.
    """
    names = frozenset(kernel_names)
    lost = 0
    sections: list[_Section] = []
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\n")
        if text.startswith("#"):
            if found := _SECTION.match(text):
                sections.append(_Section(found[3], (found[1] + found[2]).strip(), commands))
            elif found := _LOST.match(text):
                lost = int(found[1])
        elif text.strip():
            try:
                _add(sections, text)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return tuple(_finished(section, names, lost) for section in sections)


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
    if stack := _STACK.fullmatch(text):
        sections[-1].add_stack(int(stack[1]), tuple(stack[2].split(SEPARATOR)))
    else:
        sections[-1].add_entry(text)


def _finished(section: _Section, kernel_names: frozenset[str], lost: int) -> PerfReport:
    section.close_entry()
    marker = KernelMarker(kernel_names or {name for kernel, name in section.leaves if kernel})
    skip = 1 if section.commands else 0
    counts: Counter[Stack] = Counter()
    unresolved = unresolved_leaf = 0
    for (kernel, frames), count in section.stacks.items():
        marked = marker.mark(frames[skip:], kernel_leaf=kernel)
        counts[frames[:skip] + marked] += count
        unresolved += count if any(map(is_bare_address, frames[skip:])) else 0
        unresolved_leaf += count if is_bare_address(frames[-1]) else 0
    return PerfReport(
        event=section.event,
        stacks=FoldedStacks(counts),
        samples=section.samples,
        announced=section.announced,
        lost=lost,
        modules=dict(_modules(section, marker)),
        unresolved=unresolved,
        unresolved_leaf=unresolved_leaf,
    )


def _modules(section: _Section, marker: KernelMarker) -> Iterator[tuple[str, str]]:
    """In the order of rising weight, so that of equal names the heaviest stays."""
    for (kernel, name), module in reversed(section.leaves.items()):
        yield marker.mark((name,), kernel_leaf=kernel)[0], module


def _rounded(samples: int) -> str:
    """As perf's convert_unit() writes a count: thousands cut off, not rounded."""
    for unit in ("", "K", "M"):
        if samples <= 1000:
            return f"{samples}{unit}"
        samples //= 1000
    return f"{samples}G"
