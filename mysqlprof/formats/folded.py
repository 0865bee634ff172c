"""Folded text from anywhere: FlameGraph's stackcollapse programs, other profilers, bcc.

    mysqld;start_thread;do_command(THD*) 12
    process 7:"mysqld";worker (x.py:12) 3.0
    mysqld;[unknown];-;asm_exc_page_fault;exc_page_fault 1      <- bcc: `profile -f -d`

bcc writes a frame "-" between a stack's user part and its kernel part; it is left out, and what
lies below it is marked as the kernel's.
"""

import re

from mysqlprof.formats.lines import LineReader
from mysqlprof.formats.problems import Problems

_COUNT = re.compile(rb"(\d+)(?:\.0*)?")
_DELIMITERS = (b"-", b"--")
_KERNEL = b"_[k]"
_MOST_DIGITS = 1000


class FoldedReader(LineReader):
    """Fed with chunks of the text; the stacks are in `counts` after `finish`."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.counts: dict[bytes, int] = {}
        """`outer;inner` -> count."""

    def read(self, line: bytes) -> None:
        if not (text := line.strip()):
            return
        parsed = parse_line(text)
        if parsed is None:
            self.problems.add(self.number, "not `frame;frame COUNT` with a whole count", line)
            return
        stack, count = parsed
        self.counts[stack] = self.counts.get(stack, 0) + count


def parse_line(line: bytes) -> tuple[bytes, int] | None:
    """Stack and count; None where the line is anything else, or its count has a fraction.

    Not by one expression: a search from the left takes quadratic time in a line of spaces.
    """
    stack, *last = line.rsplit(None, 1)
    found = _COUNT.fullmatch(last[0]) if last else None
    if found is None or len(found[1]) > _MOST_DIGITS:
        return None
    return _without_delimiter(stack.rstrip()), int(found[1])


def has_two_counts(line: bytes) -> bool:
    """As in the output of difffolded.pl: `frame;frame 12 15`."""
    head, _, last = line.strip().rpartition(b" ")
    return last.isdigit() and head.rpartition(b" ")[2].isdigit() and b" " in head


def _without_delimiter(stack: bytes) -> bytes:
    if b";-" not in stack:
        return stack
    frames = stack.split(b";")
    for delimiter in _DELIMITERS:
        if delimiter in frames:
            at = frames.index(delimiter)
            kernel = [f if f.endswith(_KERNEL) else f + _KERNEL for f in frames[at + 1 :]]
            return b";".join([*frames[:at], *kernel])
    return stack
