"""The first line of a sample in `perf script`'s text: who ran, when, and what was counted.

As stackcollapse-perf.pl accepts it (a thread id is needed; the rest depends on `perf script -F`):

    mysqld 25607 4794564.109216: cycles:
    mysqld 12688 [002] 6544038.708352: 235 cpu-clock:
    ib_pg flush_co 24636/25607 [000] 94564.109216:     100 cycles:u:
    swapper     0 [003] 158665.570607: sched:sched_switch: prev_comm=swapper/3 prev_pid=0

and without any thread id (`perf script -F comm,event,ip,sym,dso`), which that program refuses:

    mysqld cpu-clock:pppH:
    ib_pg flush_co [002] 6544038.708352:     235 cycles:u:
"""

import re
from dataclasses import dataclass

_THREAD_AT = re.compile(rb"\s+(\d+)(?:/+(\d*))?\s")
_THREAD = re.compile(rb"(?<!\s)\s+(\d+)(?:/+(\d*))?\s")
_BEFORE_EVENT = re.compile(rb"(.*?)\s*(?:\[\d+\]\s+)?(?:\d+\.\d+:)?", re.DOTALL)
_DIGITS = b"0123456789"
_LONGEST = 4096
_MOST_DIGITS = 1000


@dataclass(frozen=True)
class Header:
    comm: bytes
    pid: bytes
    """"?" where perf printed only the thread's id."""
    tid: bytes
    event: bytes
    """Empty where the line does not end with the event's name (tracepoints have fields there)."""
    period: int
    """1 where none is printed."""


def parse_header(line: bytes) -> Header | None:
    """None where it is not a sample's first line in stackcollapse-perf.pl's eyes.

    Its expressions, /^(\\S.+?)\\s+(\\d+)\\/*(\\d+)*\\s+/ and /:\\s*(\\d+)*\\s+(\\S+):\\s*$/, are
    evaluated without backtracking, so that no line takes quadratic time.
    """
    if line[:1].isspace() or len(line) < 3:
        return None
    # A comm is two bytes at least: with a single letter and two spaces, one is the comm's.
    found = _THREAD_AT.match(line, 2) or _THREAD.search(line, 2)
    if found is None:
        return None
    first, second = found[1], found[2]
    has_tid = second not in (None, b"", b"0")
    event, period = event_of(line)
    return Header(
        comm=line[: found.start()],
        pid=first if has_tid else b"?",
        tid=second if has_tid else first,
        event=event,
        period=period,
    )


def parse_sparse_header(line: bytes) -> Header | None:
    """The same for texts without thread ids: a line that ends with the event's name."""
    if len(line) > _LONGEST or not line.rstrip().endswith(b":"):
        return None
    known = parse_header(line)
    if known:
        return known
    before, event, period = _at_end(line)
    found = _BEFORE_EVENT.fullmatch(before.rstrip()) if event else None
    if found is None:
        return None
    return Header(comm=found[1].strip(), pid=b"?", tid=b"?", event=event, period=period)


def event_of(line: bytes) -> tuple[bytes, int]:
    """The event that ends the line, and its period: `...: 235 cycles:u:` -> cycles:u, 235."""
    before, event, period = _at_end(line)
    return (event, period) if before.rstrip().endswith(b":") else (b"", 1)


def _at_end(line: bytes) -> tuple[bytes, bytes, int]:
    """What stands before event and period, the event, the period."""
    text = line.rstrip()
    if not text.endswith(b":"):
        return line, b"", 1
    last = text.rsplit(None, 1)[-1]
    rest = text[: len(text) - len(last)]
    if len(last) < 2:
        return line, b"", 1
    stripped = rest.rstrip()
    before = stripped.rstrip(_DIGITS)
    digits = stripped[len(before) :]
    if len(digits) > _MOST_DIGITS:
        return line, b"", 1
    return before, last[:-1], _period(digits)


def _period(digits: bytes) -> int:
    return 1 if digits in (b"", b"0") else int(digits)
